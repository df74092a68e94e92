"""Where the names of Ray's modules are that are imported when they are used.

Modules of Ray that hold nothing else have no file: they are made of this table.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from fray.ray._refused import refuse_name

__all__ = ["find"]

_IDS = "ActorID JobID NodeID PlacementGroupID TaskID UniqueID WorkerID"
_LANGUAGES = "cpp_function java_actor_class java_function"
_NAMES: dict[str, dict[str, str]] = {
    "ray": {
        "_cluster": "available_resources cluster_resources get_gpu_ids nodes timeline",
        "_others": f"{_LANGUAGES} ClientBuilder LOCAL_MODE Language LoggingConfig SCRIPT_MODE WORKER_MODE client "
        "show_in_dashboard",
        "runtime_context": "get_runtime_context",
    },
    "ray.util": {
        "_others": "PublicAPI disable_log_once_globally enable_periodic_logging",
        "util.actor_pool": "ActorPool",
        "util.check_serialize": "inspect_serializability",
        "util.placement_group": "get_current_placement_group get_placement_group placement_group "
        "placement_group_table remove_placement_group",
        "util.serialization": "deregister_serializer register_serializer",
    },
    "ray._private": {},
    "ray._private.internal_api": {"_others": "free memory_summary"},
    "ray._private.ray_client_microbenchmark": {"_others": "main"},
    "ray._private.ray_constants": {"_others": "RESOURCE_CONSTRAINT_PREFIX"},
    "ray._private.ray_microbenchmark_helpers": {"_microbenchmark": "ray_setup_and_teardown timeit"},
    "ray._private.utils": {"_memory": "get_system_memory get_used_memory"},
    "ray._private.worker": {
        "_objects": "get put wait",
        "_others": "BaseContext LOCAL_MODE RESTORE_WORKER_MODE SCRIPT_MODE SPILL_WORKER_MODE WORKER_MODE global_worker",
        "_session": "RayContext init is_initialized shutdown",
    },
    "ray._raylet": {
        "_ids": _IDS,
        "_others": "OPTIMIZED",
        "_refs": "DynamicObjectRefGenerator ObjectRef ObjectRefGenerator",
        "exceptions": "ObjectRefStreamEndOfStreamError",
    },
    "ray.cross_language": {"_others": _LANGUAGES},
    "ray.experimental.collective": {
        "experimental": "CommunicatorHandle create_collective_group destroy_collective_group"
    },
    "ray.internal": {"_others": "free"},
    "ray.job_config": {"_others": "JobConfig"},
    "ray.types": {"_refs": "ObjectRef"},
    "ray.util.annotations": {"_others": "Deprecated DeveloperAPI PublicAPI RayDeprecationWarning"},
    "ray.util.debug": {"_others": "disable_log_once_globally enable_periodic_logging", "util": "log_once"},
    "ray.util.pdb": {"_others": "post_mortem set_trace"},
    "ray.util.tracing": {},
    "ray.util.tracing.tracing_helper": {"_others": "_global_is_tracing_enabled is_tracing_enabled"},
}
"""By the module of Ray: in which modules of `fray.ray` its names are."""
_PACKAGES = ("ray", "ray.util")
"""The modules of the table that have more than names in them."""


def find(module: str, name: str) -> Any:
    """Return a name of a module of Ray, or the module of that name below it.

    Raises:
        AttributeError: there is neither.
    """
    for place, names in _NAMES[module].items():
        if name in names.split():
            return getattr(import_module(f"fray.ray.{place}"), name)
    below = f"fray.{module}.{name}"
    if name.startswith("__") or find_spec(below) is None:
        refuse_name(module, name)
    return import_module(below)


class _Table(ModuleType):
    """A module of Ray whose names are in other modules."""

    def __init__(self, name: str) -> None:
        super().__init__(f"fray.{name}", f"`{name}`: the names that programs take from there.")
        self.__spec__ = ModuleSpec(self.__name__, None, is_package=True)
        self.__path__ = []
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return find(self._name, name)


sys.modules.update({f"fray.{name}": _Table(name) for name in _NAMES if name not in _PACKAGES})
