"""What a node is told to start for a `JobRequest`: command, folder, variables, a pickled call."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

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

__all__ = ["JobOrder", "order_of", "shell_order"]

_OF_A_JOB = ("FRAY_JOB_", "FRAY_REPLICA_", "FRAY_NODE")


@dataclass(frozen=True, slots=True)
class JobOrder:
    """Arguments of ``_native.JobClient.submit``."""

    name: str
    command: list[bytes]
    folder: bytes
    environment: list[bytes]
    call: bytes = b""
    replicas: int = 1
    resources: Mapping[str, float] | None = None
    max_failures: int = 0
    max_preemptions: int = 100
    max_processes: int = 0
    max_files: int = 0
    priority: int = 0
    deadline_seconds: float = 0
    grace_seconds: float | None = None
    runtime_env: str = ""

    def arguments(self) -> dict[str, Any]:
        """Return them by name."""
        given = {item.name: getattr(self, item.name) for item in fields(self)}
        return {**given, "resources": dict(self.resources or {})}


def order_of(request: JobRequest, isolated: bool = False) -> JobOrder:
    """Return the order for a job; an `isolated` one is in an environment of its own, which is made here."""
    environment = request.environment or create_environment()
    binary = request.entrypoint.binary_entrypoint
    called = request.entrypoint.callable_entrypoint
    python, *flags = interpreter_command()
    variables = job_variables({**request.resources.device.default_env_vars(), **environment.env_vars})
    module_path = search_path(current_folder())
    if isolated:
        own = isolated_environment(environment)
        variables, python = variables_of(own, variables), os.path.join(own, "bin", "python")
        module_path = without_packages(module_path)
        runtime_env = ""
    else:
        runtime_env = describe_job(environment, request.resources.image)
    command = [binary.command, *binary.args] if binary is not None else [python, *flags, "-m", "fray._job"]
    return JobOrder(
        name=request.name,
        command=[os.fsencode(word) for word in command],
        folder=os.fsencode(os.path.abspath(environment.workspace or current_folder())),
        environment=_flat(variables),
        call=b"" if called is None else pack_call(called, module_path),
        replicas=request.replicas or 1,
        resources=demand_of(request.resources),
        max_failures=request.max_retries_failure,
        max_preemptions=request.max_retries_preemption,
        max_processes=request.max_processes or 0,
        max_files=request.max_files or 0,
        priority=request.priority,
        deadline_seconds=request.deadline_seconds or 0,
        grace_seconds=request.grace_seconds,
        runtime_env=runtime_env,
    )


def shell_order(name: str, entrypoint: str, env: RuntimeEnv) -> JobOrder:
    """Return the order for a shell command in this process's folder."""
    return JobOrder(
        name=name,
        command=[b"/bin/sh", b"-c", os.fsencode(entrypoint)],
        folder=os.fsencode(current_folder()),
        environment=_flat(job_variables(env.env)),
        resources={"CPU": 1},
        runtime_env=describe(env, "job"),
    )


def job_variables(extra: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a job that this process launches: its own, and `extra`, which come before them.

    Programs are looked for beside this interpreter first, so that ``python`` is the one that has Fray.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith(_OF_A_JOB)}
    programs = os.path.dirname(sys.executable)
    path = own.get("PATH", os.defpath)
    if programs and programs not in path.split(os.pathsep):
        own["PATH"] = f"{programs}{os.pathsep}{path}"
    own.setdefault("PYTHONUNBUFFERED", "1")
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


def _flat(variables: Mapping[str, str]) -> list[bytes]:
    return [os.fsencode(text) for pair in variables.items() for text in pair]
