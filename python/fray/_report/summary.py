"""The figures behind a report, computed from the events of a timeline. No drawing here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["FunctionSummary", "Segment", "TaskRun", "merge_segments", "occupancy", "runs_of", "summarize"]

_UNMEASURED_SHORT_SECONDS = 0.0005
"""Tasks shorter than this are often not measured; nearly all of their time is computing."""


@dataclass(frozen=True)
class TaskRun:
    """One task that has run. A figure that was not measured is None."""

    name: str
    lane: str
    start: float
    """Seconds since the first task."""
    seconds: float
    status: str
    cpu_seconds: float | None
    peak_memory: int | None
    bytes_in: int
    bytes_out: int
    error: str

    @property
    def end(self) -> float:
        """Seconds since the first task."""
        return self.start + self.seconds


@dataclass(frozen=True)
class FunctionSummary:
    """All runs of tasks of one name."""

    name: str
    count: int
    failed: int
    seconds: float
    mean_seconds: float
    p95_seconds: float
    max_seconds: float
    cpu_seconds: float
    cpu_is_whole: bool
    """False where some longer tasks were not measured, so that `cpu_seconds` is a lower bound."""
    peak_memory: int | None
    bytes_in: int
    bytes_out: int


@dataclass(frozen=True)
class Segment:
    """A time span in which a lane ran tasks of one name, at the resolution of a picture."""

    name: str
    lane: str
    start: float
    end: float
    tasks: int


def runs_of(events: Iterable[Mapping[str, Any]]) -> list[TaskRun]:
    """Return the tasks among the events of a trace, the earliest first."""
    spans = sorted((event for event in events if event.get("ph") == "X"), key=lambda event: event["ts"])
    if not spans:
        return []
    origin = spans[0]["ts"]
    return [_run_of(span, origin) for span in spans]


def _run_of(span: Mapping[str, Any], origin: float) -> TaskRun:
    args = span.get("args", {})
    cpu_ms = args.get("cpu_ms")
    lane = f"worker {span['pid']}" if span["pid"] == span["tid"] else f"thread {span['tid']}"
    return TaskRun(
        name=span["name"],
        lane=lane,
        start=(span["ts"] - origin) / 1e6,
        seconds=span["dur"] / 1e6,
        status=args.get("status", "succeeded" if args.get("ok", True) else "failed"),
        cpu_seconds=None if cpu_ms is None else cpu_ms / 1e3,
        peak_memory=args.get("peak_memory_bytes"),
        bytes_in=args.get("bytes_in", 0),
        bytes_out=args.get("bytes_out", 0),
        error=args.get("error", ""),
    )


def summarize(runs: Iterable[TaskRun]) -> list[FunctionSummary]:
    """Return one summary for each name, the one that took the most time first."""
    by_name: dict[str, list[TaskRun]] = defaultdict(list)
    for run in runs:
        by_name[run.name].append(run)
    return sorted((_summary(name, group) for name, group in by_name.items()), key=lambda one: -one.seconds)


def _summary(name: str, runs: Sequence[TaskRun]) -> FunctionSummary:
    durations = sorted(run.seconds for run in runs)
    cpu = [_cpu_seconds(run) for run in runs]
    return FunctionSummary(
        name=name,
        count=len(runs),
        failed=sum(run.status != "succeeded" for run in runs),
        seconds=sum(durations),
        mean_seconds=sum(durations) / len(durations),
        p95_seconds=durations[min(len(durations) - 1, int(0.95 * len(durations)))],
        max_seconds=durations[-1],
        cpu_seconds=sum(seconds for seconds in cpu if seconds is not None),
        cpu_is_whole=None not in cpu,
        peak_memory=max((run.peak_memory for run in runs if run.peak_memory is not None), default=None),
        bytes_in=sum(run.bytes_in for run in runs),
        bytes_out=sum(run.bytes_out for run in runs),
    )


def _cpu_seconds(run: TaskRun) -> float | None:
    if run.cpu_seconds is None and run.seconds < _UNMEASURED_SHORT_SECONDS:
        return run.seconds
    return run.cpu_seconds


def merge_segments(runs: Iterable[TaskRun], resolution: float) -> list[Segment]:
    """Join tasks of one name that follow each other on a lane with less than `resolution` seconds between them.

    A picture of a fixed width looks the same, and its size does not grow with the number of tasks.
    """
    open_segments: dict[str, Segment] = {}
    done: list[Segment] = []
    for run in sorted(runs, key=lambda run: run.start):
        last = open_segments.get(run.lane)
        if last is not None and last.name == run.name and run.start - last.end < resolution:
            open_segments[run.lane] = Segment(last.name, last.lane, last.start, max(last.end, run.end), last.tasks + 1)
            continue
        if last is not None:
            done.append(last)
        open_segments[run.lane] = Segment(run.name, run.lane, run.start, run.end, 1)
    return sorted([*done, *open_segments.values()], key=lambda segment: segment.start)


def occupancy(runs: Sequence[TaskRun], bins: int) -> tuple[list[float], list[float], list[float]]:
    """Return the middles of `bins` time spans, and for each how many tasks ran and CPUs were busy on average."""
    end = max((run.end for run in runs), default=0.0)
    if end <= 0:
        return [], [], []
    width = end / bins
    running, busy = [0.0] * bins, [0.0] * bins
    for run in runs:
        cpu = _cpu_seconds(run)
        share = min(cpu / run.seconds, 1e3) if cpu is not None and run.seconds > 0 else 0.0
        first, last = int(run.start / width), min(bins - 1, int(run.end / width))
        for index in range(min(first, bins - 1), last + 1):
            overlap = min(run.end, (index + 1) * width) - max(run.start, index * width)
            running[index] += max(overlap, 0.0) / width
            busy[index] += share * max(overlap, 0.0) / width
    return [(index + 0.5) * width for index in range(bins)], running, busy
