"""The context that code runs in.

In this order: the one set in this flow of control (`contextvars`: tasks and coroutines inherit it), the one set for the
process, the worker or job that the process is, then what was chosen once by `init` or from the surroundings. The
process-wide default is there so that threads which users start resolve too.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from fray._resources import check_resources
from fray._units import parse_bytes
from fray.errors import AlreadyInitializedError
from fray.job.factory import build, resolve, worker_context
from fray.job.spec import Spec

if TYPE_CHECKING:
    from fray.job.context import JobContext

__all__ = [
    "enter_context",
    "existing_job_context",
    "forget_contexts",
    "fray_default_job_ctx",
    "get_default_job_ctx",
    "get_job_context",
    "init",
    "known_context",
    "set_job_context",
    "shutdown",
]

_flow: ContextVar[JobContext | None] = ContextVar("fray_job_context", default=None)
"""The context of this flow of control."""


class _Scope:
    """One level of process-wide setting; `fray_default_job_ctx` adds and removes levels."""

    __slots__ = ("context",)

    def __init__(self, context: JobContext | None) -> None:
        self.context = context


class _Process:
    """What holds for the whole process; `lock` guards it."""

    def __init__(self) -> None:
        self.renew_lock()
        self.scopes = [_Scope(None)]
        self.chosen: JobContext | None = None
        self.settings: dict[str, Any] = {}

    def renew_lock(self) -> None:
        """Replace the lock in a child of fork(): the thread that may have held it is not there to release it."""
        self.lock = threading.RLock()

    def explicit(self) -> JobContext | None:
        return self.scopes[-1].context

    def running(self) -> JobContext | None:
        """Return the chosen context, forgetting one that was closed."""
        if self.chosen is not None and self.chosen.closed:
            self.chosen, self.settings = None, {}
        return self.chosen


_process = _Process()
os.register_at_fork(after_in_child=_process.renew_lock)


def get_job_context() -> JobContext:
    """Return the context that this code runs in; the first call chooses one where none is set, and it is kept."""
    context = known_context()
    if context is not None:
        return context
    with _process.lock:
        chosen = _process.running()
        if chosen is None:
            spec = resolve()
            chosen = build(spec)
            _process.chosen, _process.settings = chosen, spec.settings
        return chosen


def known_context() -> JobContext | None:
    """Return the context that was set or that this process runs in; None where there is none yet."""
    return _flow.get() or _process.explicit() or worker_context()


def existing_job_context() -> JobContext | None:
    """Return what `get_job_context` returns where there is a context already, else None: nothing is started."""
    context = known_context()
    if context is not None:
        return context
    with _process.lock:
        return _process.running()


def get_default_job_ctx() -> JobContext:
    """Return the same as `get_job_context`."""
    return get_job_context()


def set_job_context(context: JobContext | None) -> None:
    """Make `context` the current one, here and for the process. None forgets the contexts that were set or chosen."""
    from fray.job.context import JobContext

    if context is not None and not isinstance(context, JobContext):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"set_job_context needs a JobContext or None, got {context!r}")
    with _process.lock:
        _flow.set(context)
        _process.scopes[-1].context = context
        if context is None:
            _process.chosen, _process.settings = None, {}


@contextmanager
def fray_default_job_ctx(context: JobContext) -> Generator[JobContext, None, None]:
    """Make `context` the current one inside a ``with`` block; what was current before is restored."""
    scope = _Scope(context)
    before = _flow.get()
    try:
        _flow.set(context)
        with _process.lock:
            _process.scopes.append(scope)
        yield context
    finally:
        _flow.set(before)  # not reset(): a fixture may end in another flow of control than it began in
        with _process.lock, suppress(ValueError):  # an interrupted block has perhaps not added its level
            _process.scopes.remove(scope)


def enter_context(context: JobContext) -> None:
    """Make `context` current in this flow of control only; backends call it where a task starts."""
    _flow.set(context)


def init(
    cpus: float | None = None,
    memory: int | str | None = None,
    store_memory: int | str | None = None,
    spill_dir: str | None = None,
    resources: Mapping[str, float] | None = None,
    namespace: str | None = None,
    address: str | None = None,
    max_workers: int | None = None,
    debug: bool | None = None,
    dashboard: bool | None = None,
    tracing: bool | None = None,
    memory_threshold: float | None = None,
    start_method: str | None = None,
) -> JobContext:
    """Choose the engine on this machine's cores, with these settings, for the whole process, and return its context.

    Without any setting: the context that `get_job_context` returns. Calling it again with the same settings returns the
    same context.

    Args:
        cpus: CPUs for tasks; by default those that the process may use.
        memory: memory for tasks, in bytes or as ``"8GiB"``.
        store_memory: memory of the object store before it spills, in bytes or as ``"2GiB"``.
        spill_dir: folder for objects that memory has no room for.
        resources: capacities of custom resources, such as ``{"TPU": 4}``.
        namespace: the namespace of actors that are created or looked up without one.
        address: ``"auto"`` or the path of a running node; by default a node is started for this process.
        max_workers: the largest number of worker processes.
        debug: tasks may stop at ``breakpoint()``; the terminal is theirs while this program waits for results.
        dashboard: the node answers HTTP, so that `fray.dashboard` has a page to show; a started node always does.
        memory_threshold: the share of the machine's or its container's memory above which tasks and actors are ended
            with `OutOfMemoryError`, such as 0.9; by default all but 5 %, or all but 1 GiB where that is less.
        tracing: tasks, calls of actors, jobs and waits are spans of OpenTelemetry; by default where FRAY_OTEL is 1.
        start_method: ``"forkserver"``: workers begin as new interpreters. ``"fork"``: they are copies of this process
            as it is now, with all that it has imported, and need no time to start; this process must have no other
            thread then. By default they are copies where tasks cannot tell; see docs/guides/start-methods.md.

    Raises:
        AlreadyInitializedError: there is a context with other settings; the message names them.
        ValueError: a value that makes no sense.
    """
    given = {
        "cpus": None if cpus is None else check_resources({"CPU": cpus}, "init: cpus")["CPU"],
        "memory": None if memory is None else parse_bytes(memory, "init: memory"),
        "store_memory": None if store_memory is None else parse_bytes(store_memory, "init: store_memory"),
        "spill_dir": spill_dir,
        "resources": None if resources is None else check_resources(resources, "init"),
        "namespace": namespace,
        "address": address,
        "max_workers": max_workers,
        "debug": debug,
        "dashboard": dashboard,
        "tracing": tracing,
        "memory_threshold": memory_threshold,
        "start_method": start_method,
    }
    settings = {key: value for key, value in given.items() if value is not None}
    with _process.lock:
        existing = known_context()
        if existing is not None:
            _refuse_other(settings, {}, "the context that was set or that this process runs in")
            return existing
        running = _process.running()
        if running is not None:
            _refuse_other(settings, _process.settings, "the context that is running")
            return running
        if not settings:
            return get_job_context()
        spec = resolve()
        if spec.scheme == "local":
            settings = {**spec.settings, **settings}
        _process.chosen = build(Spec("local", settings))
        _process.settings = settings
        return _process.chosen


def forget_contexts() -> None:
    """Forget all contexts that were set or chosen: this process is the copy of a program and becomes a worker."""
    _flow.set(None)
    _process.scopes = [_Scope(None)]
    _process.chosen, _process.settings = None, {}


def shutdown() -> None:
    """Close the context that `init` or the first use chose, and forget it; no effect where there is none."""
    with _process.lock:
        chosen = _process.running()
        _process.chosen, _process.settings = None, {}
    if chosen is not None:
        chosen.close()


def _refuse_other(asked: dict[str, Any], has: dict[str, Any], whose: str) -> None:
    differing = [key for key in asked if key not in has or has[key] != asked[key]]
    if differing:
        parts = ", ".join(
            f"{key}: asked for {asked[key]!r}, has {repr(has[key]) if key in has else 'the default'}"
            for key in differing
        )
        raise AlreadyInitializedError(
            f"init asks for other settings than {whose} has ({parts}); call fray.shutdown() and "
            "set_job_context(None) first, or init before anything else uses Fray"
        )
