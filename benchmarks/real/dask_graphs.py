"""Dask's collections: a bag, an array, a graph of delayed calls and a frame."""

from __future__ import annotations

from typing import Any

from benchmarks.real.program import RealProgram
from benchmarks.real.tools import Tools

_PARTITIONS = 8


def words_of(number: int) -> list[str]:
    return [f"w{(number * 31 + step * step) % 997}" for step in range(200)]


def is_even(word: str) -> bool:
    return int(word[1:]) % 2 == 0


def bag(tools: Tools, lines: int) -> Any:
    import dask.bag

    words = dask.bag.from_sequence(range(lines), npartitions=_PARTITIONS).map(words_of).flatten().filter(is_even)
    return sorted(words.frequencies().compute(scheduler=tools.dask_scheduler))


def array(tools: Tools, side: int) -> Any:
    import dask.array

    numbers = dask.array.arange(side * side, chunks=side * side // 4).reshape((side, side)).rechunk(side // 4) % 1009
    product = (numbers - numbers.mean(axis=0)) @ numbers.T
    return round(float((product**2).mean().compute(scheduler=tools.dask_scheduler)), 1)


def double(number: int) -> int:
    return 2 * number


def add(first: int, second: int) -> int:
    return first + second


def graph(tools: Tools, leaves: int) -> int:
    import dask

    level = [dask.delayed(double)(dask.delayed(double)(number)) for number in range(leaves)]
    while len(level) > 1:
        level = [dask.delayed(add)(level[at], level[at + 1]) for at in range(0, len(level), 2)]
    return level[0].compute(scheduler=tools.dask_scheduler)


def rows_of(part: int, rows: int) -> Any:
    import numpy
    import pandas

    numbers = numpy.random.default_rng(part)
    return pandas.DataFrame({"key": numbers.integers(0, 500, rows), "value": numbers.integers(0, 1000, rows)})


def frame(tools: Tools, rows: int) -> Any:
    import dask.dataframe

    whole = dask.dataframe.from_map(rows_of, range(_PARTITIONS), rows=rows, meta=rows_of(0, 1))
    whole["double"] = whole.value * 2
    grouped = whole[whole.value > 100].groupby("key").agg({"value": "mean", "double": "sum"})
    found = grouped.compute(scheduler=tools.dask_scheduler).sort_index()
    return [int(found.double.sum()), round(float(found.value.sum()), 3)]


PROGRAMS = (
    RealProgram("dask_bag", "frequencies of words", int, bag, 6_000, 80, ("fray", "ray", "dask")),
    RealProgram("dask_array", "a centred product of matrices", int, array, 2_000, 64, ("fray", "dask")),
    RealProgram("dask_delayed", "a tree of 3,071 delayed calls", int, graph, 1024, 16, ("fray", "ray", "dask")),
    RealProgram("dask_frame", "group and aggregate", int, frame, 400_000, 500, ("fray", "dask")),
)
