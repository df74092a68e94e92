"""Older path of the cluster on this machine, and of its actors."""

from fray.backend.native.cluster import LocalClient
from fray.cluster.handle import JobHandle as LocalJobHandle
from fray.job.actors import ActorHandle as LocalActorHandle
from fray.job.actors import ActorMethod as LocalActorMethod

__all__ = ["LocalActorHandle", "LocalActorMethod", "LocalClient", "LocalJobHandle"]
