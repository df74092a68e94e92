"""`ray.get_runtime_context()`: the facts that code can ask about its task or actor, and the session."""

from __future__ import annotations

import json
import logging
import os
from typing import Any

from fray import _native
from fray.ray import _session
from fray.ray._calls import current_call, process, surroundings
from fray.ray._ids import ActorID, JobID, NodeID, TaskID, WorkerID

__all__ = ["RuntimeContext", "get_runtime_context"]

_logger = logging.getLogger("ray")
_KINDS = ("GPU", "neuron_cores", "TPU", "NPU", "HPU", "RBLN", "FURIOSA", "METAX_GPU", "gpu_virtual")
_IN_ACTORS = "This method is only available in an actor; this code runs in {}"


class RuntimeContext:
    """The facts about the code that has called `get_runtime_context`."""

    # ---- which code

    @property
    def job_id(self) -> JobID:
        return _session.job_id()

    @property
    def node_id(self) -> NodeID:
        return _session.node_id()

    @property
    def worker_id(self) -> WorkerID:
        return WorkerID.of(f"{_session.context().session_name()}.{os.getpid()}")

    @property
    def task_id(self) -> TaskID | None:
        call = current_call()
        if call is None:
            _logger.warning("This method is only available when the process is a worker.")
            return None
        return _session.task_id(*call.task)

    @property
    def actor_id(self) -> ActorID | None:
        return None if process.actor is None else ActorID.of(self._link().actor_id)

    @property
    def actor_name(self) -> str | None:
        return self.get_actor_name()

    def get_job_id(self) -> str:
        return self.job_id.hex()

    def get_node_id(self) -> str:
        return self.node_id.hex()

    def get_worker_id(self) -> str:
        return self.worker_id.hex()

    def get_task_id(self) -> str | None:
        found = self.task_id
        return None if found is None else found.hex()

    def get_actor_id(self) -> str | None:
        found = self.actor_id
        return None if found is None else found.hex()

    def get_session_name(self) -> str:
        return os.path.basename(_session.context().session_name())

    def get_temp_dir(self) -> str:
        return os.path.dirname(_session.context().session_name())

    def get_task_name(self) -> str | None:
        call = current_call()
        return None if call is None else call.name

    def get_task_function_name(self) -> str | None:
        call = current_call()
        return None if call is None else call.function

    @staticmethod
    def _link() -> Any:
        return process.actor.handle._fray_link

    def get_actor_name(self) -> str | None:
        return None if process.actor is None else self._link().name or ""

    @property
    def current_actor(self) -> Any:
        if process.actor is None:
            raise RuntimeError(_IN_ACTORS.format("a task" if current_call() else "the driver"))
        from fray.ray.actor import ActorHandle

        return ActorHandle._of(process.actor.handle)

    @property
    def was_current_actor_reconstructed(self) -> bool:
        assert current_call() is not None, "This method is only available in a worker"
        if process.actor is None:
            raise AttributeError(_IN_ACTORS.format("a task"))
        return process.actor.restarted

    # ---- its resources and environment

    def get_assigned_resources(self) -> dict[str, float]:
        assert current_call() is not None, "This method is only available in a worker"
        asked = dict(surroundings().get("resources", {}))
        found = {str(key): float(amount) for key, amount in asked.pop("resources", {}).items()}
        names = {"num_cpus": "CPU", "num_gpus": "GPU", "memory": "memory"}
        found.update({names[key]: float(amount) for key, amount in asked.items()})
        if process.actor is None:
            found.setdefault("CPU", 1.0)
        return found

    def get_resource_ids(self) -> dict[str, list[str]]:
        return self.get_accelerator_ids()

    def get_accelerator_ids(self) -> dict[str, list[str]]:
        devices = _session.context().resource_ids()
        return {kind: [str(index) for index in devices.get(kind, [])] for kind in _KINDS}

    def get_node_labels(self) -> dict[str, str]:
        return {"ray.io/node-id": self.get_node_id()}

    def get_placement_group_id(self) -> str | None:
        group = surroundings().get("placement_group")
        return None if group is None else group["id"]

    @property
    def should_capture_child_tasks_in_placement_group(self) -> bool:
        group = surroundings().get("placement_group")
        return bool(group and group["capture"])

    def get_runtime_env_string(self) -> str:
        return json.dumps(dict(self.runtime_env), default=str)

    @property
    def runtime_env(self) -> Any:
        from fray.ray.runtime_env import RuntimeEnv

        return RuntimeEnv(**{**_session.state.runtime_env, **surroundings().get("runtime_env", {})})

    def is_canceled(self) -> bool:
        """Return whether the running task or call was cancelled."""
        if current_call() is None:
            raise RuntimeError("This method is only available in a worker")
        if process.actor is not None and process.actor.is_asynchronous:
            raise RuntimeError("This method is not supported in an async actor; it gets asyncio.CancelledError")
        if process.actor is not None:
            return _native.call_is_cancelled()
        return _native.interrupt_reason() == _native.Interrupt.CANCELLED

    @property
    def namespace(self) -> str:
        return _session.context().namespace

    @property
    def gcs_address(self) -> str:
        return f"{_session.IP}:0"

    def get(self) -> dict[str, Any]:
        found: dict[str, Any] = {"job_id": self.job_id, "node_id": self.node_id, "namespace": self.namespace}
        if current_call() is not None:
            found["task_id"] = self.task_id
        if process.actor is not None:
            found["actor_id"] = self.actor_id
        return found


def get_runtime_context() -> RuntimeContext:
    """Return the facts about the running task, actor or driver."""
    _session.context()
    return RuntimeContext()
