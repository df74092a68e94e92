"""pandas: parts of a table grouped in parallel, then put together."""

from __future__ import annotations

from typing import Any

from benchmarks.real.dask_graphs import rows_of
from benchmarks.real.program import RealProgram
from benchmarks.real.tools import Tools

_PARTS = 16


def parts(rows: int) -> list[Any]:
    return [rows_of(part, rows) for part in range(_PARTS)]


def describe(part: Any) -> Any:
    return part.groupby("key").value.agg(["sum", "count", "max", "std"])


def by_group(tools: Tools, given: list[Any]) -> Any:
    import pandas

    found = pandas.concat(tools.map(describe, given)).groupby(level=0).sum()
    return [int(found["sum"].sum()), int(found["count"].sum()), round(float(found["std"].sum()), 3)]


PROGRAMS = (
    RealProgram(
        "pandas_groups", "16 tables, each grouped", parts, by_group, 400_000, 500, ("fray", "ray", "pool", "joblib")
    ),
)
