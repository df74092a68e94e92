"""`Recorder`: makes the spans of one process, with the names and attributes of OpenTelemetry's conventions.

A call is a message: who sends it has a span of kind PRODUCER ("submit train", "call Counter.add", "create Counter",
"launch nightly"), which ends when it is sent; who runs it has one of kind CONSUMER ("run train"), whose parent is the
sender's. Between the two it waited. A wait is a span of kind INTERNAL ("get train"), with links to what it waits for.
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
"""Ends a span: with what was raised, and the id of the first result of the task that was sent."""

_EXIT_SECONDS = 3.0
_MOST_SENT = 10_000
"""Tasks whose spans waits can name."""
_PROPAGATOR = TraceContextTextMapPropagator()


class Recorder:
    """Makes the spans of this process and has them exported.

    Args:
        is_worker: it runs the tasks of programs: spans have a parent, or are not made.
        on_begin: called in a worker when there is a span to be exported, and there was none.
        on_sent: called in a worker when all have been.
    """

    def __init__(
        self,
        is_worker: bool,
        on_begin: Callable[[], None] | None = None,
        on_sent: Callable[[], None] | None = None,
    ) -> None:
        self._is_worker = is_worker
        self._root = None if is_worker else _PROPAGATOR.extract(_surroundings(), Context())
        """What spans without a parent are children of; None: there are no such spans."""
        self._service = os.environ.get("OTEL_SERVICE_NAME") or _program_name()
        self._exports: Exports | None = None
        self._sent: OrderedDict[bytes, tuple[str, SpanContext]] = OrderedDict()
        if type(trace.get_tracer_provider()) is trace.ProxyTracerProvider:
            self._exports = make_provider(self._service, is_worker, on_begin, on_sent)
            trace.set_tracer_provider(self._exports.provider)
            atexit.register(self.settle)
        self._tracer = trace.get_tracer("fray", VERSION)

    def worker_variables(self) -> dict[str, str]:
        """Return what workers call their service, and the pipe that takes the spans of those in C++."""
        return {"OTEL_SERVICE_NAME": self._service, PIPE_VARIABLE: pipe_name(self._service)}

    def say_lost(self) -> None:
        """Say that spans were lost on the way here."""
        if self._exports is not None:
            self._exports.say_lost()

    # ---- the sender's side

    def sending(self, name: str, operation: str) -> tuple[bytes, End] | None:
        """Begin the span of a call that is sent; return the trace context that goes along, and what ends it."""
        parent = self._parent()
        if parent is None:
            return None
        attributes = _message(name, operation, "send")
        span = self._tracer.start_span(f"{operation} {name}", parent, SpanKind.PRODUCER, attributes)
        context = span.get_span_context()
        if not context.is_valid:  # the SDK is disabled
            return None

        def end(error: BaseException | None, task: bytes | None) -> None:
            if task is not None:
                span.set_attribute("messaging.message.id", _number(task))
                self._note(task, name, context)
            _end(span, error)

        return _traceparent(context).encode(), end

    def waiting(self, verb: str, tasks: list[bytes], count: int, timeout: float | None) -> End | None:
        """Begin the span of a wait for results; None where it is none."""
        if timeout == 0:
            return None
        known = [found for found in (self._sent.get(task) for task in tasks) if found is not None]
        names = {name for name, _ in known}
        what = names.pop() if len(names) == 1 and len(known) == count else f"{count} result{'s' if count > 1 else ''}"
        return self._begin_wait(verb, what, count, [Link(context) for _, context in known])

    def waiting_for(self, verb: str, what: str) -> AbstractContextManager[None]:
        """Surround a wait for something with a name."""
        return _until_end(self._begin_wait(verb, what, 1, []))

    def awaiting(self, task: bytes) -> AbstractContextManager[None]:
        """Surround the wait of a coroutine for the result of a task."""
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
        """Return what a span that begins here is a child of; None where none is to be made."""
        here = contexts.get_current()
        if trace.get_current_span(here).get_span_context().is_valid:
            return here
        return self._root

    # ---- the side that runs it

    def around(
        self, fn: Callable[..., Any], context: str, name: str, attributes: Mapping[str, Any]
    ) -> Callable[..., Any]:
        """Return `fn` such that a call of it is a span, whose parent is that of `context`.

        The span is the current one where the function, coroutine or generator runs.
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
        """Surround the launch of a job; the value is the trace context for its TRACEPARENT."""
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
        """Surround all that a job does: the span is the parent of whatever has none."""
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
        """Export what this process has recorded, and let its workers do the same; at most a few seconds.

        Args:
            wait_for_others: waits for the workers, at most the seconds that it is given.
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
    """Surround code that runs inside the span; a block may only end in the flow of control in which it began."""
    token = contexts.attach(trace.set_span_in_context(span))
    try:
        yield
    finally:
        contexts.detach(token)


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
    except GeneratorExit:  # nobody wants more of them
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
    """Return the number by which the timeline and the dashboard know a task."""
    return str(int.from_bytes(task[8:], sys.byteorder))


def _traceparent(context: SpanContext) -> str:
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def _text_of(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def _surroundings() -> dict[str, str]:
    """Return what the environment says of the trace that this program is a part of."""
    found = {name.lower(): os.environ.get(name, "") for name in ("TRACEPARENT", "TRACESTATE")}
    return {name: value for name, value in found.items() if value}


def _program_name() -> str:
    job = os.environ.get("FRAY_JOB_NAME")
    program = os.path.basename(sys.argv[0] if sys.argv else "")
    return job or (program if program not in ("", "-c", "-m") else "fray")
