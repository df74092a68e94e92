"""The figures behind `fray.report`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fray._report.summary import TaskRun, merge_segments, occupancy, runs_of, summarize


def run(name: str = "f", start: float = 0.0, seconds: float = 1.0, lane: str = "worker 1", **more: Any) -> TaskRun:
    plain = TaskRun(name, lane, start, seconds, "succeeded", None, None, 0, 0, "")
    return replace(plain, **more)


def event(ts: float, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "name": "f", "ts": ts, "dur": 2e6, "pid": 7, "tid": 7, "args": args}


def test_runs_start_at_the_first_task_and_keep_what_was_measured() -> None:
    events = [
        {"ph": "M", "name": "process_name", "pid": 7},
        event(5e6, status="failed", cpu_ms=1500.0, peak_memory_bytes=8, bytes_in=3, bytes_out=4, error="no"),
        event(3e6, status="succeeded"),
    ]
    first, second = runs_of(events)
    assert (first.start, first.cpu_seconds, first.peak_memory) == (0.0, None, None)
    assert (second.start, second.seconds, second.end, second.lane) == (2.0, 2.0, 4.0, "worker 7")
    assert (second.status, second.cpu_seconds, second.peak_memory) == ("failed", 1.5, 8)
    assert (second.bytes_in, second.bytes_out, second.error) == (3, 4, "no")


def test_no_task_is_no_run() -> None:
    assert runs_of([]) == []
    assert occupancy([], 10) == ([], [], [])
    assert summarize([]) == []


def test_a_summary_adds_up_what_was_measured_and_says_what_was_not() -> None:
    runs = [
        run(seconds=1.0, cpu_seconds=0.5, peak_memory=10, bytes_in=1),
        run(seconds=3.0, cpu_seconds=2.5, peak_memory=30, bytes_out=2, status="failed"),
        run("g", seconds=0.5),
        run("h", seconds=0.0001),
    ]
    f, g, h = summarize(runs)
    assert (f.name, f.count, f.failed, f.seconds, f.mean_seconds, f.max_seconds) == ("f", 2, 1, 4.0, 2.0, 3.0)
    assert (f.cpu_seconds, f.cpu_is_whole, f.peak_memory, f.bytes_in, f.bytes_out) == (3.0, True, 30, 1, 2)
    assert (g.cpu_seconds, g.cpu_is_whole, g.peak_memory) == (0, False, None)
    assert (h.cpu_seconds, h.cpu_is_whole) == (0.0001, True)


def test_p95_leaves_the_slowest_twentieth_out() -> None:
    (summary,) = summarize([run(seconds=float(number)) for number in range(1, 101)])
    assert summary.p95_seconds == 96.0


def test_neighbours_of_one_name_become_one_segment() -> None:
    runs = [run(start=0, seconds=1), run(start=1.05, seconds=1), run("g", start=2.1, seconds=1)]
    runs += [run(start=0, seconds=1, lane="worker 2"), run(start=9, seconds=1)]
    segments = merge_segments(runs, resolution=0.1)
    assert [(s.name, s.lane, s.start, s.tasks) for s in segments] == [
        ("f", "worker 1", 0, 2),
        ("f", "worker 2", 0, 1),
        ("g", "worker 1", 2.1, 1),
        ("f", "worker 1", 9, 1),
    ]
    assert segments[0].end == pytest.approx(2.05)


def test_segments_do_not_grow_with_the_number_of_tasks() -> None:
    runs = [run(start=number * 1e-4, seconds=1e-4) for number in range(10_000)]
    assert len(merge_segments(runs, resolution=1 / 1600)) == 1


def test_occupancy_keeps_the_time_of_all_tasks() -> None:
    runs = [run(start=0, seconds=4, cpu_seconds=1.0), run(start=2, seconds=8, cpu_seconds=16.0)]
    middles, running, busy = occupancy(runs, 7)
    width = 10 / 7
    assert len(middles) == 7
    assert sum(running) * width == pytest.approx(12)
    assert sum(busy) * width == pytest.approx(17)
