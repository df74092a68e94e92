"""Blocks that tasks make and the driver reads, one after the other."""

from __future__ import annotations

from typing import Any

from benchmarks.real.program import RealProgram, after_importing
from benchmarks.real.tools import Tools

_BLOCKS = 64
_AHEAD = 4


def make_block(number_and_size: tuple[int, int]) -> Any:
    import numpy

    number, size = number_and_size
    return numpy.full(size, number, dtype=numpy.int64)


def stream(tools: Tools, size: int) -> int:
    blocks = tools.stream(make_block, [(number, size) for number in range(_BLOCKS)], _AHEAD)
    return sum(int(block[:: 1 << 9].sum()) for block in blocks)


PROGRAMS = (
    RealProgram(
        "stream",
        "64 blocks of 32 MiB, 4 ahead",
        after_importing("numpy"),
        stream,
        4 << 20,
        1000,
        ("fray", "ray", "pool", "joblib"),
    ),
)
