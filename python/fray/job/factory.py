"""Building a context from a scheme and its settings. A backend is imported only when it is asked for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

from fray._settings import cluster_spec, node_of_this_job
from fray.backend import BACKENDS, Backend, backend_named, loaded
from fray.errors import UnsupportedError
from fray.job.spec import Spec, parse_spec
from fray.job.surroundings import is_iris_task, is_ray_job, ray_is_initialized

if TYPE_CHECKING:
    from fray.job.context import JobContext

__all__ = ["build", "create_job_ctx", "resolve", "worker_context"]

_OF_TASKS = ("num_cpus", "num_gpus", "memory", "resources", "max_retries", "max_calls")


def create_job_ctx(context_type: str = "auto", *, max_workers: int = 1, **options: Any) -> JobContext:
    """Return a new context, which does not become the default of any code.

    It may be called while a module is imported: the context starts its node, or connects to Ray, when it is first
    used. A ``"local"`` context without settings that is first used in a worker uses the worker's node.

    Args:
        context_type: ``"sync"``; ``"thread"`` or its old name ``"threadpool"``; ``"local"`` or ``"native"``; ``"ray"``;
            ``"iris"``; ``"auto"`` for what `get_job_context` would choose.
        max_workers: threads of a thread context, CPUs of a local one when more than 1.
        options: handed to the context's constructor. ``num_cpus``, ``num_gpus``, ``memory``, ``resources``,
            ``max_retries`` and ``max_calls`` are what each task that `run` starts needs on Ray; ``"sync"`` and
            ``"thread"`` take them too, so that one call fits all types, and do nothing with them.

    Raises:
        ValueError: the type is unknown.
        TypeError: an option is unknown.
        UnsupportedError: this build does not have the backend.
    """
    backend = backend_named(context_type)
    if context_type == "auto":
        of_worker = (name for name in ("iris", "local") if _of_worker(BACKENDS[name]) is not None)
        worker = next(of_worker, None)
        spec = resolve() if worker is None else Spec(worker, {})
        backend, options = spec.backend, {**spec.settings, **_settings(spec.backend, options)}
    elif backend is None:
        known = ", ".join(["auto", *(name for row in BACKENDS.values() for name in (row.name, *row.aliases))])
        raise ValueError(f"Unknown context type: {context_type!r}. Known types: {known}.")
    else:
        options = {**_workers(backend, max_workers), **_settings(backend, options)}
    return _later(backend, options)


def _workers(backend: Backend, max_workers: int) -> dict[str, Any]:
    """Return the setting for `max_workers`; for 1, the default, a node chooses its number of CPUs itself."""
    if backend.workers_key is None or (backend.is_remote and max_workers <= 1):
        return {}
    return {backend.workers_key: max_workers if backend.is_remote else min(max_workers, max(os.cpu_count() or 1, 1))}


def _settings(backend: Backend, options: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of the constructor, with the options of tasks where `backend` takes them."""
    if backend.task_options == "refused":
        return options
    of_tasks = {name: value for name, value in options.items() if name in _OF_TASKS}
    others = {name: value for name, value in options.items() if name not in _OF_TASKS}
    return {**others, backend.task_options: of_tasks} if of_tasks and backend.task_options != "ignored" else others


def _later(backend: Backend, settings: dict[str, Any]) -> JobContext:
    """Make a context that starts its node, or connects, when it is first used."""
    unknown = [key for key in settings if key not in (*backend.keys, backend.task_options)]
    if unknown:
        takes = ", ".join(key for key in backend.keys if key not in backend.cluster_keys)
        raise TypeError(f"create_job_ctx: {backend.name!r} does not take {', '.join(unknown)}; it takes {takes}")
    settings = backend.context_settings(settings)
    if not backend.is_remote or "address" in settings:
        return build(Spec(backend.name, settings))
    return cast("JobContext", _context_class(backend).later(**settings))


def resolve() -> Spec:
    """Return the spec that this process's surroundings name.

    In this order: the node of its job, an initialised Ray, FRAY_CLUSTER_SPEC, the Ray or the Iris that started it as a
    job, else ``local``.
    """
    address = node_of_this_job()
    if address is not None:
        return Spec("local", {"address": address})
    if ray_is_initialized():
        return Spec("ray", {})
    text = cluster_spec()
    if text is not None:
        return parse_spec(text)
    if is_ray_job():
        return Spec("ray", {})
    return Spec("iris" if is_iris_task() else "local", {})


def build(spec: Spec) -> JobContext:
    """Make the context that `spec` names.

    Raises:
        UnsupportedError: this build of Fray has no such backend.
    """
    backend = spec.backend
    settings = backend.context_settings(spec.settings)
    if backend.begin is None:
        return cast("JobContext", _context_class(backend)(**settings))
    begun = _part(backend, backend.begin)(**settings)
    return cast("JobContext", _context_class(backend).of_begun(begun))  # imported while it starts


def worker_context() -> JobContext | None:
    """Return the context of the worker process that this is, or None anywhere else.

    The rows are looked at from the last to the first, because a worker of Iris is a worker of the native engine too.
    """
    for backend in reversed(BACKENDS.values()):
        context = _of_worker(backend)
        if context is not None:
            return context
    return None


def _of_worker(backend: Backend) -> JobContext | None:
    return cast("JobContext | None", backend.context_class().current()) if backend.is_worker() else None


def _context_class(backend: Backend) -> Any:
    return _part(backend, backend.context)


def _part(backend: Backend, place: str) -> Any:
    """Import and return a part of a backend."""
    try:
        return loaded(place)
    except ImportError as error:
        # From 3.12 on, Python itself refuses to load the module in a subinterpreter, with a message of its own.
        if backend.name == "local" and "subinterpreter" in str(error).replace("-", ""):
            cause = f"{type(error).__name__}: {error}"
            text = f"the native engine cannot be imported ({cause}); in a sub-interpreter use 'sync' or 'thread'"
        elif backend.name == "local":
            text = f"the native engine cannot be loaded ({error}); install Fray from a wheel, or use 'sync' or 'thread'"
        elif isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("fray.backend."):
            text = f"this build of Fray has no {backend.name!r} backend yet; use 'local', 'thread' or 'sync'"
        else:
            text = f"the {backend.name!r} backend cannot be loaded: {error}"
        raise UnsupportedError(text) from error
