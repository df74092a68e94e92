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

__all__ = ["build", "create_job_ctx", "resolve", "worker_context"]

_TYPES = ("auto", "sync", "thread", "threadpool", "local", "native", "ray", "iris")


def create_job_ctx(context_type: str = "auto", *, max_workers: int = 1, **options: Any) -> JobContext:
    """Return a new context, which is nobody's default yet.

    Args:
        context_type: ``"sync"``; ``"thread"`` or its old name ``"threadpool"``; ``"local"`` or ``"native"``; ``"ray"``;
            ``"iris"``; ``"auto"`` for what `get_job_context` would choose.
        max_workers: threads of a thread context, CPUs of a local one when more than 1.
        options: handed to the context's constructor.

    Raises:
        ValueError: the type is unknown.
        UnsupportedError: this build does not have it.
    """
    if context_type not in _TYPES:
        raise ValueError(f"Unknown context type: {context_type!r}. Known types: {', '.join(_TYPES)}.")
    if context_type == "auto":
        spec = resolve()
        return build(Spec(spec.scheme, {**spec.settings, **options}))
    scheme = {"threadpool": "thread", "native": "local"}.get(context_type, context_type)
    if scheme == "thread":
        options = {"max_workers": min(max_workers, max(os.cpu_count() or 1, 1)), **options}
    elif scheme == "local" and max_workers > 1:
        options = {"cpus": max_workers, **options}
    return build(Spec(scheme, options))


def resolve() -> Spec:
    """Return what this process's surroundings say: its job's node, an initialised Ray, the spec, else ``local``."""
    address = node_of_this_job()
    if address is not None:
        return Spec("local", {"address": address})
    if _ray_is_initialized():
        return Spec("ray", {})
    text = cluster_spec()
    return parse_spec(text) if text is not None else Spec("local", {})


def build(spec: Spec) -> JobContext:
    """Make the context that `spec` names.

    Raises:
        UnsupportedError: this build of Fray has no such backend.
    """
    if spec.scheme == "sync":
        from fray.backend.local.sync import LocalJobContext

        return LocalJobContext(**spec.settings)
    if spec.scheme == "thread":
        from fray.backend.local.thread import ThreadContext

        return ThreadContext(**spec.settings)
    module, name = _BACKENDS[spec.scheme]
    return cast("JobContext", _backend_class(spec.scheme, module, name)(**spec.settings))


def worker_context() -> JobContext | None:
    """Return the context of the worker process that this is, or None anywhere else."""
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
            text = "the native engine serves the main interpreter alone; in a sub-interpreter use 'sync' or 'thread'"
        elif scheme == "local":
            text = f"the native engine cannot be loaded ({error}); install Fray from a wheel, or use 'sync' or 'thread'"
        elif isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("fray.backend."):
            text = f"this build of Fray has no {scheme!r} backend yet; use 'local', 'thread' or 'sync'"
        else:
            text = f"the {scheme!r} backend cannot be loaded: {error}"
        raise UnsupportedError(text) from error


def _ray_is_initialized() -> bool:
    """Ask Ray only where the program has imported it itself."""
    ray: Any = sys.modules.get("ray")
    is_initialized = getattr(ray, "is_initialized", None)
    return bool(is_initialized and is_initialized())
