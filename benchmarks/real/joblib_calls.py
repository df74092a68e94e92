"""`joblib.Parallel` itself: calls that take no time, and calls that share an array."""

from __future__ import annotations

from typing import Any

from benchmarks.engines import CPUS
from benchmarks.real.program import RealProgram, after_importing
from benchmarks.real.tools import Tools

_PEERS = ("fray", "ray", "pool", "joblib")
_PARTS = 16


def square(number: int) -> int:
    return number * number


def sum_part(array: Any, part: int) -> int:
    return int(array[part::_PARTS].sum())


def whole_numbers(count: int) -> Any:
    import numpy

    return numpy.arange(after_importing("joblib")(count))


def tiny_calls(tools: Tools, calls: int) -> int:
    import joblib

    with joblib.parallel_config(tools.joblib_backend, n_jobs=CPUS):
        return sum(joblib.Parallel()(joblib.delayed(square)(number) for number in range(calls)))


def shared_array(tools: Tools, array: Any) -> list[int]:
    import joblib

    with joblib.parallel_config(tools.joblib_backend, n_jobs=CPUS):
        return joblib.Parallel()(joblib.delayed(sum_part)(array, part) for part in range(_PARTS))


PROGRAMS = (
    RealProgram(
        "tiny_calls",
        "joblib, 20,000 calls that square",
        after_importing("joblib"),
        tiny_calls,
        20_000,
        500,
        _PEERS,
    ),
    RealProgram(
        "shared_array", "joblib, 16 calls share 200 MB", whole_numbers, shared_array, 25_000_000, 250_000, _PEERS
    ),
)
