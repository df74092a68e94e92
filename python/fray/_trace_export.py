"""Exports spans with the exporter that OpenTelemetry's environment variables name.

A collector that cannot be reached harms no program. The SDK would log each failure; instead the program prints one
sentence, and its workers print nothing.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

__all__ = ["Exports", "make_provider"]

_WORKER_DELAY_MS = 200
"""Time from the end of a span in a worker to its export; short, because a worker may be ended at any time."""
_GROUP = "opentelemetry_traces_exporter"
_QUEUE_LOGGER = "opentelemetry.sdk._shared_internal"
_PROTOCOLS = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}
_ADDRESSES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


class Exports:
    """The exports of one process: its provider, and whether they succeed.

    Args:
        provider: the provider whose spans are exported.
        is_worker: whether this process runs the tasks of a program.
    """

    def __init__(self, provider: TracerProvider, is_worker: bool) -> None:
        self.provider = provider
        self.failing = False
        self.log = _LastLine(self)
        self._is_worker = is_worker
        self._said = False

    def ended(self, problem: str) -> None:
        """Note the end of an export, and print the first problem.

        Args:
            problem: why the export failed; empty if it succeeded.
        """
        self.failing = bool(problem)
        if problem and not self._said:
            self.say(f"spans cannot be exported{_to_where()}: {problem}; what the program does goes on without")

    def late(self, seconds: float) -> None:
        """Note that spans were not exported within so many seconds, and that the program does not wait any longer."""
        self.ended(self.log.last or f"no answer within {seconds:g} s")

    def say_lost(self) -> None:
        """Print that spans were lost before they could be exported."""
        self.say(
            "spans end faster than they are exported, and some of them are lost; a larger OTEL_BSP_MAX_QUEUE_SIZE, "
            "or a sampler (OTEL_TRACES_SAMPLER), helps",
            by_workers=True,
        )

    def say(self, text: str, by_workers: bool = False) -> None:
        """Print a sentence, unless this process has printed one before.

        Args:
            text: the sentence.
            by_workers: whether workers print it, too. They are silent about a problem that the program has as well.
        """
        if not self._said and (by_workers or not self._is_worker):
            print(f"fray: {text}", file=sys.stderr, flush=True)
        self._said = True


def make_provider(
    service: str,
    is_worker: bool,
    on_begin: Callable[[], None] | None = None,
    on_sent: Callable[[], None] | None = None,
) -> Exports:
    """Return a provider that exports as OTEL_TRACES_EXPORTER and related variables say.

    Args:
        service: the name of the service.
        is_worker: see `Recorder`.
        on_begin: see `Recorder`.
        on_sent: see `Recorder`.
    """
    resource = Resource.create({"service.name": service, "process.pid": os.getpid()})
    exports = Exports(TracerProvider(resource=resource, shutdown_on_exit=False), is_worker)
    delay = None if "OTEL_BSP_SCHEDULE_DELAY" in os.environ or not is_worker else _WORKER_DELAY_MS
    for exporter in _exporters(exports):
        quiet = _QuietExporter(exporter, exports, _Unsent(on_begin, on_sent))
        exports.provider.add_span_processor(quiet.unsent)
        exports.provider.add_span_processor(BatchSpanProcessor(quiet, schedule_delay_millis=delay))
    return exports


def _exporters(exports: Exports) -> list[SpanExporter]:
    names = [name.strip() for name in os.environ.get("OTEL_TRACES_EXPORTER", "otlp").split(",")]
    made: list[SpanExporter] = []
    for name in filter(None, names):
        if name == "none":
            continue
        wanted = _protocol_exporter() if name == "otlp" else name
        found = list(entry_points(group=_GROUP, name=wanted))
        if not found:
            known = ", ".join(sorted({entry.name for entry in entry_points(group=_GROUP)}))
            exports.say(
                f"spans are not exported: no package that is installed has the exporter {wanted!r}; known: {known}"
            )
            continue
        try:
            made.append(found[0].load()())
        except Exception as error:
            exports.say(f"spans are not exported: the exporter {wanted!r} cannot be made: {error}")
    return made


def _protocol_exporter() -> str:
    protocol = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
    return _PROTOCOLS.get(protocol or "http/protobuf", protocol or "")


def _to_where() -> str:
    given = next((os.environ[name] for name in _ADDRESSES if os.environ.get(name)), None)
    if given is not None:
        return f" to {given.partition('?')[0].rpartition('@')[2]}"
    return f" to http://localhost:4318 (neither {' nor '.join(_ADDRESSES)} is set)"


class _Unsent(SpanProcessor):
    """Reports when there begin to be spans that have ended and were not exported, and when there are none left.

    It suffices to remember the span that ended last: the queue before the exporter keeps the order of spans and drops
    the oldest when it is full, so once that span is exported no other is left.

    Args:
        on_begin: see `Recorder`.
        on_sent: see `Recorder`.
    """

    def __init__(self, on_begin: Callable[[], None] | None, on_sent: Callable[[], None] | None) -> None:
        self._on_begin, self._on_sent = on_begin, on_sent
        self._latest = 0
        self._lock = threading.Lock()
        os.register_at_fork(after_in_child=self._begin_anew)

    def on_end(self, span: ReadableSpan) -> None:
        if self._on_begin is None or span.context is None or not span.context.trace_flags.sampled:
            return
        with self._lock:
            if self._latest == 0:
                self._on_begin()
            self._latest = span.context.span_id

    def sent(self, spans: Sequence[ReadableSpan]) -> None:
        """Note that these spans were exported."""
        if self._on_sent is None:
            return
        with self._lock:
            if any(span.context is not None and span.context.span_id == self._latest for span in reversed(spans)):
                self._latest = 0
                self._on_sent()

    def _begin_anew(self) -> None:
        self._lock = threading.Lock()
        self._on_begin = self._on_sent = None


class _QuietExporter(SpanExporter):
    """Exports through another exporter, and notes its errors instead of logging them."""

    def __init__(self, exporter: SpanExporter, exports: Exports, unsent: _Unsent) -> None:
        self._exporter = exporter
        self._exports = exports
        self.unsent = unsent
        exports.log.replace_others(type(exporter).__module__)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self._exports.log.last = problem = ""
        try:
            result = self._exporter.export(spans)
        except Exception as error:
            result, problem = SpanExportResult.FAILURE, f"{type(error).__name__}: {error}"
        if result is not SpanExportResult.SUCCESS:
            problem = problem or self._exports.log.last or "it was refused"
        self._exports.ended(problem)
        self.unsent.sent(spans)
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)


class _LastLine(logging.Handler):
    """Keeps the last record of the exporters' loggers, which reach no other handler."""

    def __init__(self, exports: Exports) -> None:
        super().__init__()
        self.last = ""
        self._exports = exports

    def replace_others(self, module: str) -> None:
        """Take over the loggers of the exporter in `module` and of the queue before it."""
        for name in ("opentelemetry.exporter", _QUEUE_LOGGER, module):
            logger = logging.getLogger(name)
            if self not in logger.handlers:
                logger.addHandler(self)
            logger.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        text = " ".join(record.getMessage().split())
        if record.name != _QUEUE_LOGGER:
            self.last = text
        elif "full" in text:
            self._exports.say_lost()
