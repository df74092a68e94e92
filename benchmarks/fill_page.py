"""``python -m benchmarks.fill_page BENCH_JSON PAGE...``: put a run between the marks of Markdown pages.

A page has one of two pairs of marks: `RUN` gets the whole table with its further figures, `BESIDE` a few rows beside
other libraries, for readers who want to know no more.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.table import failure_lines, further_figures, markdown_table, number


@dataclass(frozen=True)
class Marks:
    """Where something is put."""

    start: str
    end: str


RUN = Marks("<!-- bench: start -->", "<!-- bench: end -->")
BESIDE = Marks("<!-- bench beside: start -->", "<!-- bench beside: end -->")

_PEERS = {"fray": "Fray", "ray": "Ray", "pool": "Pool", "joblib": "joblib"}
_ROWS = {
    "tasks_sync": "tasks a second, one at a time",
    "tasks_async": "tasks a second, a thousand in flight",
    "actor_sync": "calls of an actor a second, one at a time",
    "get_10k_refs": "gets a second of an object with 10,000 refs in it",
    "put_800mb": "GB a second when an array of 800 MB is put",
    "first_result": "ms from the import to the first result",
    "idle_memory": "MB of memory while nothing runs",
}


def filled(page: str, report: dict[str, Any]) -> str:
    """Return the page with the run between its marks, with its conditions.

    Raises:
        ValueError: the page lacks the marks.
    """
    found = [(marks, write) for marks, write in _WRITERS.items() if marks.start in page]
    if len(found) != 1:
        raise ValueError(f"the page must have {RUN.start} and {RUN.end}, or {BESIDE.start} and {BESIDE.end}, once")
    ((marks, write),) = found
    pattern = re.compile(f"{re.escape(marks.start)}.*?{re.escape(marks.end)}", re.DOTALL)
    text = f"{marks.start}\n{write(report)}\n{marks.end}"
    page, count = pattern.subn(lambda _: text, page)
    if count != 1:
        raise ValueError(f"the page must have {marks.start} and {marks.end} once, in this order")
    return page


def _run(report: dict[str, Any]) -> str:
    machine, run, rows = report["machine"], report["run"], report["rows"]
    figures = [f"- `{row['name']}`, {peer}: {text}" for row in rows for peer, text in further_figures(row).items()]
    parts = [_conditions(machine, run), markdown_table(rows), "Further figures, medians of the rounds:"]
    return "\n\n".join([*parts, "\n".join(figures), "\n".join(failure_lines(rows))]).rstrip()


def _beside(report: dict[str, Any]) -> str:
    lines = [["", *_PEERS.values()], ["---"] * (1 + len(_PEERS))]
    for row in report["rows"]:
        if title := _ROWS.get(row["name"]):
            lines.append([title, *(number(row[peer]["median"]) if peer in row else "" for peer in _PEERS)])
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"{table}\n\n{_conditions(report['machine'], report['run'])}"


def _conditions(machine: dict[str, Any], run: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items() if version)
    text = (
        f"{machine['date']}: {machine['cpus']} CPUs ({machine['cpu']}), {machine['memory_bytes'] / 2**30:.0f} GiB, "
        f"Linux {machine['kernel']}, Python {machine['python']}, {versions}; {run['rounds']} rounds unless a row says "
        f"otherwise; load {machine['load_1m_at_start']:.1f} before the run."
    )
    return text + (" A quick run with tiny sizes: the figures mean little." if run["quick"] else "")


_WRITERS: dict[Marks, Callable[[dict[str, Any]], str]] = {RUN: _run, BESIDE: _beside}


def main(args: list[str]) -> int:
    if len(args) < 2:
        print("usage: python -m benchmarks.fill_page BENCH_JSON PAGE...", file=sys.stderr)
        return 2
    report = json.loads(Path(args[0]).read_text())
    for page in map(Path, args[1:]):
        page.write_text(filled(page.read_text(), report))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
