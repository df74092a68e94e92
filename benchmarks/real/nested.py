"""Tasks that start tasks and wait for them."""

from __future__ import annotations

from typing import Any

from benchmarks.payloads import burn
from benchmarks.real.program import RealProgram
from benchmarks.real.tools import Tools

_INNER = 16


def fan_out(peer: str, turns: int) -> int:
    """Share the turns among inner calls."""
    return sum(_inner_calls(peer, [turns // _INNER + at for at in range(_INNER)]))


def _inner_calls(peer: str, turns: list[int]) -> list[Any]:
    if peer == "fray":
        import fray

        context = fray.get_job_context()
        return context.get([context.run(burn, one) for one in turns])
    if peer == "ray":
        import ray

        remote = ray.remote(burn)
        return ray.get([remote.remote(one) for one in turns])
    from joblib import Parallel, delayed

    return Parallel(n_jobs=2)(delayed(burn)(one) for one in turns)


def nested(tools: Tools, turns: int) -> list[int]:
    return tools.get([tools.submit(fan_out, tools.peer, turns) for _ in range(8)])


PROGRAMS = (
    RealProgram("nested", "8 tasks with 16 tasks each", int, nested, 2_000_000, 2_000, ("fray", "ray", "joblib")),
)
