"""Traces tasks, actor calls, jobs and waits as spans of OpenTelemetry: the switch, and the functions for engines.

Traces are off by default; then nothing of OpenTelemetry is imported and no message carries a trace context. Programs
switch them on with `switch_on`. Processes that run the tasks of a program use `switch_on_in_worker`: they make spans
only for calls that arrive with a trace context.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from fray._settings import TRACE_VARIABLE, traces_are_asked_for

if TYPE_CHECKING:
    from fray._trace_recorder import Recorder

__all__ = [
    "around",
    "job_attributes",
    "launching",
    "only_children",
    "recorder",
    "running_job",
    "sent",
    "settle",
    "switch_on",
    "switch_on_in_worker",
    "waiting",
    "worker_variables",
]


class _State:
    """The state of this process. Guarded by the GIL."""

    made: Recorder | None = None
    recorder: Recorder | None = None
    """Equal to `made` while traces are on, else None."""
    failed = False
    """Whether OpenTelemetry cannot be imported, of which the user was told."""
    is_worker = False


def recorder() -> Recorder | None:
    """Return the recorder of this process; None while traces are off."""
    return _State.recorder


def switch_on(asked: bool | None = None) -> Recorder | None:
    """Switch traces on or off for the whole process; return the recorder, None if they are off.

    Args:
        asked: what the program asks for; None leaves the switch as it is, which FRAY_OTEL sets at first.
    """
    if asked is False:
        _State.recorder = None
        return None
    if asked is None and _State.recorder is None and not traces_are_asked_for():
        return None
    if _State.made is None and not _State.failed:
        _State.made = _made(_State.is_worker)
    _State.recorder = _State.made
    return _State.recorder


def switch_on_in_worker(
    on_begin: Callable[[], None] | None = None, on_sent: Callable[[], None] | None = None
) -> Recorder | None:
    """Trace calls that arrive with a trace context, in a process that runs tasks; return the recorder.

    Args:
        on_begin: see `Recorder`.
        on_sent: see `Recorder`.
    """
    only_children()
    if _State.made is None and not _State.failed:
        _State.made = _made(True, on_begin, on_sent)
    _State.recorder = _State.made
    return _State.recorder


def only_children() -> None:
    """Make spans in this process only for calls that arrive with a trace context."""
    _State.is_worker = True


def _made(is_worker: bool, on_begin: Any = None, on_sent: Any = None) -> Recorder | None:
    try:
        from fray._trace_recorder import Recorder
    except ImportError as error:
        _State.failed = True
        print(
            f"fray: nothing is traced, because OpenTelemetry cannot be imported ({error}); "
            f"pip install 'fray[otel]', or unset {TRACE_VARIABLE}",
            file=sys.stderr,
        )
        return None
    return Recorder(is_worker, on_begin, on_sent)


def worker_variables() -> dict[str, str]:
    """Return the variables with which workers of this process record spans; none while traces are off."""
    return {} if _State.recorder is None else {TRACE_VARIABLE: "1", **_State.recorder.worker_variables()}


def settle(wait_for_others: Callable[[float], None] | None = None) -> None:
    """Export all spans that have ended; see `Recorder.settle`."""
    if _State.recorder is not None:
        _State.recorder.settle(wait_for_others)


# ---- for engines in Python; native code uses the recorder itself


def sent(name: str, operation: str) -> str | None:
    """Make the span of a call that is sent; return the trace context to send with it, or None."""
    made = None if _State.recorder is None else _State.recorder.sending(name, operation)
    if made is None:
        return None
    made[1](None, None)
    return made[0].decode()


def around(fn: Callable[..., Any], trace: str | None, name: str, **attributes: Any) -> Callable[..., Any]:
    """Return a function that makes a span of each call of `fn`; `fn` itself if the call has no trace context."""
    if trace is None or _State.recorder is None:
        return fn
    return _State.recorder.around(fn, trace, name, attributes)


def waiting(verb: str, what: str) -> AbstractContextManager[None]:
    """Return a context manager that makes a span of a wait of this thread."""
    return nullcontext() if _State.recorder is None else _State.recorder.waiting_for(verb, what)


# ---- jobs


@contextmanager
def launching(name: str, environment: Mapping[str, str]) -> Generator[dict[str, str]]:
    """Make a span of the launch of a job; the value is the variables that the job needs beside `environment`."""
    switch_on()
    if _State.recorder is None:
        yield {}
        return
    with _State.recorder.launching(name) as trace:
        variables = {TRACE_VARIABLE: "1", **({} if trace is None else {"TRACEPARENT": trace})}
        yield {key: value for key, value in variables.items() if key == "TRACEPARENT" or key not in environment}


def job_attributes() -> dict[str, str]:
    """Return the attributes of the span of this process, which is a job."""
    names = {"id": "FRAY_JOB_ID", "attempt": "FRAY_JOB_ATTEMPT", "replica": "FRAY_REPLICA_ID"}
    found = {f"fray.job.{part}": os.environ.get(name) for part, name in names.items()}
    return {name: value for name, value in found.items() if value is not None}


def running_job(name: str, attributes: Mapping[str, Any]) -> AbstractContextManager[None]:
    """Return a context manager that makes a span of everything that the program of a job does, if traces are on."""
    found = switch_on()
    return nullcontext() if found is None else found.running_job(name, attributes)
