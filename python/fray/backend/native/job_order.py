"""A `JobRequest` as the order that a node takes: the fields of JobSpec in src/model/job_spec.h, by name."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence

from fray.backend.native.environments import describe
from fray.backend.native.isolated import isolated_environment, variables_of, without_packages
from fray.backend.native.job_environment import describe_job
from fray.backend.native.launch import current_folder, interpreter_command, search_path
from fray.cluster.devices import CpuConfig, GpuConfig, TpuConfig
from fray.cluster.entrypoint import CallableEntrypoint
from fray.cluster.environment import create_environment
from fray.cluster.request import JobRequest
from fray.cluster.resources import ResourceConfig
from fray.types import RuntimeEnv

__all__ = ["order_of", "shell_order"]

_OF_A_JOB = ("FRAY_JOB_", "FRAY_REPLICA_", "FRAY_NODE")
_SAME = (
    "id",
    "name",
    "metadata",
    "replicas",
    "priority",
    "deadline_seconds",
    "grace_seconds",
    "max_processes",
    "max_files",
)
"""Fields that a request and an order both have; None leaves the choice of a number to the node."""


def order_of(request: JobRequest, isolated: bool = False, extra: Mapping[str, str] | None = None) -> dict[str, object]:
    """Return the order for a job. The environment of an `isolated` job is made here.

    Args:
        request: the job.
        isolated: whether the job has a virtual environment of its own.
        extra: further environment variables of the job.
    """
    environment = request.environment or create_environment()
    binary = request.entrypoint.binary_entrypoint
    called = request.entrypoint.callable_entrypoint
    python, *flags = interpreter_command()
    variables = job_variables({**request.resources.device.default_env_vars(), **environment.env_vars, **(extra or {})})
    module_path = search_path(current_folder())
    if isolated:
        own = isolated_environment(environment)
        variables, python = variables_of(own, variables), os.path.join(own, "bin", "python")
        module_path = without_packages(module_path)
        runtime_env = ""
    else:
        runtime_env = describe_job(environment, request.resources.image)
    command = [binary.command, *binary.args] if binary is not None else [python, *flags, "-m", "fray._job"]
    return {
        **{name: getattr(request, name) for name in _SAME},
        "command": [os.fsencode(word) for word in command],
        "folder": os.fsencode(os.path.abspath(environment.workspace or current_folder())),
        "environment": _encoded(variables),
        "call": b"" if called is None else pack_call(called, module_path),
        "resources": demand_of(request.resources),
        "max_failures": request.max_retries_failure,
        "max_preemptions": request.max_retries_preemption,
        "runtime_env": json.loads(runtime_env or "null"),
    }


def shell_order(name: str, entrypoint: str, env: RuntimeEnv) -> dict[str, object]:
    """Return the order for a shell command in this process's folder."""
    return {
        "name": name,
        "command": [b"/bin/sh", b"-c", os.fsencode(entrypoint)],
        "folder": os.fsencode(current_folder()),
        "environment": _encoded(job_variables(env.env)),
        "resources": {"CPU": 1},
        "runtime_env": json.loads(describe(env, "job") or "null"),
    }


def job_variables(extra: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a job: those of this process, replaced by `extra` where both have one.

    Programs are looked for beside this interpreter first, so that ``python`` is the one that has Fray.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith(_OF_A_JOB)}
    programs = os.path.dirname(sys.executable)
    path = own.get("PATH", os.defpath)
    if programs and programs not in path.split(os.pathsep):
        own["PATH"] = f"{programs}{os.pathsep}{path}"
    return {**own, **extra}


def pack_call(called: CallableEntrypoint, module_path: Sequence[str]) -> bytes:
    """Return the bytes that `fray._job` runs: where modules are found, and the call."""
    import pickle

    from fray._by_value import dumps
    from fray._unpicklable import serialization_error
    from fray.backend.native.failures import can_pickle

    call = (called.callable, tuple(called.args), dict(called.kwargs))
    try:
        pickled: bytes = dumps(call)
    except Exception as error:
        raise serialization_error("the call of a job", call, error, can_pickle) from error
    return pickle.dumps((list(module_path), pickled))


def demand_of(resources: ResourceConfig) -> dict[str, float]:
    """Return what each replica holds on this machine; memory only where it was asked for."""
    demand: dict[str, float] = {"CPU": float(resources.cpu)}
    demand["memory"] = float(resources.asked_ram_bytes())
    device = resources.device
    if isinstance(device, GpuConfig):
        demand["GPU"] = float(device.count)
    elif isinstance(device, TpuConfig):
        demand["TPU"] = float(device.chip_count())
    else:
        assert isinstance(device, CpuConfig)
    return {name: amount for name, amount in demand.items() if amount > 0}


def _encoded(variables: Mapping[str, str]) -> dict[bytes, bytes]:
    return {os.fsencode(name): os.fsencode(value) for name, value in variables.items()}
