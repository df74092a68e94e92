"""Traces of the native engine, whose calls and waits are native code that uses the recorder of `fray._traces` itself.

A worker may be ended as soon as no client needs it. So a worker that has spans to export holds a lock on a file in the
session's folder, and a program that ends waits a moment until these locks are released.
"""

from __future__ import annotations

import fcntl
import os
import struct
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

from fray import _native, _traces

if TYPE_CHECKING:
    from fray._cpp_spans import CppSpans

__all__ = ["awaiting", "settle_traces", "take_cpp_spans", "trace_program", "traced_call"]

_PAUSE = 0.01


def trace_program(asked: bool | None) -> dict[str, str]:
    """Trace the calls of this program if this is asked for; return the variables that its workers get."""
    recorder = _traces.switch_on(asked)
    if recorder is None:
        _native.set_tracer(None, None)
        return {}
    _native.set_tracer(recorder.sending, recorder.waiting)
    return _traces.worker_variables()


def traced_call(function: Any, trace: bytes, name: str, number: int, attempt: int, folder: str) -> Any:
    """Return the function that a worker calls instead of `function`, to make a span for a caller's trace context."""
    if not _Worker.begun:
        _Worker.begun = True
        lock = _UnsentLock(folder)
        recorder = _traces.switch_on_in_worker(lock.take, lock.release)
        if recorder is not None:
            _native.set_tracer(recorder.sending, recorder.waiting)
    attributes = {"messaging.message.id": str(number)} if number else {}
    if attempt:
        attributes["fray.attempt"] = str(attempt)
    return _traces.around(function, trace.decode(), _full_name(function, name), **attributes)


def awaiting(ref: Any) -> AbstractContextManager[None]:
    """Return a context manager that makes a span of a coroutine's wait for `ref`."""
    recorder = _traces.recorder()
    if recorder is None:
        return nullcontext()
    epoch, owner, sequence = ref._id().split(".")
    return recorder.awaiting(struct.pack("=IIQ", int(epoch, 16), int(owner), int(sequence)))


def take_cpp_spans(client: Any) -> CppSpans | None:
    """Begin to record the spans of C++ workers; None while traces are off. The result must be closed."""
    recorder = _traces.recorder()
    if recorder is None:
        return None
    from fray._cpp_spans import CppSpans
    from fray._trace_pipe import PIPE_VARIABLE, pipe_path

    with suppress(OSError):  # the folder is in a file system without pipes
        return CppSpans(pipe_path(client.session_folder(), _traces.worker_variables()[PIPE_VARIABLE]), recorder)
    return None


def settle_traces(client: Any, cpp_spans: CppSpans | None) -> None:
    """Export what this program and its workers have recorded, before the program leaves its node."""
    if cpp_spans is not None:
        cpp_spans.drain()
    if _traces.recorder() is not None and client.is_open():
        folder = client.session_folder()
        _traces.settle(lambda seconds: _wait_for_workers(folder, seconds))


def _wait_for_workers(folder: str, seconds: float) -> None:
    """Wait until no worker of the session has spans to export."""
    deadline = time.monotonic() + seconds
    with suppress(OSError), open(_path(folder), "ab") as file:
        while time.monotonic() < deadline:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                time.sleep(_PAUSE)  # the kernel has no event for the release of a lock
                continue
            return


def _path(folder: str) -> str:
    return os.path.join(folder, "unsent-spans")


def _full_name(function: Any, name: str) -> str:
    """Return the name that the caller's span has for a call: that of a method begins with its class."""
    owner = getattr(function, "__self__", None)
    if owner is None or getattr(function, "__name__", "") != name:
        return name
    return f"{type(owner).__qualname__.replace('<locals>.', '')}.{name}"


class _Worker:
    begun = False
    """Whether a task has arrived with a trace context."""


class _UnsentLock:
    """A lock that this process holds while it has spans to export; the kernel releases it when the process ends."""

    def __init__(self, folder: str) -> None:
        self._file: Any = None
        with suppress(OSError):  # a worker in a container, which does not see the session's folder
            self._file = open(_path(folder), "ab+")  # noqa: SIM115  (open as long as the process lives)

    def take(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                fcntl.lockf(self._file, fcntl.LOCK_SH | fcntl.LOCK_NB)

    def release(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                fcntl.lockf(self._file, fcntl.LOCK_UN)
