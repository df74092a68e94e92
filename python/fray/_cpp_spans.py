"""Records the spans of C++ processes, which have no SDK of OpenTelemetry, as if this process had made them."""

from __future__ import annotations

import copy
import json
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from fray._trace_pipe import TracePipe
from fray._trace_recorder import Recorder
from fray._version import VERSION

__all__ = ["CppSpans"]

_KINDS = {"producer": SpanKind.PRODUCER, "consumer": SpanKind.CONSUMER, "internal": SpanKind.INTERNAL}
_PROPAGATOR = TraceContextTextMapPropagator()


class CppSpans:
    """Records the spans that arrive through a pipe, until this object is closed.

    Args:
        path: path of the pipe.
        recorder: the recorder of this process.

    Raises:
        OSError: the pipe's folder does not exist.
    """

    def __init__(self, path: str, recorder: Recorder) -> None:
        self._recorder = recorder
        # The ids of these spans are given, because calls have already passed them on as trace contexts. All else, such
        # as the sampler, is that of the provider.
        self._tracer: Any = copy.copy(trace.get_tracer("fray", VERSION))
        self._ids = self._tracer.id_generator = _GivenIds()
        self._pipe = TracePipe(path, self._take)

    def drain(self) -> None:
        """Record the spans that have arrived."""
        self._pipe.drain()

    def close(self) -> None:
        """Record the spans that have arrived, and stop."""
        self._pipe.close()

    def _take(self, lines: list[bytes]) -> None:
        for line in lines:
            try:
                self._record(json.loads(line))
            except (ValueError, KeyError, TypeError):
                continue  # any process of the user may write anything into the pipe

    def _record(self, told: dict[str, Any]) -> None:
        if told.get("lost"):
            self._recorder.say_lost()
        _, trace_id, span_id, _ = told["context"].split("-")
        self._ids.trace_id, self._ids.span_id = int(trace_id, 16), int(span_id, 16)
        links = [Link(trace.get_current_span(_context(link)).get_span_context()) for link in told["links"]]
        span = self._tracer.start_span(
            told["name"],
            _context(told["parent"]),
            _KINDS[told["kind"]],
            told["attributes"],
            links,
            start_time=int(told["began"]),
        )
        if told["error"] is not None:
            kind, text = told["error"]
            span.set_attribute("error.type", kind)
            span.add_event("exception", {"exception.type": kind, "exception.message": text}, int(told["ended"]))
            span.set_status(Status(StatusCode.ERROR, f"{kind}: {text}"))
        span.end(int(told["ended"]))


class _GivenIds:
    """Replaces the SDK's generator of ids: returns the ids that were set last."""

    trace_id = 0
    span_id = 0

    def generate_span_id(self) -> int:
        return self.span_id

    def generate_trace_id(self) -> int:
        return self.trace_id

    def is_trace_id_random(self) -> bool:
        return True


def _context(traceparent: str) -> Context:
    return _PROPAGATOR.extract({"traceparent": traceparent}, Context())
