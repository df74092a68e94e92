"""A module that makes contexts while it is imported, as programs do; the workers import it too."""

from __future__ import annotations

from typing import Any

import fray

SYNC = fray.create_job_ctx("sync")
THREADS = fray.create_job_ctx("threadpool", max_workers=2)
NATIVE = fray.create_job_ctx("native")
AUTO = fray.create_job_ctx()
try:
    RAY: Any = fray.create_job_ctx("ray")
except fray.UnsupportedError:
    RAY = None


def of_module(kind: str) -> Any:
    return {"sync": SYNC, "thread": SYNC, "native": NATIVE, "auto": AUTO, "ray": RAY}[kind]


def square(kind: str, n: int) -> int:
    context = of_module(kind)
    return context.get(context.run(pow, n, 2))


def read(kind: str, refs: list[Any]) -> list[Any]:
    """Read refs of the task's context with the module's."""
    return of_module(kind).get(refs)


def give(kind: str, value: Any) -> Any:
    """Return a ref of the module's context; who reads it is the task's."""
    return [of_module(kind).put(value)]
