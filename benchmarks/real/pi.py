"""Pi from random points, by tasks that tell an actor how far they are."""

from __future__ import annotations

import random
from typing import Any

from benchmarks.actors import method
from benchmarks.real.program import RealProgram
from benchmarks.real.tools import Tools

_TASKS = 8
_REPORTS = 10


class Progress:
    """Adds up what is done."""

    def __init__(self) -> None:
        self._done = 0

    def report(self, count: int) -> None:
        self._done += count

    def done(self) -> int:
        return self._done


def sample(peer: str, progress: Any, seed: int, points: int) -> int:
    numbers = random.Random(seed)
    report = method(peer, progress, "report")
    inside, told = 0, []
    for _ in range(_REPORTS):
        inside += sum(numbers.random() ** 2 + numbers.random() ** 2 <= 1 for _ in range(points // _REPORTS))
        told.append(report(points // _REPORTS))
    _wait_for(peer, told)
    return inside


def _wait_for(peer: str, refs: list[Any]) -> None:
    if peer == "fray":
        import fray

        fray.get_job_context().get(refs)
    elif peer == "ray":
        import ray

        ray.get(refs)


def pi(tools: Tools, points: int) -> tuple[float, int]:
    progress = tools.actor(Progress)
    inside = tools.get([tools.submit(sample, tools.peer, progress, seed, points // _TASKS) for seed in range(_TASKS)])
    done = tools.get([tools.call(progress, "done")])[0]
    return round(4 * sum(inside) / done, 9), done


PROGRAMS = (
    RealProgram("pi", "8 tasks report to an actor 10 times each", int, pi, 8_000_000, 8_000, ("fray", "ray", "pool")),
)
