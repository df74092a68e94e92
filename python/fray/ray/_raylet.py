"""`ray._raylet`: the few names that programs of Ray's own repository take from its extension."""

from __future__ import annotations

from fray.ray._ids import ActorID, JobID, NodeID, PlacementGroupID, TaskID, UniqueID, WorkerID
from fray.ray._refs import DynamicObjectRefGenerator, ObjectRef, ObjectRefGenerator
from fray.ray.exceptions import ObjectRefStreamEndOfStreamError

__all__ = [
    "OPTIMIZED",
    "ActorID",
    "DynamicObjectRefGenerator",
    "JobID",
    "NodeID",
    "ObjectRef",
    "ObjectRefGenerator",
    "ObjectRefStreamEndOfStreamError",
    "PlacementGroupID",
    "TaskID",
    "UniqueID",
    "WorkerID",
]

OPTIMIZED = 1
