"""Where programs run: each backend has a folder and a row of `BACKENDS`. The folders never import one another.

The rest of Fray knows of a backend only what its row says, and imports its folder when the backend is first used.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from fray._resources import check_resources
from fray._settings import IRIS_WORKER_VARIABLE
from fray._units import parse_bytes
from fray.job.surroundings import is_iris_task, is_ray_worker

__all__ = ["BACKENDS", "Backend", "backend_named", "loaded"]

Reader = Callable[[str, str], Any]
"""Turns the text of a value, and its key, into the value; raises ValueError or TypeError for a text that is none."""


# ---- readers of values


def _text(raw: str, key: str) -> str:
    if not raw:
        raise ValueError(f"{key} is empty")
    return raw


def _count(raw: str, key: str) -> int:
    if not raw.isascii() or not raw.isdigit() or int(raw) < 1:
        raise ValueError(f"{key} must be a whole number of at least 1, got {raw!r}")
    return int(raw)


def _cpus(raw: str, key: str) -> float:
    try:
        amount = float(raw)
    except ValueError:
        raise ValueError(f"{key} must be a number, got {raw!r}") from None
    checked = check_resources({"CPU": amount}, key)["CPU"]
    return int(checked) if checked == int(checked) else checked


def _share(raw: str, key: str) -> float:
    try:
        share = float(raw)
    except ValueError:
        share = -1
    if not 0 < share <= 1:
        raise ValueError(f"{key} must be a share above 0 and at most 1, such as 0.9, got {raw!r}")
    return share


def _flag(raw: str, key: str) -> bool:
    if raw.lower() in ("1", "true", "yes", "on"):
        return True
    if raw.lower() in ("0", "false", "no", "off"):
        return False
    raise ValueError(f"{key} must be true or false, got {raw!r}")


def _resources(raw: str, key: str) -> dict[str, float]:
    amounts: dict[str, float] = {}
    for part in filter(None, raw.split(",")):
        name, colon, amount = part.rpartition(":")
        try:
            amounts[name] = float(amount)
        except ValueError:
            colon = ""
        if not colon:
            raise ValueError(f"{key} must look like TPU:4,head_node:1, got {raw!r}")
    return check_resources(amounts, key)


# ---- the table


class Backend(NamedTuple):
    """One row: what a spec may say of a backend, and where its parts are.

    Args:
        name: its scheme in specs.
        keys: the keys of its specs, each with the reader of its values; they are keywords of `context` and `cluster`.
        context: ``module:class`` of its `JobContext`. ``class.later(**settings)`` makes one that starts when it is
            used, where `is_remote`, and ``class.current()`` returns that of a worker process, where it `is_worker`.
        begin: ``module:function`` that takes the settings of a context and starts what takes long, for
            ``class.of_begun`` to make the context of: the class is imported meanwhile. None where nothing is started.
        cluster: ``module:class`` of its `Cluster`; None where it starts no jobs.
        aliases: other names that `create_job_ctx` knows it by.
        cluster_keys: the keys that concern jobs alone, which the context does not take.
        task_options: what `create_job_ctx` does with options of tasks such as ``num_cpus``: ``"refused"``,
            ``"ignored"``, or the keyword of the context that takes them all.
        workers_key: the setting that ``max_workers`` of `create_job_ctx` becomes.
        is_remote: whether work leaves this process.
        is_worker: tells, without importing the backend, whether this process may be one of its workers.
    """

    name: str
    keys: Mapping[str, Reader]
    context: str
    cluster: str | None = None
    begin: str | None = None
    aliases: tuple[str, ...] = ()
    cluster_keys: tuple[str, ...] = ()
    task_options: str = "refused"
    workers_key: str | None = None
    is_remote: bool = True
    is_worker: Callable[[], bool] = bool

    def context_settings(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings without those that concern jobs alone."""
        return {key: value for key, value in settings.items() if key not in self.cluster_keys}

    def context_class(self) -> Any:
        """Import and return the class of its contexts.

        Raises:
            ImportError: this build does not have the backend, or it cannot be loaded.
        """
        return loaded(self.context)


def loaded(place: str) -> Any:
    """Import and return what ``module:name`` names."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def _is_native_worker() -> bool:
    return getattr(sys.modules.get("fray.backend.native.seat"), "client_of_worker", None) is not None


def _is_iris_worker() -> bool:
    return bool(os.environ.get(IRIS_WORKER_VARIABLE)) and is_iris_task() and _is_native_worker()


_NODE_KEYS: dict[str, Reader] = {
    "cpus": _cpus,
    "memory": parse_bytes,
    "memory_threshold": _share,
    "store_memory": parse_bytes,
    "spill_dir": _text,
    "resources": _resources,
    "namespace": _text,
    "address": _text,
    "max_workers": _count,
    "debug": _flag,
    "dashboard": _flag,
    "tracing": _flag,
    "start_method": _text,
    "use_isolated_env": _flag,
}
_RAY_KEYS: dict[str, Reader] = {"address": _text, "namespace": _text, "autoscaling": _flag, "cluster": _text}
_IRIS_KEYS: dict[str, Reader] = {"controller": _text, "user": _text, "token_file": _text}

# fmt: off
BACKENDS = {row.name: row for row in (
    Backend("sync", {"serialize": _flag}, "fray.backend.local:LocalJobContext", task_options="ignored",
            is_remote=False),
    Backend("thread", {"max_workers": _count}, "fray.backend.local:ThreadContext", aliases=("threadpool",),
            task_options="ignored", workers_key="max_workers", is_remote=False),
    Backend("local", _NODE_KEYS, "fray.backend.native:NativeJobContext", "fray.backend.native.cluster:LocalCluster",
            "fray.backend.native:begin", aliases=("native",), cluster_keys=("use_isolated_env",), workers_key="cpus",
            is_worker=_is_native_worker),
    Backend("ray", _RAY_KEYS, "fray.backend.ray.context:RayJobContext", "fray.backend.ray.cluster:RayCluster",
            task_options="ray_options", is_worker=is_ray_worker),
    Backend("iris", _IRIS_KEYS, "fray.backend.iris.context:IrisJobContext", "fray.backend.iris.cluster:IrisCluster",
            is_worker=_is_iris_worker),
)}
# fmt: on
"""Every backend, by its name."""


def backend_named(name: str) -> Backend | None:
    """Return the backend of that name or alias."""
    return next((row for row in BACKENDS.values() if name == row.name or name in row.aliases), None)
