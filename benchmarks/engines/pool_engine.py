"""`multiprocessing.Pool`."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.engines import CPUS, Engine


@contextmanager
def open_pool() -> Iterator[Engine]:
    """Start a pool of forked processes. It has tasks, but no objects, and loses the task of a worker that dies."""
    with multiprocessing.get_context("fork").Pool(CPUS) as pool:

        def bind(function: Callable[..., Any]) -> Callable[..., Any]:
            apply_async = pool.apply_async
            return lambda *args: apply_async(function, args)

        yield Engine(bind=bind, bind_retrying=bind, get=_get)
        pool.terminate()
        pool.join()


def _get(results: Any) -> Any:
    return [result.get() for result in results] if isinstance(results, list) else results.get()
