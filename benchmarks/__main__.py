"""``python -m benchmarks [--out FILE]``: run the rows and write the report; README.md says what can be set."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.machine import describe_machine
from benchmarks.processes import cpu_seconds, processes_of
from benchmarks.registry import select
from benchmarks.report import report_as_json, row_as_json, write_report
from benchmarks.row import Row
from benchmarks.runner import RowResult, run_row
from benchmarks.settings import Settings, read_settings
from benchmarks.shared_ray import SharedRay
from benchmarks.table import further_figures, number, text_table

_IDLE_PROBE_SECONDS = 3.0


def needs_ray(row: Row, settings: Settings) -> bool:
    """Return whether a peer of the row runs on the Ray that all rows share."""
    return any(row.uses_ray(peer) for peer in row.peers_to_run(settings))


def start_ray(logs: Path, run: dict[str, Any]) -> SharedRay | None:
    """Start Ray, and note how much it uses while idle; None, with a note, where there is none."""
    if importlib.util.find_spec("ray") is None:
        run["notes"].append("Ray is not installed: its column is absent")
        return None
    try:
        ray = SharedRay(logs / "ray_head.log")
    except RuntimeError as error:
        run["failures"].append(str(error))
        return None
    time.sleep(_IDLE_PROBE_SECONDS)
    pids = processes_of(ray.pid, f"{ray.pid} has no mark")
    before = cpu_seconds(pids)
    time.sleep(_IDLE_PROBE_SECONDS)
    run["idle_ray_cpu_percent"] = 100 * (cpu_seconds(pids) - before) / _IDLE_PROBE_SECONDS
    return ray


def run_rows(rows: list[Row], settings: Settings, out: Path) -> int:
    """Run all, writing the report after each row; return the exit code.

    Rows that need no Ray run first: an idle Ray takes a tenth of a core from whatever runs beside it.
    """
    logs = out.parent / "log" / "bench"
    machine = describe_machine()
    run = {"rounds": settings.rounds, "quick": settings.quick, "fray_context": settings.fray_context}
    run |= {"notes": [], "failures": []}
    results: list[RowResult] = []

    def measure(row: Row, ray: SharedRay | None) -> None:
        peers = [peer for peer in row.peers_to_run(settings) if ray is not None or not row.uses_ray(peer)]
        start = time.monotonic()
        results.append(run_row(row, peers, settings, logs, ray.address if ray else None))
        print_progress(results[-1], time.monotonic() - start)
        results.sort(key=lambda result: rows.index(result.row))
        run["load_1m_at_end"] = os.getloadavg()[0]
        write_report(report_as_json(machine, run, results), out)

    with ExitStack() as closing:
        beside_ray = [row for row in rows if needs_ray(row, settings)]
        for row in rows:
            if row not in beside_ray:
                measure(row, None)
        ray = start_ray(logs, run) if beside_ray else None
        if ray is not None:
            closing.callback(ray.close)
        for row in beside_ray:
            measure(row, ray)
    print("\n" + text_table([row_as_json(result) for result in results]))
    for line in (*run["notes"], *run["failures"]):
        print(line)
    print(f"The report is in {out}")
    return 1 if run["failures"] or any(result.errors for result in results) else 0


def print_progress(result: RowResult, seconds: float) -> None:
    """Print one row as soon as it is there."""
    values = [f"{peer} {number(summary.value.median)}" for peer, summary in result.peers.items()]
    values += [f"{peer} FAILED ({error})" for peer, error in result.errors.items()]
    print(f"{result.row.name} [{result.row.unit}]: {', '.join(values)}  ({seconds:.0f} s)", flush=True)
    for peer, figures in further_figures(row_as_json(result)).items():
        print(f"    {peer}: {figures}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measures Fray beside its peers.")
    parser.add_argument("--out", type=Path, default=Path("build/bench.json"), help="the report (build/bench.json)")
    parser.add_argument("--list", action="store_true", help="print the rows and what is asked of them instead")
    options = parser.parse_args()
    try:
        settings = read_settings()
        rows = [row for row in select(settings.only) if row.peers_to_run(settings)]
    except ValueError as error:
        parser.error(str(error))
    if options.list:
        for row in rows:
            asked = "; ".join(target.text() for target in row.targets)
            print(f"{row.name} [{row.unit}, {row.better} is better]: {row.payload}{f' ({asked})' if asked else ''}")
        return 0
    return run_rows(rows, settings, options.out)


if __name__ == "__main__":
    sys.exit(main())
