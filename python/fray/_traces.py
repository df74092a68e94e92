"""Traces: tasks, calls of actors, jobs and waits as spans of OpenTelemetry. This is the switch, and what engines ask.

While it is off, as it is by default, nothing of OpenTelemetry is imported and no message grows. `switch_on` is for
programs, `switch_on_in_worker` for processes that run the tasks of one: these make spans for what came with a trace
context, and none of their own accord.
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
    """Of this process. Guarded by the GIL."""

    made: Recorder | None = None
    recorder: Recorder | None = None
    """The same, while it is switched on."""
    failed = False
    """What is needed is not installed, which was said."""
    is_worker = False


def recorder() -> Recorder | None:
    """Return what makes the spans of this process; None while nobody traces."""
    return _State.recorder


def switch_on(asked: bool | None = None) -> Recorder | None:
    """Trace from here on, for the whole process, where it is asked for; return what makes the spans, None if nothing.

    Args:
        asked: by the program; None to go on as before, and at first to heed FRAY_OTEL.
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
    """Record, in a process that runs tasks, what comes with a trace context; return what makes the spans.

    Args:
        on_begin: called when there is a span to be exported, and there was none.
        on_sent: called when all have been.
    """
    only_children()
    if _State.made is None and not _State.failed:
        _State.made = _made(True, on_begin, on_sent)
    _State.recorder = _State.made
    return _State.recorder


def only_children() -> None:
    """Make no spans in this process but for what comes with a trace context."""
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
    """Return the variables that tell workers of this process what they need to record; none while nobody traces."""
    return {} if _State.recorder is None else {TRACE_VARIABLE: "1", **_State.recorder.worker_variables()}


def settle(wait_for_others: Callable[[float], None] | None = None) -> None:
    """Export what has not been; see `Recorder.settle`."""
    if _State.recorder is not None:
        _State.recorder.settle(wait_for_others)


# ---- what engines in Python ask; native code asks the recorder itself


def sent(name: str, operation: str) -> str | None:
    """Note that a call is sent; return the trace context that goes along with it, None for none."""
    made = None if _State.recorder is None else _State.recorder.sending(name, operation)
    if made is None:
        return None
    made[1](None, None)
    return made[0].decode()


def around(fn: Callable[..., Any], trace: str | None, name: str, **attributes: Any) -> Callable[..., Any]:
    """Return `fn` such that a call of it is a span of the trace that it came with; `fn` itself where there is none."""
    if trace is None or _State.recorder is None:
        return fn
    return _State.recorder.around(fn, trace, name, attributes)


def waiting(verb: str, what: str) -> AbstractContextManager[None]:
    """Surround a wait of this thread."""
    return nullcontext() if _State.recorder is None else _State.recorder.waiting_for(verb, what)


# ---- jobs


@contextmanager
def launching(name: str, environment: Mapping[str, str]) -> Generator[dict[str, str]]:
    """Surround the launch of a job; its value is the variables that the job gets in addition to `environment`."""
    switch_on()
    if _State.recorder is None:
        yield {}
        return
    with _State.recorder.launching(name) as trace:
        variables = {TRACE_VARIABLE: "1", **({} if trace is None else {"TRACEPARENT": trace})}
        yield {key: value for key, value in variables.items() if key == "TRACEPARENT" or key not in environment}


def job_attributes() -> dict[str, str]:
    """Return what the span of the job that this process is says of it, beside its name."""
    names = {"id": "FRAY_JOB_ID", "attempt": "FRAY_JOB_ATTEMPT", "replica": "FRAY_REPLICA_ID"}
    found = {f"fray.job.{part}": os.environ.get(name) for part, name in names.items()}
    return {name: value for name, value in found.items() if value is not None}


def running_job(name: str, attributes: Mapping[str, Any]) -> AbstractContextManager[None]:
    """Surround all that the program of a job does, where traces are asked for."""
    found = switch_on()
    return nullcontext() if found is None else found.running_job(name, attributes)
