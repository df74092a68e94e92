"""Programs that start, share a little work and end; what is in their scripts is in no module."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.real.program import RealProgram
from benchmarks.real.tools import Tools


def short_programs(tools: Tools, turns: int) -> str:
    return _run("short", tools, turns)


def records(tools: Tools, count: int) -> str:
    return _run("records", tools, count)


def state(tools: Tools, count: int) -> str:
    return _run("state", tools, count)


def settings(tools: Tools, count: int) -> str:
    return _run("settings", tools, count)


def steps(tools: Tools, count: int) -> str:
    return _run("steps", tools, count)


def _run(name: str, tools: Tools, size: int) -> str:
    command = [sys.executable, "-m", f"benchmarks.programs.{name}", tools.peer, tools.kind, str(size)]
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
    RealProgram(
        "records",
        "3,000 calls with objects of a class of the script",
        int,
        records,
        3_000,
        50,
        ("fray", "pool", "joblib"),
    ),
    RealProgram(
        "state",
        "660 calls that read an array, a list and a dict of the script",
        int,
        state,
        600,
        50,
        ("fray", "pool", "joblib"),
    ),
    RealProgram(
        "settings",
        "2,000 calls of a function and a class that read one dict of the script",
        int,
        settings,
        2_000,
        50,
        ("fray", "pool", "joblib"),
    ),
    RealProgram(
        "steps",
        "20 maps, each of another partial object of a function that reads an array and a list of the script",
        int,
        steps,
        20,
        2,
        ("fray", "pool", "joblib"),
    ),
)
