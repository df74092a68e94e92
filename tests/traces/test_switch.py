"""Who asks for traces gets them; who does not pays nothing; what cannot be exported harms nobody."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from tests.slowness import SLOWNESS
from tests.traces.conftest import Collector, Run, Spans

OTHERS_SECONDS = 10 * SLOWNESS
"""What a program without traces may take, on a machine with much to do."""

PROGRAM = """
import os
import sys
import fray


def loaded():
    return any(name.startswith("opentelemetry") for name in sys.modules)


def main():
    ctx = fray.init(cpus=1, **SETTINGS)
    print(ctx.get(ctx.run(loaded)), loaded())


if __name__ == "__main__":
    main()
"""


def program(settings: str = "{}") -> str:
    return PROGRAM.replace("SETTINGS", settings)


def test_program_that_is_not_traced_loads_nothing_of_opentelemetry(run: Run, collector: Collector) -> None:
    for variables in ({}, {"FRAY_OTEL": "0"}, {"FRAY_OTEL": "off"}):
        done = run(program(), OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, **variables)
        assert (done.stdout, done.stderr) == ("False False\n", "")
    done = run(program("{'tracing': False}"), OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, FRAY_OTEL="1")
    assert done.stdout.split()[1] == "False"
    assert collector.spans == []


def test_program_asks_for_traces_itself(run: Run, collector: Collector) -> None:
    done = run(program("{'tracing': True}"), OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, OTEL_SERVICE_NAME="shop")
    assert (done.stdout, done.stderr) == ("True True\n", "")
    spans = Spans(collector.spans)
    assert spans.line("run loaded") == ["run loaded", "submit loaded"]
    assert {span.service for span in spans.all} == {"shop"}


def test_without_opentelemetry_one_sentence_is_said_and_the_program_goes_on(run: Run) -> None:
    hidden = "import sys\nsys.modules['opentelemetry'] = None\n" + program()
    done = run(hidden, FRAY_OTEL="1")
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert "fray: nothing is traced" in done.stderr
    assert "pip install 'fray[otel]'" in done.stderr


@contextmanager
def nobody() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{free.getsockname()[1]}"


@contextmanager
def silent() -> Iterator[str]:
    """The address of a collector that takes connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("collector_of", [nobody, silent])
def test_collector_that_is_away_costs_a_sentence_and_seconds_at_most(
    run: Run, collector_of: Callable[[], AbstractContextManager[str]]
) -> None:
    with collector_of() as address:
        began = time.monotonic()
        done = run(program(), FRAY_OTEL="1", OTEL_EXPORTER_OTLP_ENDPOINT=address)
    assert done.returncode == 0
    assert time.monotonic() - began < 10 + OTHERS_SECONDS
    assert done.stdout == "True True\n"
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"fray: spans cannot be exported to {address}: ")


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"OTEL_TRACES_EXPORTER": "pigeon"}, "no package that is installed has the exporter 'pigeon'; known: "),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "smoke"}, "no package that is installed has the exporter 'smoke'"),
        ({"OTEL_TRACES_EXPORTER": "none"}, ""),
        ({"OTEL_SDK_DISABLED": "true"}, ""),
    ],
    ids=["exporter", "protocol", "none", "disabled"],
)
def test_variables_of_opentelemetry_are_heeded(run: Run, variables: dict[str, str], words: str) -> None:
    done = run(program(), FRAY_OTEL="1", **variables)
    assert done.returncode == 0
    assert words in done.stderr
    assert done.stderr.count("\n") == (1 if words else 0)


TWICE = """
import fray


def step(number):
    return number


def main():
    for number, settings in enumerate(({"tracing": True}, {"tracing": False}, {"tracing": True}, {})):
        ctx = fray.init(cpus=1, **settings)
        assert ctx.get(ctx.run(step, number, name=f"step {number}")) == number
        fray.shutdown()


if __name__ == "__main__":
    main()
"""


def test_each_context_switches_traces_on_or_off_and_else_they_stay_as_they_were(run: Run, collector: Collector) -> None:
    done = run(TWICE, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
    assert (done.returncode, done.stderr) == (0, "")
    assert [f"run step {number}" in {span.name for span in collector.spans} for number in range(4)] == [
        True,
        False,
        True,
        True,
    ]
