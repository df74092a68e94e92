"""Building a context from a scheme and its settings. Backends are imported here and only when asked for."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any, cast

from fray._settings import cluster_spec, node_of_this_job
from fray.errors import UnsupportedError
from fray.job.context import JobContext
from fray.job.spec import Spec, parse_spec
from fray.job.surroundings import is_ray_job, is_ray_worker, ray_is_initialized

__all__ = ["build", "create_job_ctx", "resolve", "worker_context"]

_OF_CLUSTERS = ("use_isolated_env",)
_OF_TASKS = ("num_cpus", "num_gpus", "memory", "resources", "max_retries", "max_calls")
_TYPES = ("auto", "sync", "thread", "threadpool", "local", "native", "ray", "iris")


def create_job_ctx(context_type: str = "auto", *, max_workers: int = 1, **options: Any) -> JobContext:
    """Return a new context, which is nobody's default yet.

    It can be made while modules are imported: a node is started, and Ray is connected to, when it is first used. A
    ``"local"`` context without settings that is used in a worker, which has imported the module, is on the worker's
    node.

    Args:
        context_type: ``"sync"``; ``"thread"`` or its old name ``"threadpool"``; ``"local"`` or ``"native"``; ``"ray"``;
            ``"iris"``; ``"auto"`` for what `get_job_context` would choose.
        max_workers: threads of a thread context, CPUs of a local one when more than 1.
        options: handed to the context's constructor. ``num_cpus``, ``num_gpus``, ``memory``, ``resources``,
            ``max_retries`` and ``max_calls`` are what each task that `run` starts needs on Ray; ``"sync"`` and
            ``"thread"`` take them too, so that one call fits all types, and do nothing with them.

    Raises:
        ValueError: the type is unknown.
        TypeError: an option is.
        UnsupportedError: this build does not have it.
    """
    if context_type not in _TYPES:
        raise ValueError(f"Unknown context type: {context_type!r}. Known types: {', '.join(_TYPES)}.")
    if context_type == "auto":
        spec = Spec("local", {}) if _is_native_worker() else resolve()
        return _later(Spec(spec.scheme, {**spec.settings, **_settings(spec.scheme, options)}))
    scheme = {"threadpool": "thread", "native": "local"}.get(context_type, context_type)
    options = _settings(scheme, options)
    if scheme == "thread":
        options = {"max_workers": min(max_workers, max(os.cpu_count() or 1, 1)), **options}
    elif scheme == "local" and max_workers > 1:
        options = {"cpus": max_workers, **options}
    return _later(Spec(scheme, options))


def _settings(scheme: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of the constructor, with what tasks need where `scheme` has a place for it."""
    if scheme not in ("sync", "thread", "ray"):
        return options
    of_tasks = {name: value for name, value in options.items() if name in _OF_TASKS}
    others = {name: value for name, value in options.items() if name not in _OF_TASKS}
    return {**others, "ray_options": of_tasks} if scheme == "ray" and of_tasks else others


def _later(spec: Spec) -> JobContext:
    """Make the context that `spec` names; what it starts or connects to, it does when it is first used."""
    spec = _of_contexts(spec)
    if spec.scheme not in ("local", "ray") or "address" in spec.settings:
        return build(spec)
    return cast("JobContext", _backend_class(spec.scheme, *_BACKENDS[spec.scheme]).later(**spec.settings))


def resolve() -> Spec:
    """Return what this process's surroundings say.

    In this order: its job's node, an initialised Ray, the spec, the Ray that started it as a job, else ``local``.
    """
    address = node_of_this_job()
    if address is not None:
        return Spec("local", {"address": address})
    if ray_is_initialized():
        return Spec("ray", {})
    text = cluster_spec()
    if text is not None:
        return parse_spec(text)
    return Spec("ray" if is_ray_job() else "local", {})


def build(spec: Spec) -> JobContext:
    """Make the context that `spec` names.

    Raises:
        UnsupportedError: this build of Fray has no such backend.
    """
    spec = _of_contexts(spec)
    if spec.scheme == "sync":
        from fray.backend.local.sync import LocalJobContext

        return LocalJobContext(**spec.settings)
    if spec.scheme == "thread":
        from fray.backend.local.thread import ThreadContext

        return ThreadContext(**spec.settings)
    module, name = _BACKENDS[spec.scheme]
    return cast("JobContext", _backend_class(spec.scheme, module, name)(**spec.settings))


def _is_native_worker() -> bool:
    context_class = getattr(sys.modules.get("fray.backend.native"), "NativeJobContext", None)
    return context_class is not None and context_class.current() is not None


def _of_contexts(spec: Spec) -> Spec:
    """Return the spec without what says something of jobs alone."""
    return Spec(spec.scheme, {key: value for key, value in spec.settings.items() if key not in _OF_CLUSTERS})


def worker_context() -> JobContext | None:
    """Return the context of the worker process that this is, or None anywhere else."""
    if is_ray_worker():
        importlib.import_module("fray.backend.ray.context")
    for module, name in _WORKERS:
        context_class = getattr(sys.modules.get(module), name, None)
        context = None if context_class is None else cast("JobContext | None", context_class.current())
        if context is not None:
            return context
    return None


_WORKERS = (("fray.backend.native", "NativeJobContext"), ("fray.backend.ray.context", "RayJobContext"))
_BACKENDS = {
    "local": ("fray.backend.native", "NativeJobContext"),
    "ray": ("fray.backend.ray.ray_job", "RayJobContext"),
    "iris": ("fray.backend.iris.iris_job", "IrisJobContext"),
}


def _backend_class(scheme: str, module: str, name: str) -> Any:
    try:
        return getattr(importlib.import_module(module), name)
    except ImportError as error:
        # Python 3.12 and later refuse by themselves, in words of their own.
        if scheme == "local" and "subinterpreter" in str(error).replace("-", ""):
            cause = f"{type(error).__name__}: {error}"
            text = f"the native engine cannot be imported ({cause}); in a sub-interpreter use 'sync' or 'thread'"
        elif scheme == "local":
            text = f"the native engine cannot be loaded ({error}); install Fray from a wheel, or use 'sync' or 'thread'"
        elif isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("fray.backend."):
            text = f"this build of Fray has no {scheme!r} backend yet; use 'local', 'thread' or 'sync'"
        else:
            text = f"the {scheme!r} backend cannot be loaded: {error}"
        raise UnsupportedError(text) from error
