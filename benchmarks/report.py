"""bench.json: the whole run as data."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.runner import RowResult
from benchmarks.target import advantage


def row_as_json(result: RowResult) -> dict[str, Any]:
    """Return a row: a peer that was not measured is absent, one that failed is in "errors".

    "targets" has what is asked and "met": true, false, or null where a peer that it needs is absent. "advantage" says
    how many times better than each peer Fray is.
    """
    row = result.row
    others = [peer for peer in result.peers if peer != "fray"]
    advantages = {peer: advantage(result.peers, peer, row.better) for peer in others}
    return {
        "name": row.name,
        "unit": row.unit,
        "better": row.better,
        "payload": row.payload,
        **{peer: summary.as_json() for peer, summary in result.peers.items()},
        "advantage": {peer: factor for peer, factor in advantages.items() if factor is not None},
        "targets": [{"asked": t.text(), "met": t.met(result.peers, row.better)} for t in row.targets],
        "errors": result.errors,
    }


def report_as_json(machine: dict[str, Any], run: dict[str, Any], results: Sequence[RowResult]) -> dict[str, Any]:
    """Return the whole report.

    Args:
        machine: as `describe_machine` gives it.
        run: how the run was made: rounds, sizes, notes.
        results: of the rows so far.
    """
    return {"machine": machine, "run": run, "rows": [row_as_json(result) for result in results]}


def write_report(report: dict[str, Any], path: Path) -> None:
    """Write the report in one step, so that a reader never sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.write_text(json.dumps(report, indent=1) + "\n")
    draft.replace(path)
