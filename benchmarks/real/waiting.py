"""Sixty-four calls that wait at the same time."""

from __future__ import annotations

import time

from benchmarks.real.program import RealProgram
from benchmarks.real.tools import Tools

WAITERS = 64


def wait(milliseconds: int) -> int:
    time.sleep(milliseconds / 1e3)
    return milliseconds


def waiting(tools: Tools, milliseconds: int) -> int:
    return sum(tools.get([tools.submit_waiting(wait, milliseconds) for _ in range(WAITERS)]))


PROGRAMS = (RealProgram("waiting", "64 calls sleep 0.3 s", int, waiting, 300, 10, ("fray", "ray", "pool", "joblib")),)
