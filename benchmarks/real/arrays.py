"""Arrays that pass from task to task: a shuffle and a tree."""

from __future__ import annotations

from typing import Any

from benchmarks.real.program import RealProgram
from benchmarks.real.tools import Tools

_PARTS = 4


def split(part: int, count: int) -> list[Any]:
    """Return random numbers, split by where they belong."""
    import numpy

    numbers = numpy.random.default_rng(part).integers(0, _PARTS << 24, count, dtype=numpy.int64)
    return [numbers[numbers >> 24 == place] for place in range(_PARTS)]


def merge(place: int, *parts: list[Any]) -> tuple[int, int]:
    import numpy

    ordered = numpy.sort(numpy.concatenate([part[place] for part in parts]))
    return len(ordered), int(ordered[:: max(len(ordered) // 100, 1)].sum())


def shuffle(tools: Tools, count: int) -> Any:
    parts = [tools.submit(split, part, count // _PARTS) for part in range(_PARTS)]
    return tools.get([tools.submit(merge, place, *parts) for place in range(_PARTS)])


def leaf(number: int) -> Any:
    import numpy

    return numpy.full(1_000, number, dtype=numpy.int64)


def add(first: Any, second: Any) -> Any:
    return first + second


def tree(tools: Tools, leaves: int) -> int:
    level = [tools.submit(leaf, number) for number in range(leaves)]
    while len(level) > 1:
        level = [tools.submit(add, level[at], level[at + 1]) for at in range(0, len(level), 2)]
    return int(tools.get(level)[0].sum())


PROGRAMS = (
    RealProgram("shuffle", "20 M numbers, sorted", int, shuffle, 20_000_000, 4_000, ("fray", "ray", "pool", "joblib")),
    RealProgram(
        "tree", "4,096 arrays of 8 KB, added in pairs", int, tree, 4096, 16, ("fray", "ray", "pool", "joblib", "dask")
    ),
)
