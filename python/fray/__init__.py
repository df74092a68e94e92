"""Fray runs functions behind one small API: in the process, on all cores of this machine, or on a cluster.

::

    import fray

    ctx = fray.get_job_context()
    refs = [ctx.create_task(pow, (n, 2)) for n in range(10)]
    print(ctx.get(refs))

Importing it takes a few milliseconds: what starts a node does so before it imports the rest, which starts meanwhile.
"""

# ruff: noqa: F405  (the names of errors and of jobs are those of fray.errors and fray.cluster)

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fray._lazy import lazy_attribute
from fray._version import VERSION as __version__
from fray.errors import *  # noqa: F403
from fray.job.current import (
    fray_default_job_ctx,
    get_default_job_ctx,
    get_job_context,
    init,
    set_job_context,
    shutdown,
)
from fray.job.factory import create_job_ctx

if TYPE_CHECKING:
    from fray._cpp_library import cpp
    from fray._dashboard_link import dashboard
    from fray._progress import progress
    from fray._report import report
    from fray._timeline import timeline
    from fray.actor_pool import ActorPool
    from fray.actor_queue import ActorQueue
    from fray.backend.in_memory import LocalClusterContext
    from fray.backend.local.sync import LocalJobContext, SyncContext
    from fray.backend.local.thread import ThreadContext
    from fray.cluster import *  # noqa: F403
    from fray.executor import Executor
    from fray.job.actors import ActorContext, ActorHandle, ActorMethod, current_actor
    from fray.job.context import JobContext
    from fray.job.refs import ObjectRef
    from fray.types import ActorOptions, EntryPoint, Lifetime, RuntimeEnv, TaskOptions

__all__ = [
    "ActorContext",
    "ActorDiedError",
    "ActorHandle",
    "ActorMethod",
    "ActorNotFoundError",
    "ActorOptions",
    "ActorPool",
    "ActorQueue",
    "AlreadyInitializedError",
    "BinaryEntrypoint",
    "CallableEntrypoint",
    "Cluster",
    "ClusterContext",
    "ContextClosedError",
    "CpuConfig",
    "DeadlockError",
    "DeviceConfig",
    "DeviceKind",
    "EntryPoint",
    "Entrypoint",
    "EnvironmentConfig",
    "Executor",
    "ForeignRefError",
    "FrayError",
    "GetTimeoutError",
    "GpuConfig",
    "GpuType",
    "InfeasibleError",
    "JobAlreadyExists",
    "JobContext",
    "JobExistsError",
    "JobFailed",
    "JobFailedError",
    "JobHandle",
    "JobId",
    "JobInfo",
    "JobNotFoundError",
    "JobRequest",
    "JobStatus",
    "Lifetime",
    "LocalClient",
    "LocalCluster",
    "LocalClusterContext",
    "LocalJobContext",
    "NameTakenError",
    "NodeDiedError",
    "ObjectLostError",
    "ObjectRef",
    "OutOfMemoryError",
    "OwnerDiedError",
    "PendingCallsLimitError",
    "QueueNotFoundError",
    "RemoteTraceback",
    "ReservationEndedError",
    "ResourceConfig",
    "RuntimeEnv",
    "RuntimeEnvError",
    "SerializationError",
    "SettingsError",
    "StoreFullError",
    "SyncContext",
    "TaskCancelledError",
    "TaskError",
    "TaskOptions",
    "TaskStatus",
    "TaskTimeoutError",
    "ThreadContext",
    "TpuConfig",
    "TpuTopologyInfo",
    "TpuType",
    "UnsupportedError",
    "VersionMismatchError",
    "WorkerDiedError",
    "__version__",
    "cpp",
    "create_cluster",
    "create_environment",
    "create_job_ctx",
    "current_actor",
    "current_client",
    "current_cluster",
    "dashboard",
    "fray_default_job_ctx",
    "get_default_job_ctx",
    "get_job_context",
    "get_tpu_topology",
    "init",
    "progress",
    "report",
    "set_current_client",
    "set_current_cluster",
    "set_job_context",
    "shutdown",
    "timeline",
    "wait_all",
]

_LAZY = {
    "ActorContext": ("fray.job.actors", "ActorContext"),
    "ActorHandle": ("fray.job.actors", "ActorHandle"),
    "ActorMethod": ("fray.job.actors", "ActorMethod"),
    "ActorPool": ("fray.actor_pool", "ActorPool"),
    "ActorQueue": ("fray.actor_queue", "ActorQueue"),
    "Executor": ("fray.executor", "Executor"),
    "JobContext": ("fray.job.context", "JobContext"),
    "LocalClusterContext": ("fray.backend.in_memory", "LocalClusterContext"),
    "LocalJobContext": ("fray.backend.local.sync", "LocalJobContext"),
    "ObjectRef": ("fray.job.refs", "ObjectRef"),
    "SyncContext": ("fray.backend.local.sync", "SyncContext"),
    "ThreadContext": ("fray.backend.local.thread", "ThreadContext"),
    "Client": ("fray.cluster.cluster", "Cluster"),
    "RayClient": ("fray.backend.ray.cluster", "RayClient"),
    "RayCluster": ("fray.backend.ray.cluster", "RayCluster"),
    "RayClusterContext": ("fray.backend.ray.cluster", "RayClusterContext"),
    "RayJobContext": ("fray.backend.ray.ray_job", "RayJobContext"),
    "cpp": ("fray._cpp_library", "cpp"),
    "current_actor": ("fray.job.actors", "current_actor"),
    "dashboard": ("fray._dashboard_link", "dashboard"),
    "progress": ("fray._progress", "progress"),
    "report": ("fray._report", "report"),
    "timeline": ("fray._timeline", "timeline"),
    "types": ("fray.types", ""),
}
_LAZY.update(
    {name: ("fray.types", name) for name in ("ActorOptions", "EntryPoint", "Lifetime", "RuntimeEnv", "TaskOptions")}
)
_LAZY.update({name: ("fray.cluster", name) for name in __all__ if name not in _LAZY and name not in globals()})


def __getattr__(name: str) -> Any:
    return lazy_attribute(__name__, name, _LAZY)
