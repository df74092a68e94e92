"""The values that programs pass to Fray: options of tasks and actors, runtime environments, requests for jobs.

All are frozen: make a changed copy with `dataclasses.replace`. Each is checked when it is made, so that a mistake is
reported at the line that has it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from fray._lazy import lazy_attribute
from fray._version import VERSION

if TYPE_CHECKING:  # from the modules that have them, which know nothing of this one
    from fray.cluster.devices import CpuConfig, DeviceConfig, DeviceKind, GpuConfig, GpuType, TpuConfig
    from fray.cluster.entrypoint import BinaryEntrypoint, CallableEntrypoint, Entrypoint
    from fray.cluster.environment import EnvironmentConfig, create_environment
    from fray.cluster.request import JobRequest
    from fray.cluster.resources import ResourceConfig
    from fray.cluster.status import JobId, JobInfo, JobStatus, TaskStatus
    from fray.cluster.tpu_topology import TpuTopologyInfo, TpuType, get_tpu_topology
    from fray.job.actor_options import ActorOptions, Lifetime
    from fray.job.runtime_env import RuntimeEnv
    from fray.job.task_options import TaskOptions

    JobContext: TypeAlias = Any  # its module stands on this one

__all__ = [
    "VERSION",
    "ActorOptions",
    "BinaryEntrypoint",
    "CallableEntrypoint",
    "CpuConfig",
    "DeviceConfig",
    "DeviceKind",
    "EntryPoint",
    "Entrypoint",
    "EnvironmentConfig",
    "GpuConfig",
    "GpuType",
    "JobId",
    "JobInfo",
    "JobRequest",
    "JobStatus",
    "Lifetime",
    "ResourceConfig",
    "RuntimeEnv",
    "TaskOptions",
    "TaskStatus",
    "TpuConfig",
    "TpuTopologyInfo",
    "TpuType",
    "create_environment",
    "get_tpu_topology",
]

EntryPoint: TypeAlias = str | Callable[["JobContext"], None]
"""What a job runs: a shell command, or a function whose argument is the job's `JobContext`."""

_LAZY = {
    "ActorOptions": ("fray.job.actor_options", "ActorOptions"),
    "Lifetime": ("fray.job.actor_options", "Lifetime"),
    "RuntimeEnv": ("fray.job.runtime_env", "RuntimeEnv"),
    "TaskOptions": ("fray.job.task_options", "TaskOptions"),
}
_OF_JOBS = {name: ("fray.cluster", name) for name in __all__ if name not in globals() and name not in _LAZY}
"""All but the names above are imported when they are first used."""


def __getattr__(name: str) -> Any:
    return lazy_attribute(__name__, name, _LAZY | _OF_JOBS)
