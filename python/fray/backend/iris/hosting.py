"""The order for the job that hosts a named actor."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace

from fray._by_value import can_pickle, dumps
from fray._iris_jobs import ConstraintOp, IrisJobRequest
from fray._settings import NAMESPACE_VARIABLE
from fray.backend.iris.actors import Description
from fray.backend.iris.host import FILE, PORT, ActorOrder, command
from fray.errors import UnsupportedError
from fray.job.actor_spec import ActorSpec
from fray.types import Lifetime, RuntimeEnv

__all__ = ["host_order"]

_HELD = ("CPU", "memory", "head_node")
_MEMORY_BYTES = 2 << 30
_OWN_MEMORY_BYTES = 1 << 30
"""Memory of the host's program and its node, in addition to that of the actor."""
_MOST_RESTARTS = 1000
_NOT_INHERITED = ("FRAY_SUBMISSION", "FRAY_JOB_METADATA")


def host_order(spec: ActorSpec, about: Description) -> IrisJobRequest:
    """Return the order for a host, without its name; its environment is that of this task and the actor's own.

    Raises:
        SerializationError: the class or an argument cannot be pickled.
        UnsupportedError: the options have something that hosts do not support.
    """
    options = spec.options
    lacking = [name for name in options.resources if name not in _HELD]
    if lacking:
        raise UnsupportedError(
            f"a named actor of an Iris job can hold CPU and memory, and asks for {', '.join(lacking)}; "
            "give the devices to an actor without a name, which runs on this task's own machine"
        )
    env = options.runtime_env or RuntimeEnv()
    if env.conda or env.working_dir:
        raise UnsupportedError("a named actor of an Iris job has the job's workspace, and no conda or working_dir")
    order = IrisJobRequest()
    order.argv = command()
    packages = [*_listed("IRIS_JOB_PIP_PACKAGES"), *env.package_requirements]
    extras = _listed("IRIS_JOB_EXTRAS")
    order.pip_packages, order.extras = packages, extras
    order.runner_packages = ["cloudpickle"]
    order.python_version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    order.env_vars = {**_inherited(), **_namespace(), **env.env}
    order.bundle_id = os.environ.get("IRIS_BUNDLE_ID", "")
    order.task_image = env.container_image or ""
    order.cpu_millicores = round(options.resources.get("CPU", 0) * 1000)
    memory = options.resources.get("memory")
    order.memory_bytes = _MEMORY_BYTES if memory is None else int(memory) + _OWN_MEMORY_BYTES
    order.ports = [PORT]
    order.max_retries_preemption = _MOST_RESTARTS if options.max_restarts < 0 else options.max_restarts
    if options.schedule_on_head or "head_node" in options.resources:
        order.add_constraint("preemptible", ConstraintOp.EQ, ["false"])
    region = os.environ.get("IRIS_WORKER_REGION")
    if region:  # calls do not cross regions unless callers are in several
        order.add_constraint("region", ConstraintOp.EQ, [region])
    inner = replace(
        options,
        get_if_exists=False,
        lifetime=Lifetime.JOB,
        runtime_env=None,
        max_pending_calls=-1,  # the engine of each caller's machine counts the pending calls of that machine
        resources={key: amount for key, amount in options.resources.items() if key != "memory"},
    )
    order.add_file(FILE, _packed(ActorOrder(spec._replace(options=inner, methods=dict(spec.methods)), about)))
    return order


def _packed(order: ActorOrder) -> bytes:
    version = f"{sys.version_info[0]}.{sys.version_info[1]}\n".encode()
    try:
        return version + dumps(order)
    except Exception as error:
        from fray._unpicklable import serialization_error

        what = f"the actor {order.description.class_name} {order.description.name!r}"
        raise serialization_error(what, order.spec[:3], error, can_pickle) from error


def _listed(variable: str) -> list[str]:
    return json.loads(os.environ.get(variable) or "[]")


def _inherited() -> dict[str, str]:
    given: dict[str, str] = json.loads(os.environ.get("IRIS_JOB_ENV") or "{}")
    return {name: value for name, value in given.items() if name not in _NOT_INHERITED}


def _namespace() -> dict[str, str]:
    chosen = os.environ.get(NAMESPACE_VARIABLE)
    return {NAMESPACE_VARIABLE: chosen} if chosen else {}
