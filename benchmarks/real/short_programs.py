"""Programs that start, share a little work and end."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.real.program import RealProgram
from benchmarks.real.tools import Tools


def short_programs(tools: Tools, turns: int) -> str:
    command = [sys.executable, "-m", "benchmarks.programs.short", tools.peer, tools.kind, str(turns)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


PROGRAMS = (
    RealProgram(
        "short",
        "a program of 16 calls, from start to end",
        int,
        short_programs,
        200_000,
        200,
        ("fray", "pool", "joblib"),
    ),
)
