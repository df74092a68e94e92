"""`Recorder`: makes the spans of one process, with the names and attributes of OpenTelemetry's conventions.

A call is a message. Its sender makes a span of kind PRODUCER ("submit train", "call Counter.add", "create Counter",
"launch nightly"), which ends when the call is sent. The process that runs the call makes a span of kind CONSUMER ("run
train"), whose parent is that of the sender; between the two the call was queued. A wait is a span of kind INTERNAL
("get train"), with links to the calls whose results it waits for.
"""

from __future__ import annotations

import atexit
import inspect
import os
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, cast

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from fray._trace_export import Exports, make_provider
from fray._trace_pipe import PIPE_VARIABLE, pipe_name
from fray._version import VERSION

__all__ = ["Recorder"]

End = Callable[[BaseException | None, bytes | None], None]
"""Ends a span. The arguments are the exception that was raised, and the id of the first result of the sent task."""

_EXIT_SECONDS = 3.0
_MOST_SENT = 10_000
"""Sent tasks whose names and spans are remembered for later waits."""
_PROPAGATOR = TraceContextTextMapPropagator()


class Recorder:
    """Makes the spans of this process and has them exported.

    Args:
        is_worker: whether this process runs the tasks of programs. Then it makes no span without a parent.
        on_begin: called in a worker when a span has ended and all earlier ones are exported.
        on_sent: called in a worker when all spans that have ended are exported.
    """

    def __init__(
        self,
        is_worker: bool,
        on_begin: Callable[[], None] | None = None,
        on_sent: Callable[[], None] | None = None,
    ) -> None:
        self._is_worker = is_worker
        self._root = None if is_worker else _PROPAGATOR.extract(_surroundings(), Context())
        """The parent of spans that begin outside of any other; None in a worker, which makes no such spans."""
        self._service = os.environ.get("OTEL_SERVICE_NAME") or _program_name()
        self._exports: Exports | None = None
        self._sent: OrderedDict[bytes, tuple[str, SpanContext]] = OrderedDict()
        if type(trace.get_tracer_provider()) is trace.ProxyTracerProvider:
            self._exports = make_provider(self._service, is_worker, on_begin, on_sent)
            trace.set_tracer_provider(self._exports.provider)
            atexit.register(self.settle)
        self._tracer = trace.get_tracer("fray", VERSION)

    def worker_variables(self) -> dict[str, str]:
        """Return the variables that tell workers the name of their service, and C++ workers the name of the pipe."""
        return {"OTEL_SERVICE_NAME": self._service, PIPE_VARIABLE: pipe_name(self._service)}

    def say_lost(self) -> None:
        """Print that spans of C++ processes were lost before they reached this process."""
        if self._exports is not None:
            self._exports.say_lost()

    # ---- the sender's side

    def sending(self, name: str, operation: str) -> tuple[bytes, End] | None:
        """Begin the span of a call that is sent; return the trace context to send with it, and the end of the span."""
        parent = self._parent()
        if parent is None:
            return None
        attributes = _message(name, operation, "send")
        span = self._tracer.start_span(f"{operation} {name}", parent, SpanKind.PRODUCER, attributes)
        context = span.get_span_context()
        if not context.is_valid:  # OTEL_SDK_DISABLED is set
            return None

        def end(error: BaseException | None, task: bytes | None) -> None:
            if task is not None:
                span.set_attribute("messaging.message.id", _number(task))
                self._note(task, name, context)
            _end(span, error)

        return _traceparent(context).encode(), end

    def waiting(self, verb: str, tasks: list[bytes], count: int, timeout: float | None) -> End | None:
        """Begin the span of a wait for results of tasks; return its end, or None if the wait has no span."""
        if timeout == 0:
            return None
        known = [found for found in (self._sent.get(task) for task in tasks) if found is not None]
        names = {name for name, _ in known}
        what = names.pop() if len(names) == 1 and len(known) == count else f"{count} result{'s' if count > 1 else ''}"
        return self._begin_wait(verb, what, count, [Link(context) for _, context in known])

    def waiting_for(self, verb: str, what: str) -> AbstractContextManager[None]:
        """Return a context manager that makes a span of a wait for one named thing."""
        return _until_end(self._begin_wait(verb, what, 1, []))

    def awaiting(self, task: bytes) -> AbstractContextManager[None]:
        """Return a context manager that makes a span of a coroutine's wait for the result of a task."""
        return _until_end(self.waiting("get", [task], 1, None))

    def _begin_wait(self, verb: str, what: str, count: int, links: list[Link]) -> End | None:
        parent = self._parent()
        if parent is None:
            return None
        attributes = {"fray.operation": verb, "fray.wait.count": count}
        span = self._tracer.start_span(f"{verb} {what}", parent, SpanKind.INTERNAL, attributes, links)
        return lambda error, task: _end(span, error)

    def _note(self, task: bytes, name: str, context: SpanContext) -> None:
        self._sent[task] = name, context
        if len(self._sent) > _MOST_SENT:
            self._sent.popitem(last=False)

    def _parent(self) -> Context | None:
        """Return the parent of a span that begins here; None if no span may begin here."""
        here = contexts.get_current()
        if trace.get_current_span(here).get_span_context().is_valid:
            return here
        return self._root

    # ---- the side that runs the call

    def around(
        self, fn: Callable[..., Any], context: str, name: str, attributes: Mapping[str, Any]
    ) -> Callable[..., Any]:
        """Return a function that makes a span of each call of `fn`, with the trace context `context` as its parent.

        The span is the current span while the function, its coroutine or its generator runs.
        """
        parent = _PROPAGATOR.extract({"traceparent": context}, Context())
        about = {**_message(name, "run", "process"), **_code(fn), **attributes}

        def call(*args: Any, **kwargs: Any) -> Any:
            span = self._tracer.start_span(f"run {name}", parent, SpanKind.CONSUMER, about)
            try:
                with _current(span):
                    result = fn(*args, **kwargs)
            except BaseException as error:
                _end(span, error)
                raise
            if inspect.iscoroutine(result):
                return _awaited(span, cast("Coroutine[Any, Any, Any]", result))
            if inspect.isgenerator(result):
                return _items(span, cast("Generator[Any, Any, Any]", result))
            if inspect.isasyncgen(result):
                return _async_items(span, cast("AsyncGenerator[Any, Any]", result))
            _end(span, None)
            return result

        return call

    # ---- jobs

    @contextmanager
    def launching(self, name: str) -> Generator[str | None]:
        """Make a span of the launch of a job; the value is the trace context that the job finds in TRACEPARENT."""
        made = self.sending(name, "launch")
        if made is None:
            yield None
            return
        context, end = made
        try:
            yield context.decode()
        except BaseException as error:
            end(error, None)
            raise
        end(None, None)

    @contextmanager
    def running_job(self, name: str, attributes: Mapping[str, Any]) -> Generator[None]:
        """Make a span of everything that a job does; it is the parent of all spans without another one."""
        about = {**_message(name, "run", "process"), **attributes}
        span = self._tracer.start_span(f"run {name}", self._root, SpanKind.CONSUMER, about)
        before, self._root = self._root, trace.set_span_in_context(span, Context())
        try:
            with _current(span):
                yield
        except BaseException as error:
            failed = not isinstance(error, SystemExit) or error.code not in (None, 0)
            _end(span, error if failed else None)
            raise
        else:
            _end(span, None)
        finally:
            self._root = before

    # ---- the end

    def settle(self, wait_for_others: Callable[[float], None] | None = None) -> None:
        """Export what this process has recorded, and wait until its workers have done the same; a few seconds at most.

        Args:
            wait_for_others: waits for the workers; its argument is the most seconds that it may take.
        """
        if self._exports is None:
            return
        deadline = time.monotonic() + (_EXIT_SECONDS if not self._exports.failing else 0.5)
        flushing = threading.Thread(target=self._exports.provider.force_flush, name="fray-traces", daemon=True)
        flushing.start()
        if wait_for_others is not None and not self._exports.failing:
            wait_for_others(max(0.0, deadline - time.monotonic()))
        flushing.join(max(0.0, deadline - time.monotonic()))
        if flushing.is_alive():
            self._exports.late(_EXIT_SECONDS)


