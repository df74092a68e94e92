"""``python -m benchmarks.fill_page BENCH_JSON... PAGE``: put tables of runs between the marks of a Markdown page."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from benchmarks.table import failure_lines, further_figures, markdown_table

START, END = "<!-- bench: start -->", "<!-- bench: end -->"


def filled(page: str, *reports: dict[str, Any]) -> str:
    """Return the page with the runs between its marks, each with its conditions.

    Raises:
        ValueError: the page lacks the marks.
    """
    pattern = re.compile(f"{re.escape(START)}.*?{re.escape(END)}", re.DOTALL)
    sections = "\n\n".join(_section(report) for report in reports)
    text = f"{START}\n{sections}\n{END}"
    page, count = pattern.subn(lambda _: text, page)
    if count != 1:
        raise ValueError(f"the page must have {START} and {END} once, in this order")
    return page


def _section(report: dict[str, Any]) -> str:
    machine, run, rows = report["machine"], report["run"], report["rows"]
    figures = [f"- `{row['name']}`, {peer}: {text}" for row in rows for peer, text in further_figures(row).items()]
    parts = [_conditions(machine, run), markdown_table(rows), "Further figures, medians of the rounds:"]
    return "\n\n".join([*parts, "\n".join(figures), "\n".join(failure_lines(rows))]).rstrip()


def _conditions(machine: dict[str, Any], run: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items() if version)
    text = (
        f"{machine['date']}: {machine['cpus']} CPUs ({machine['cpu']}), {machine['memory_bytes'] / 2**30:.0f} GiB, "
        f"Linux {machine['kernel']}, Python {machine['python']}, {versions}; {run['rounds']} rounds unless a row says "
        f"otherwise; load {machine['load_1m_at_start']:.1f} before the run."
    )
    return text + (" A quick run with tiny sizes: the figures mean little." if run["quick"] else "")


def main(args: list[str]) -> int:
    if len(args) < 2:
        print("usage: python -m benchmarks.fill_page BENCH_JSON... PAGE", file=sys.stderr)
        return 2
    reports, page = [json.loads(Path(arg).read_text()) for arg in args[:-1]], Path(args[-1])
    page.write_text(filled(page.read_text(), *reports))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
