"""A receiver of spans, and programs whose spans it gets."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

KINDS = {1: "internal", 4: "producer", 5: "consumer"}
OFF = ("FRAY_", "OTEL_", "TRACEPARENT", "TRACESTATE")


@dataclass
class Span:
    """A span as a collector gets it."""

    name: str
    kind: str
    id: str
    parent: str
    trace: str
    attributes: dict[str, Any]
    error: str | None
    events: list[str]
    links: list[str]
    service: str
    pid: int
    began: int
    ended: int


def _value(value: Any) -> Any:
    return getattr(value, value.WhichOneof("value"))


def decoded(body: bytes) -> list[Span]:
    """The spans of an OTLP request."""
    request = ExportTraceServiceRequest.FromString(body)
    found = []
    for resource_spans in request.resource_spans:
        resource = {pair.key: _value(pair.value) for pair in resource_spans.resource.attributes}
        for scope_spans in resource_spans.scope_spans:
            for span in scope_spans.spans:
                found.append(
                    Span(
                        name=span.name,
                        kind=KINDS.get(span.kind, str(span.kind)),
                        id=span.span_id.hex(),
                        parent=span.parent_span_id.hex(),
                        trace=span.trace_id.hex(),
                        attributes={pair.key: _value(pair.value) for pair in span.attributes},
                        error=span.status.message if span.status.code == 2 else None,
                        events=[event.name for event in span.events],
                        links=[link.span_id.hex() for link in span.links],
                        service=resource["service.name"],
                        pid=resource["process.pid"],
                        began=span.start_time_unix_nano,
                        ended=span.end_time_unix_nano,
                    )
                )
    return found


@dataclass
class Spans:
    """All spans that a program has made."""

    all: list[Span]
    output: str = ""

    def named(self, name: str) -> list[Span]:
        return [span for span in self.all if span.name == name]

    def one(self, name: str) -> Span:
        found = self.named(name)
        assert len(found) == 1, f"{len(found)} spans {name!r} among {sorted(span.name for span in self.all)}"
        return found[0]

    def parent(self, span: Span) -> Span:
        found = [other for other in self.all if other.id == span.parent]
        assert len(found) == 1, f"the parent of {span.name!r} is not among {sorted(span.name for span in self.all)}"
        return found[0]

    def line(self, name: str) -> list[str]:
        """The names from the span of that name up to its root."""
        return self.line_of(self.one(name))

    def line_of(self, span: Span, root: str = "") -> list[str]:
        """The names from that span up to the one whose parent is `root`."""
        names = [span.name]
        while span.parent != root:
            span = self.parent(span)
            names.append(span.name)
        return names


@dataclass
class Collector:
    """Takes spans over HTTP, as any collector does."""

    url: str
    spans: list[Span] = field(default_factory=list)
    arrived: threading.Condition = field(default_factory=threading.Condition)

    def take(self, spans: list[Span]) -> None:
        with self.arrived:
            self.spans.extend(spans)
            self.arrived.notify_all()

    def until(self, *names: str) -> Spans:
        """All spans, once there are some of these names."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: set(names) <= {span.name for span in self.spans}, 60), self.spans
            return Spans(list(self.spans))


@contextmanager
def receiving() -> Iterator[Collector]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            made.take(decoded(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    made = Collector(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def collector() -> Iterator[Collector]:
    with receiving() as made:
        yield made


def plain_environment(**variables: str) -> dict[str, str]:
    """This process's environment, without anything that says something of traces or of Fray, and these variables."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(OFF)}
    return {**own, **variables}


Run = Callable[..., subprocess.CompletedProcess[str]]


def run_in(folder: Path, program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program of Python, as a file of that folder, with these variables."""
    path = folder / "program.py"
    path.write_text(program)
    return subprocess.run(
        [sys.executable, str(path)],
        cwd=folder,
        env=plain_environment(**variables),
        capture_output=True,
        text=True,
        timeout=60,
    )


def spans_of(folder: Path, program: str, **variables: str) -> Spans:
    """Run a program of Python with FRAY_OTEL=1; return what a collector got."""
    with receiving() as collector:
        address = {"FRAY_OTEL": "1", "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
        done = run_in(folder, program, **{**address, **variables})
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stderr == ""
        return Spans(list(collector.spans), done.stdout)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return partial(run_in, tmp_path)


@pytest.fixture
def traced(tmp_path: Path) -> Callable[..., Spans]:
    return partial(spans_of, tmp_path)
