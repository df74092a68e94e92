"""Ray's core API on Fray: ``import fray.ray as ray``, or ``fray ray program.py``, which needs no change of the program.

Every call ends in the context API (`fray.JobContext`); docs/guides/from-ray.md has the table of all names. What Ray has
beyond its core (Data, Serve, Tune, Train, RLlib, clusters) is refused by name.
"""

from __future__ import annotations

import importlib
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
    from fray.ray import types as types
    from fray.ray import util as util
    from fray.ray._cluster import available_resources, cluster_resources, get_gpu_ids, nodes, timeline
    from fray.ray._others import Language, LoggingConfig
    from fray.ray.runtime_context import get_runtime_context

__all__ = [
    "LOCAL_MODE",
    "SCRIPT_MODE",
    "WORKER_MODE",
    "ActorClassID",
    "ActorID",
    "ClusterID",
    "DynamicObjectRefGenerator",
    "FunctionID",
    "JobID",
    "Language",
    "LoggingConfig",
    "NodeID",
    "ObjectID",
    "ObjectRef",
    "ObjectRefGenerator",
    "PlacementGroupID",
    "TaskID",
    "UniqueID",
    "WorkerID",
    "__version__",
    "available_resources",
    "cancel",
    "cluster_resources",
    "get",
    "get_actor",
    "get_gpu_ids",
    "get_runtime_context",
    "init",
    "is_initialized",
    "kill",
    "method",
    "nodes",
    "put",
    "remote",
    "shutdown",
    "timeline",
    "wait",
]

__commit__ = "fray"
SCRIPT_MODE, WORKER_MODE, LOCAL_MODE = 0, 1, 2
ObjectID = ObjectRef

_NAMES = {
    "available_resources": "fray.ray._cluster",
    "cluster_resources": "fray.ray._cluster",
    "get_gpu_ids": "fray.ray._cluster",
    "nodes": "fray.ray._cluster",
    "timeline": "fray.ray._cluster",
    "get_runtime_context": "fray.ray.runtime_context",
    "Language": "fray.ray._others",
    "LoggingConfig": "fray.ray._others",
    "ClientBuilder": "fray.ray._others",
    "client": "fray.ray._others",
    "cpp_function": "fray.ray._others",
    "java_actor_class": "fray.ray._others",
    "java_function": "fray.ray._others",
    "show_in_dashboard": "fray.ray._others",
}
_MODULES = (
    "_private",
    "_raylet",
    "actor",
    "cloudpickle",
    "cross_language",
    "dag",
    "exceptions",
    "experimental",
    "internal",
    "job_config",
    "remote_function",
    "runtime_context",
    "runtime_env",
    "types",
    "util",
)


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        found = getattr(importlib.import_module(_NAMES[name]), name)
    elif name in _MODULES:
        found = importlib.import_module(f"fray.ray.{name}")
    else:
        from fray.ray._refused import refuse_name

        refuse_name(name)
    globals()[name] = found
    return found
