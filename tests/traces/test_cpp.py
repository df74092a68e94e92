"""Tasks, actors and waits in C++ are spans of the trace that they belong to, as those in Python are."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cpp.conftest import compile_cpp
from tests.traces.conftest import Collector, Spans, plain_environment, spans_of

SOURCE = Path(__file__).parent / "programs" / "relay.cc"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
LEAF = """
import time
from pathlib import Path


def rest(number):
    # A wait has a span where the result is not there yet, so this returns when all threads that wait do sleep.
    asleep = 0
    while asleep < 5:
        asleep = asleep + 1 if all(map(sleeps, Path("waiting").read_text().split())) else 0
        time.sleep(0.002)
    return number


def sleeps(thread):
    try:
        return Path("/proc", thread, "stat").read_text().rpartition(")")[2].split()[0] == "S"
    except OSError:  # it has ended
        return True


def leaf(number):
    return rest(number) * 2
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program, the library and the module that they call."""
    folder = tmp_path_factory.mktemp("relay")
    (folder / "leaf.py").write_text(LEAF)
    with ThreadPoolExecutor() as pool:
        program = pool.submit(compile_cpp, SOURCE, folder / "relay")
        pool.submit(compile_cpp, SOURCE, folder / "librelay.so", "-shared").result()
        program.result()
    return folder


def run_program(built: Path, **variables: str) -> str:
    environment = plain_environment(PYTHONPATH=str(built), **variables)
    done = subprocess.run(
        [built / "relay"], cwd=built, env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == ""
    return done.stdout


FROM_PYTHON = """
import os
import pathlib
import fray


def main():
    pathlib.Path("waiting").write_text(f"{os.getpid()}/task/{os.getpid()}\\n")
    ctx = fray.init(cpus=2)
    cpp = fray.cpp(LIBRARY)
    print(ctx.get(ctx.run(cpp.function("twice"), 4.5)))
    shop = ctx.create_actor(cpp.actor("Shop"), 2.0)
    print(ctx.get(shop.buy(3.0)))
    try:
        ctx.get(ctx.run(cpp.function("fails"), 1.0))
    except fray.TaskError as error:
        print(error)


if __name__ == "__main__":
    main()
