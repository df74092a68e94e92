"""The page that `fray.report` writes; how it looks is tested in tests/browser."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import fray
import pytest
from fray.backend.native import NativeJobContext


@pytest.fixture
def ctx() -> Iterator[NativeJobContext]:
    with NativeJobContext(cpus=2, max_workers=1) as context:
        yield context


def burn(seconds: float) -> bytes:
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
    return b"x" * 100_000


def nap(seconds: float) -> None:
    time.sleep(seconds)


def grow(mebibytes: int) -> int:
    return len(bytearray(mebibytes << 20))


def fail(text: str) -> None:
    raise ValueError(text)


def die() -> None:
    import os

    os._exit(3)


def args_of(ctx: NativeJobContext, name: str) -> list[dict[str, float]]:
    return [event["args"] for event in ctx.engine.timeline_events() if event["name"] == name]


def test_cpu_time_is_that_of_the_task_and_not_the_time_it_took(ctx: NativeJobContext) -> None:
    for _ in range(2):  # the first time it includes the import of this module
        ctx.get([ctx.run(burn, 0.05), ctx.run(nap, 0.05)])
    assert args_of(ctx, "burn")[-1]["cpu_ms"] >= 50
    assert args_of(ctx, "nap")[-1]["cpu_ms"] < 40


def test_peak_memory_is_that_of_the_task_and_not_of_an_earlier_one(ctx: NativeJobContext) -> None:
    for mebibytes in (200, 1):
        ctx.get(ctx.run(grow, mebibytes))
    large, small = (args["peak_memory_bytes"] for args in args_of(ctx, "grow"))
    assert large - small > 150 << 20


def test_bytes_in_and_out_count_shared_memory_too(ctx: NativeJobContext) -> None:
    import numpy

    array = numpy.zeros(1_000_000)

    def double(values: numpy.ndarray) -> numpy.ndarray:
        return values * 2

    ctx.get(ctx.create_task(double, (ctx.put(array),), options=fray.TaskOptions(name="double")))
    (args,) = args_of(ctx, "double")
    assert 8_000_000 <= args["bytes_in"] < 8_100_000
    assert 8_000_000 <= args["bytes_out"] < 8_100_000


def test_short_tasks_are_not_slowed_down_by_measuring(ctx: NativeJobContext) -> None:
    ctx.get([ctx.run(pow, 2, number) for number in range(200)])
    unmeasured = [args for args in args_of(ctx, "pow") if "cpu_ms" not in args]
    assert len(unmeasured) > 100


def test_a_report_has_the_tasks_and_their_failures(ctx: NativeJobContext, tmp_path: Path) -> None:
    options = fray.TaskOptions(max_retries=0)
    refs = [ctx.run(burn, 0.01), ctx.run(fail, "<b>no good</b>"), ctx.create_task(die, options=options)]
    ctx.wait(refs, len(refs))
    path = tmp_path / "report.html"
    assert fray.report(path, context=ctx) == 2
    text = path.read_text()
    assert "&lt;b&gt;no good&lt;/b&gt;" in text
    assert "<b>no good" not in text
    assert "exited with code 3" in text
    assert "burn" in text
    assert list(tmp_path.iterdir()) == [path]


def test_a_report_asks_the_network_for_nothing(ctx: NativeJobContext, tmp_path: Path) -> None:
    ctx.get(ctx.run(pow, 2, 3))
    fray.report(tmp_path / "report.html", context=ctx)
    text = (tmp_path / "report.html").read_text()
    assert not re.findall(r"<(?:script|img|link|iframe)[^>]*(?:src|href)=", text)
    assert "default-src 'none'" in text


def test_a_report_without_tasks_says_so(ctx: NativeJobContext, tmp_path: Path) -> None:
    assert fray.report(tmp_path / "report.html", context=ctx) == 0
    assert "No task has run." in (tmp_path / "report.html").read_text()


def test_contexts_in_this_process_can_be_reported(tmp_path: Path) -> None:
    context = fray.LocalJobContext()
    context.get(context.run(pow, 2, 3))
    assert fray.report(tmp_path / "report.html", context=context) == 1


def test_a_folder_that_is_not_there_leaves_nothing(ctx: NativeJobContext, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        fray.report(tmp_path / "nowhere" / "report.html", context=ctx)
    assert list(tmp_path.iterdir()) == []


def test_without_plotly_it_says_what_to_install(
    ctx: NativeJobContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(fray.UnsupportedError, match=r"fray\[report\]"):
        fray.report(tmp_path / "report.html", context=ctx)
    assert list(tmp_path.iterdir()) == []
