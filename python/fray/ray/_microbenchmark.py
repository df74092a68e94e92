"""The functions that Ray's micro-benchmark measures with; Ray has them in `ray._private.ray_microbenchmark_helpers`."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import fray.ray as ray

__all__ = ["ray_setup_and_teardown", "timeit"]

_ROUNDS = 4
_ROUND_SECONDS = 2.0


def timeit(
    name: str, fn: Callable[[], object], multiplier: float = 1, warmup_time_sec: float = 10
) -> list[tuple[str, float, float] | None]:
    """Measure how often a second `fn` runs; print and return mean and deviation.

    TESTS_TO_RUN and TESTS_TO_SKIP choose by parts of names, with commas between; None stands for what they leave out.
    """
    wanted, unwanted = (os.environ.get(key, "") for key in ("TESTS_TO_RUN", "TESTS_TO_SKIP"))
    if wanted and not any(part in name for part in wanted.split(",")):
        return [None]
    if unwanted and any(part in name for part in unwanted.split(",")):
        return [None]
    time.sleep(min(warmup_time_sec, 1.0))
    step = _runs_in(fn, 1.0)
    rates: list[float] = []
    for _ in range(_ROUNDS):
        start, runs = time.perf_counter(), 0
        while time.perf_counter() - start < _ROUND_SECONDS:
            for _ in range(step):
                fn()
            runs += step
        rates.append(multiplier * runs / (time.perf_counter() - start))
    mean = sum(rates) / len(rates)
    deviation = math.sqrt(sum((rate - mean) ** 2 for rate in rates) / len(rates))
    print(name, "per second", round(mean, 2), "+-", round(deviation, 2), flush=True)
    return [(name, mean, deviation)]


def _runs_in(fn: Callable[[], object], seconds: float) -> int:
    """Run `fn` for so many seconds; return a tenth of the number of runs, at least one."""
    start, runs = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        fn()
        runs += 1
    return max(runs // 10, 1)


@contextmanager
def ray_setup_and_teardown(**init_args: Any) -> Generator[None, None, None]:
    """Run a ``with`` block in a session of its own."""
    ray.init(**init_args)
    yield
    ray.shutdown()