"""


@pytest.fixture(scope="module")
def from_python(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Spans:
    """The spans of a Python program that uses a C++ library, whose functions call each other and Python."""
    return spans_of(
        tmp_path_factory.mktemp("cpp"),
        FROM_PYTHON.replace("LIBRARY", repr(str(built / "librelay.so"))),
        PYTHONPATH=str(built),
        PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    )


def parents(spans: Spans, name: str) -> list[list[str]]:
    """The lines from the spans of that name up to their roots."""
    return sorted(spans.line_of(span) for span in spans.named(name))


def test_tasks_and_actors_in_cpp_are_spans_between_those_of_python(from_python: Spans) -> None:
    spans = from_python
    assert spans.output.splitlines()[:2] == ["9.0", "12.0"]
    by_task = ["run leaf", "submit leaf", "run relay", "submit relay", "run twice", "submit twice"]
    by_actor = ["run leaf", "submit leaf", "run relay", "submit relay", "run Shop.buy", "call Shop.buy"]
    assert parents(spans, "run leaf") == sorted([by_task, by_actor])
    assert spans.line("run Shop") == ["run Shop", "create Shop"]
    ran = spans.one("run twice")
    assert (ran.kind, spans.one("submit twice").kind) == ("consumer", "producer")
    assert ran.attributes["messaging.message.id"] == spans.one("submit twice").attributes["messaging.message.id"]
    assert ran.attributes["messaging.destination.name"] == "twice"
    assert ran.attributes["process.pid"] != ran.pid, "it ran in a worker, and this program has exported it"
    assert spans.one("submit twice").began <= ran.began <= ran.ended
    assert {span.service for span in spans.all} == {"program.py"}


def test_waits_in_cpp_are_spans_with_links_to_what_they_wait_for(from_python: Spans) -> None:
    spans = from_python
    inner = [span for span in spans.named("get relay") if spans.parent(span).name == "run twice"]
    (sent,) = [span for span in spans.named("submit relay") if spans.parent(span).name == "run twice"]
    assert [span.links for span in inner] == [[sent.id]]


def test_a_task_that_throws_is_a_failed_span(from_python: Spans) -> None:
    failed = from_python.one("run fails")
    assert failed.error == "std::runtime_error: no stock of 1.000000"
    assert failed.attributes["error.type"] == "std::runtime_error"
    assert failed.events == ["exception"]
    assert [span.name for span in from_python.all if span.error and span is not failed] == ["get fails"]


PRINTED = "41\ntask 'fails' failed with std::runtime_error: no stock of 1.000000\n12\n"


def test_a_cpp_programs_calls_are_spans_of_the_trace_of_its_environment(built: Path, collector: Collector) -> None:
    traced = {"FRAY_OTEL": "1", "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
    assert run_program(built, TRACEPARENT=f"00-{TRACE}-{PARENT}-01", **traced) == PRINTED
    spans = Spans(collector.spans)
    assert {span.trace for span in spans.all} == {TRACE}
    assert {span.service for span in spans.all} == {"relay"}
    first = [span for span in spans.named("submit relay") if span.parent == PARENT]
    assert [span.kind for span in first] == ["producer"]
    assert {span.name for span in spans.all if span.parent == PARENT} == {
        "submit relay", "submit fails", "create Shop", "call Shop.buy", "get relay", "get fails", "get Shop.buy"
    }  # fmt: skip
    lines = [spans.line_of(span, PARENT) for span in spans.named("run leaf")]
    assert sorted(lines) == [
        ["run leaf", "submit leaf", "run relay", "submit relay"],
        ["run leaf", "submit leaf", "run relay", "submit relay", "run Shop.buy", "call Shop.buy"],
    ]


@pytest.mark.parametrize(
    "trace",
    ["", f"00-{'0' * 32}-{PARENT}-01", f"00-{TRACE.upper()}-{PARENT}-01", "00-short-01"],
    ids=["none", "zeros", "capitals", "short"],
)
def test_a_cpp_program_without_a_trace_around_it_begins_its_own(built: Path, collector: Collector, trace: str) -> None:
    traced = {"FRAY_OTEL": "1", "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "TRACEPARENT": trace}
    assert run_program(built, **traced) == PRINTED
    spans = Spans(collector.spans)
    roots = [span.name for span in spans.all if not span.parent]
    assert sorted(roots) == [
        "call Shop.buy", "create Shop", "get Shop.buy", "get fails", "get relay", "submit fails", "submit relay"
    ]  # fmt: skip
    assert TRACE not in {span.trace for span in spans.all}
    assert ["run leaf", "submit leaf", "run relay", "submit relay"] in parents(spans, "run leaf")


@pytest.mark.parametrize(
    "variables",
    [{"FRAY_OTEL": "0"}, {"FRAY_OTEL": "1", "TRACEPARENT": f"00-{TRACE}-{PARENT}-00"}],
    ids=["off", "not sampled"],
)
def test_a_cpp_program_makes_no_spans_where_nobody_wants_them(
    built: Path, collector: Collector, variables: dict[str, str]
) -> None:
    asked = {"TRACEPARENT": f"00-{TRACE}-{PARENT}-01", "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, **variables}
    assert run_program(built, **asked) == PRINTED
    assert collector.spans == []


KILLED = """
import os, signal, fray


def main():
    ctx = fray.init(cpus=1)
    os.kill(ctx.get(ctx.run(fray.cpp(LIBRARY).function("own_pid"))), signal.SIGKILL)
    print("killed")


if __name__ == "__main__":
    main()
"""


def test_what_ran_in_a_cpp_worker_that_was_killed_since_is_exported(built: Path, traced: Callable[..., Spans]) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    spans = traced(KILLED.replace("LIBRARY", repr(str(built / "librelay.so"))), PYTHONPATH=str(built), PATH=path)
    assert spans.output == "killed\n"
    assert spans.line("run own_pid") == ["run own_pid", "submit own_pid"]
