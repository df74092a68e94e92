"""From nothing to the first result, in a fresh process each time."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.measurement import Measurement
from benchmarks.program import Program
from benchmarks.row import Round, Row
from benchmarks.target import AtMost
from benchmarks.timing import seconds_of

_STEPS = ("import", "init", "run", "get")
_IMPORTS = {"fray": "fray", "ray": "ray", "pool": "multiprocessing.pool"}


def first_result(bench: Bench) -> Round:
    """Milliseconds from the import to the printed result of the first task."""

    def one_round() -> Measurement:
        with Program(f"hello_{bench.peer}") as program:
            program.answer()
            whole = float(program.answer()) * 1e3
            steps = program.answer().split() if bench.peer == "fray" else []
            return Measurement(
                whole, {f"{name}_ms": float(step) * 1e3 for name, step in zip(_STEPS, steps, strict=False)}
            )

    return one_round


def import_time(bench: Bench) -> Round:
    """Milliseconds of the import alone."""
    module = _IMPORTS[bench.peer]
    code = f"import time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"
    command = [sys.executable, "-c", code]
    return lambda: Measurement(float(subprocess.run(command, check=True, capture_output=True).stdout) * 1e3)


def cli_start(bench: Bench) -> Round:
    """Milliseconds that the command line takes to say what it can do."""
    command = [find_command(bench.peer), "--help"]
    return lambda: Measurement(seconds_of(partial(subprocess.run, command, check=True, capture_output=True)) * 1e3)


def find_command(name: str) -> str:
    """Return the path of a command, in PATH or beside this Python.

    Raises:
        FileNotFoundError: it is in neither.
    """
    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        raise FileNotFoundError(f"the command {name} is neither in PATH nor beside {sys.executable}")
    return found


def true_start(bench: Bench) -> Round:
    """Milliseconds from the start to the end of a program that does nothing."""
    del bench
    command = [find_command("true")]
    return lambda: Measurement(seconds_of(subprocess.run, command) * 1e3)


def bare_start(bench: Bench) -> Round:
    """Milliseconds from the start to the end of a Python that does nothing."""
    del bench
    command = [sys.executable, "-S", "-E", "-c", "pass"]
    return lambda: Measurement(seconds_of(subprocess.run, command) * 1e3)


ROWS = (
    Row(
        "first_result",
        "ms",
        "lower",
        "fresh process, from import to the printed result; p90 over the runs",
        first_result,
        peers=("fray", "ray", "pool", "joblib"),
        limit=bare_start,
        targets=(AtMost(100), AtMost(300, "p90")),
        rounds={"fray": 20, "ray": 3, "pool": 20, "joblib": 20, "limit": 20},
    ),
    Row(
        "import_time",
        "ms",
        "lower",
        "fresh process, the import alone",
        import_time,
        peers=("fray", "ray", "pool"),
        limit=bare_start,
        targets=(AtMost(60),),
        rounds={"fray": 20, "ray": 5, "pool": 20, "limit": 20},
    ),
    Row(
        "cli_start",
        "ms",
        "lower",
        "`fray --help` and `ray --help`, from start to end",
        cli_start,
        limit=true_start,
        targets=(AtMost(15),),
        rounds={"fray": 20, "ray": 3, "limit": 20},
    ),
)
