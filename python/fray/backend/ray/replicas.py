"""One attempt at a function job: a Ray task for each replica, which start and end together."""

from __future__ import annotations

from typing import Any

from fray import errors
from fray.backend.ray.attempts import Ending, ending_of
from fray.backend.ray.ending import end_tasks
from fray.backend.ray.functions import remote_call
from fray.backend.ray.library import ray
from fray.backend.ray.options import resource_keywords
from fray.cluster import GpuConfig, JobRequest

__all__ = ["ReplicaAttempt"]

_JOB_ONLY = ("working_dir", "excludes", "config")
"""Keys that Ray takes for a whole job, not for a task."""
_LOOK_SECONDS = 1.0


class ReplicaAttempt:
    """Tasks with ``FRAY_REPLICA_ID`` and ``FRAY_REPLICA_COUNT``; when one fails, the others are cancelled."""

    def __init__(self, context: Any, request: JobRequest, runtime_env: dict[str, Any]) -> None:
        function = request.entrypoint.callable_entrypoint
        assert function is not None
        self._context = context
        self._cancelled = False
        count = request.replicas or 1
        device = request.resources.device
        demand: dict[str, float] = {"CPU": request.resources.cpu}
        if isinstance(device, GpuConfig):
            demand["GPU"] = device.count
        context.place(demand, f"job {request.name}")
        submit = remote_call(context.namespace)
        own = {key: value for key, value in runtime_env.items() if key not in _JOB_ONLY}
        self._raws: list[Any] = []
        for replica in range(count):
            number = {"FRAY_REPLICA_ID": str(replica), "FRAY_REPLICA_COUNT": str(count)}
            keywords = {
                **resource_keywords(demand),
                "name": request.name,
                "max_retries": 0,
                "runtime_env": {**own, "env_vars": {**own.get("env_vars", {}), **number}},
            }
            task = submit.options(**keywords)
            self._raws.append(task.remote(function.callable, *function.args, **function.kwargs))

    def run(self) -> list[tuple[Ending, BaseException | None]]:
        """Wait for all replicas; see `Attempt`."""
        pending = list(self._raws)
        ends: dict[Any, tuple[Ending, BaseException | None]] = {}
        while pending:
            ready, pending = ray.wait(pending, num_returns=1, timeout=_LOOK_SECONDS, fetch_local=False)
            for raw in ready:
                ends[raw] = self._end_of(raw)
                if ends[raw][0] is not Ending.SUCCEEDED:
                    self.cancel()
        return [ends[raw] for raw in self._raws]

    def cancel(self) -> None:
        """End every replica that runs."""
        if self._cancelled:
            return
        self._cancelled = True
        end_tasks(self._raws)

    def _end_of(self, raw: Any) -> tuple[Ending, BaseException | None]:
        was_cancelled = self._cancelled
        try:
            self._context.fetch(raw)
        except errors.WorkerDiedError as error:
            return (Ending.CANCELLED, None) if was_cancelled else (ending_of(error), error)
        except Exception as error:
            return ending_of(error), error
        return Ending.SUCCEEDED, None
