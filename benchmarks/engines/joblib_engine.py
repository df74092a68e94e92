"""joblib, with its own pool of processes (loky)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from joblib import Parallel, delayed

from benchmarks.engines import CPUS, Engine


@contextmanager
def open_joblib() -> Iterator[Engine]:
    """Open a `Parallel` whose processes live through the row. It has calls of functions and nothing else.

    Its calls start when their results are asked for, so that binding one only describes it.
    """
    with Parallel(n_jobs=CPUS, backend="loky") as parallel:

        def get(calls: Any) -> Any:
            return parallel(calls) if isinstance(calls, list) else parallel([calls])[0]

        yield Engine(bind=delayed, bind_retrying=_no_retries, get=get)


def _no_retries(function: Callable[..., Any]) -> Callable[..., Any]:
    raise NotImplementedError("joblib retries nothing")
