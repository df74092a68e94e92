"""`ray.util.dask`: Dask's scheduler "ray", which is `fray.dask.get`.

Results of `persist` are kept as values in the process that called it, where Ray keeps refs. The callbacks of Ray's own
(`RayDaskCallback` and its relatives) are missing; Dask's callbacks work.
"""

# pyright: basic, reportMissingTypeStubs=false, reportPrivateImportUsage=false
# dask has almost no annotations, and exports names without saying so.

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import dask

from fray.dask import get
from fray.ray._options import check_options, task_options
from fray.ray._session import context
from fray.types import TaskOptions

# fmt: off
__all__ = [
    "dataframe_optimize", "disable_dask_on_ray", "enable_dask_on_ray", "ray_dask_get", "ray_dask_get_sync",
    "ray_dask_persist",
]
# fmt: on

_SHUFFLE = "dataframe.shuffle.algorithm"


def enable_dask_on_ray(shuffle: str | None = "tasks", use_shuffle_optimization: bool | None = True) -> Any:
    """Make `ray_dask_get` Dask's scheduler, from now on or in a ``with`` block.

    Args:
        shuffle: how Dask shuffles frames, "tasks" or "disk".
        use_shuffle_optimization: taken, and without an effect, as on Ray with versions of Dask from 2025.1 on.
    """
    del use_shuffle_optimization
    return dask.config.set({"scheduler": ray_dask_get, _SHUFFLE: shuffle})


def disable_dask_on_ray() -> Any:
    """Give Dask its own scheduler and way of shuffling again, from now on or in a ``with`` block."""
    return dask.config.set({"scheduler": None, _SHUFFLE: None})


def ray_dask_get(dsk: Any, keys: Any, **settings: Any) -> Any:
    """Compute `keys` of the graph `dsk` with tasks; Dask calls such a function a scheduler.

    Args:
        dsk: a graph or an expression.
        keys: a key, or nested lists of keys.
        settings: ``ray_remote_args`` are options of every task; those of ``dask.annotate(ray_remote_args=…)`` come
            before them. What Ray takes for its threads, its progress bar and `persist` has no effect.

    Raises:
        ValueError: ``resources`` stand beside ``ray_remote_args``, or an option has a wrong value.
        NotImplementedError: there are ``ray_callbacks``.
        Exception: what a task raised.
    """
    if settings.get("ray_callbacks"):
        raise NotImplementedError("callbacks of Ray's own are not called here; use dask.callbacks.Callback")
    annotations = dask.get_annotations()
    everywhere = settings.get("ray_remote_args") or {}
    graph = dsk if isinstance(dsk, Mapping) else getattr(dsk, "_optimized_dsk", None) or dsk.__dask_graph__()
    _refuse_resources(settings)
    _refuse_resources(annotations)
    default = _options({**everywhere, **annotations.get("ray_remote_args", {})})
    special = _annotated(graph, everywhere, annotations)
    options = (lambda key: special.get(key, default)) if special else default
    return get(graph, keys, context=context(), options=options)


def ray_dask_get_sync(dsk: Any, keys: Any, **settings: Any) -> Any:
    """Do what `ray_dask_get` does; Ray's own function differs only in the threads that submit."""
    return ray_dask_get(dsk, keys, **settings)


def ray_dask_persist(*collections: Any, **settings: Any) -> Any:
    """Compute `collections` and return them with their values inside, as `dask.persist` does."""
    return dask.persist(*collections, **settings)


def dataframe_optimize(dsk: Any, keys: Any, **settings: Any) -> None:
    """Do nothing, as on Ray with versions of Dask from 2025.1 on."""


def _annotated(graph: Any, everywhere: dict[str, Any], around: Mapping[str, Any]) -> dict[Hashable, TaskOptions]:
    """Return the options of the keys whose layers of the graph are annotated with options of their own."""
    found: dict[Hashable, TaskOptions] = {}
    for layer in getattr(graph, "layers", {}).values():
        own = layer.annotations or {}
        _refuse_resources(own)
        if "ray_remote_args" in own:
            options = _options({**everywhere, **around.get("ray_remote_args", {}), **own["ray_remote_args"]})
            found.update(dict.fromkeys(layer.get_output_keys(), options))
    return found


def _options(remote_args: dict[str, Any]) -> TaskOptions:
    check_options(remote_args, for_actors=False, in_options=True)
    return task_options(remote_args, None)


def _refuse_resources(given: Mapping[str, Any]) -> None:
    if "resources" in given:
        raise ValueError(
            'Use ray_remote_args={"resources": {...}} instead of resources={...} to specify required Ray task '
            "resources; see the options of ray.remote"
        )
