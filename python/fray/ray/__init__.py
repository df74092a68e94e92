"""Ray's core API on Fray: ``import fray.ray as ray``, or ``fray ray program.py``, which needs no change of the program.

Every call ends in the context API (`fray.JobContext`); docs/guides/from-ray.md has the table of all names. The parts of
Ray beyond its core (Data, Serve, Tune, Train, RLlib, clusters) are refused by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fray.ray._ids import (
    ActorClassID,
    ActorID,
    ClusterID,
    FunctionID,
    JobID,
    NodeID,
    PlacementGroupID,
    TaskID,
    UniqueID,
    WorkerID,
)
from fray.ray._modules import find
from fray.ray._objects import cancel, get, get_actor, kill, put, wait
from fray.ray._options import method
from fray.ray._refs import DynamicObjectRefGenerator, ObjectRef, ObjectRefGenerator
from fray.ray._remote import remote
from fray.ray._session import RAY_VERSION as __version__
from fray.ray._session import init, is_initialized, shutdown

if TYPE_CHECKING:
    from fray.ray import actor as actor
    from fray.ray import dag as dag
    from fray.ray import exceptions as exceptions
    from fray.ray import experimental as experimental
    from fray.ray import runtime_env as runtime_env
    from fray.ray import util as util
    from fray.ray._cluster import available_resources, cluster_resources, get_gpu_ids, nodes, timeline
    from fray.ray._others import LOCAL_MODE, SCRIPT_MODE, WORKER_MODE, Language, LoggingConfig
    from fray.ray.runtime_context import get_runtime_context

# fmt: off
__all__ = [
    "LOCAL_MODE", "SCRIPT_MODE", "WORKER_MODE", "ActorClassID", "ActorID", "ClusterID", "DynamicObjectRefGenerator",
    "FunctionID", "JobID", "Language", "LoggingConfig", "NodeID", "ObjectID", "ObjectRef", "ObjectRefGenerator",
    "PlacementGroupID", "TaskID", "UniqueID", "WorkerID", "__version__", "available_resources", "cancel",
    "cluster_resources", "get", "get_actor", "get_gpu_ids", "get_runtime_context", "init", "is_initialized", "kill",
    "method", "nodes", "put", "remote", "shutdown", "timeline", "wait",
]
# fmt: on

__commit__ = "fray"
ObjectID = ObjectRef


def __getattr__(name: str) -> Any:
    found = globals()[name] = find("ray", name)
    return found
