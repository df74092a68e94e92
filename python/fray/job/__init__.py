"""Running tasks and holding objects: the tier inside a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fray._lazy import lazy_attribute
from fray.job.current import (
    fray_default_job_ctx,
    get_default_job_ctx,
    get_job_context,
    set_job_context,
)
from fray.job.factory import create_job_ctx

if TYPE_CHECKING:
    from fray.backend.local import LocalJobContext, SyncContext, ThreadContext
    from fray.job.actors import ActorContext, ActorHandle, ActorMethod, current_actor
    from fray.job.context import JobContext
    from fray.job.refs import ObjectRef

__all__ = [
    "ActorContext",
    "ActorHandle",
    "ActorMethod",
    "JobContext",
    "LocalJobContext",
    "ObjectRef",
    "SyncContext",
    "ThreadContext",
    "create_job_ctx",
    "current_actor",
    "fray_default_job_ctx",
    "get_default_job_ctx",
    "get_job_context",
    "set_job_context",
]

_LAZY = {
    "JobContext": ("fray.job.context", "JobContext"),
    "ObjectRef": ("fray.job.refs", "ObjectRef"),
    "GeneratorFuture": ("fray.job.refs", "ObjectRef"),  # older name: the ref of a generator task can be iterated
    "ContextConfig": ("fray.job.config", "ContextConfig"),
    "ActorContext": ("fray.job.actors", "ActorContext"),
    "ActorHandle": ("fray.job.actors", "ActorHandle"),
    "ActorMethod": ("fray.job.actors", "ActorMethod"),
    "current_actor": ("fray.job.actors", "current_actor"),
    # Names that handles and methods had in older versions.
    "SimpleActor": ("fray.job.actors", "ActorHandle"),
    "ThreadActorHandle": ("fray.job.actors", "ActorHandle"),
    "ThreadActorMethod": ("fray.job.actors", "ActorMethod"),
    "LocalJobContext": ("fray.backend.local.sync", "LocalJobContext"),
    "SyncContext": ("fray.backend.local.sync", "SyncContext"),
    "ThreadContext": ("fray.backend.local.thread", "ThreadContext"),
    "RayContext": ("fray.backend.ray.ray_job", "RayJobContext"),
}


def __getattr__(name: str) -> Any:
    return lazy_attribute(__name__, name, _LAZY)