# ---- spans


@contextmanager
def _until_end(end: End | None) -> Generator[None]:
    try:
        yield
    except BaseException as error:
        if end is not None:
            end(error, None)
        raise
    if end is not None:
        end(None, None)


def _end(span: Span, error: BaseException | None) -> None:
    if error is not None:
        kind = type(error)
        name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        span.set_attribute("error.type", name)
        span.record_exception(error)
        span.set_status(Status(StatusCode.ERROR, _text_of(error)))
    span.end()


@contextmanager
def _current(span: Span) -> Generator[None]:
    """Make `span` the current span of a block of code.

    A block must end in the thread and context in which it began, so a generator may not yield inside of one.
    """
    before = contexts.get_current()
    try:
        contexts.attach(trace.set_span_in_context(span))
        yield
    finally:
        contexts.attach(before)


async def _awaited(span: Span, coroutine: Coroutine[Any, Any, Any]) -> Any:
    try:
        with _current(span):
            result = await coroutine
    except BaseException as error:
        _end(span, error)
        raise
    _end(span, None)
    return result


def _items(span: Span, items: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    try:
        while True:
            with _current(span):
                try:
                    item = next(items)
                except StopIteration as end:
                    _end(span, None)
                    return end.value
            yield item
    except GeneratorExit:  # the caller wants no further items
        items.close()
        _end(span, None)
        raise
    except BaseException as error:
        _end(span, error)
        raise


async def _async_items(span: Span, items: AsyncGenerator[Any, Any]) -> AsyncGenerator[Any, Any]:
    try:
        while True:
            with _current(span):
                try:
                    item = await anext(items)
                except StopAsyncIteration:
                    _end(span, None)
                    return
            yield item
    except GeneratorExit:
        await items.aclose()
        _end(span, None)
        raise
    except BaseException as error:
        _end(span, error)
        raise


def _message(name: str, operation: str, kind: str) -> dict[str, Any]:
    return {
        "messaging.system": "fray",
        "messaging.operation.name": operation,
        "messaging.operation.type": kind,
        "messaging.destination.name": name,
    }


def _code(fn: Callable[..., Any]) -> dict[str, Any]:
    module, name = getattr(fn, "__module__", None), getattr(fn, "__qualname__", None)
    return {"code.function.name": f"{module}.{name}" if module else name} if isinstance(name, str) else {}


def _number(task: bytes) -> str:
    """Return the number of a task in the timeline and on the dashboard."""
    return str(int.from_bytes(task[8:], sys.byteorder))


def _traceparent(context: SpanContext) -> str:
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def _text_of(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def _surroundings() -> dict[str, str]:
    """Return the trace context in the environment: that of the trace that this program is a part of."""
    found = {name.lower(): os.environ.get(name, "") for name in ("TRACEPARENT", "TRACESTATE")}
    return {name: value for name, value in found.items() if value}


def _program_name() -> str:
    job = os.environ.get("FRAY_JOB_NAME")
    program = os.path.basename(sys.argv[0] if sys.argv else "")
    return job or (program if program not in ("", "-c", "-m") else "fray")
