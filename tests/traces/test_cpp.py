"""The trace of a caller goes through C++ code, which makes no spans itself."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cpp.conftest import compile_cpp
from tests.traces.conftest import Collector, Spans, plain_environment

SOURCE = Path(__file__).parent / "programs" / "relay.cc"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
LEAF = "def leaf(number):\n    return number * 2\n"


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
    return done.stdout


def test_trace_of_a_python_caller_goes_through_a_cpp_task(traced: Callable[..., Spans], built: Path) -> None:
    spans = traced(
        "import fray\n"
        "if __name__ == '__main__':\n"
        f"    ctx = fray.init(cpus=2)\n"
        f"    print(ctx.get(ctx.run(fray.cpp({str(built / 'librelay.so')!r}).function('relay'), 4.5)))\n",
        PYTHONPATH=str(built),
        PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    )
    assert spans.output == "9.0\n"
    assert spans.line("run leaf") == ["run leaf", "submit relay"]


def test_cpp_program_passes_on_the_trace_of_its_environment(built: Path, collector: Collector) -> None:
    traced = {"FRAY_OTEL": "1", "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
    assert run_program(built, TRACEPARENT=f"00-{TRACE}-{PARENT}-01", **traced) == "41\n"
    span = Spans(collector.spans).one("run leaf")
    assert (span.trace, span.parent) == (TRACE, PARENT)


@pytest.mark.parametrize(
    "variables",
    [
        {"FRAY_OTEL": "0", "TRACEPARENT": f"00-{TRACE}-{PARENT}-01"},
        {"FRAY_OTEL": "1", "TRACEPARENT": f"00-{'0' * 32}-{PARENT}-01"},
        {"FRAY_OTEL": "1", "TRACEPARENT": f"00-{TRACE.upper()}-{PARENT}-01"},
        {"FRAY_OTEL": "1", "TRACEPARENT": "00-short-01"},
    ],
    ids=["off", "no trace", "capitals", "short"],
)
def test_cpp_program_passes_on_nothing_that_is_no_trace(
    built: Path, collector: Collector, variables: dict[str, str]
) -> None:
    assert run_program(built, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, **variables) == "41\n"
    assert collector.spans == []
