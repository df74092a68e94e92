"""Refs in the order in which they become ready."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from fray.errors import GetTimeoutError
from fray.job.refs import ObjectRef

__all__ = ["iterate_completed"]


Refs = list[ObjectRef[Any]]


def iterate_completed(
    wait: Callable[[Refs, int, float | None], tuple[Refs, Refs]], refs: Refs, timeout: float | None
) -> Iterator[ObjectRef[Any]]:
    """Yield every ref once, when `wait` of its context says that it is ready; `timeout` is for all of them together."""
    total = len(refs)
    deadline = None if timeout is None else time.monotonic() + timeout
    pending = refs
    while pending:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        ready, pending = wait(pending, 1, left)
        if not ready:
            raise GetTimeoutError(f"{len(pending)} of {total} refs were not ready after {timeout} s")
        if pending:
            # One more `wait`, without a timeout, takes all refs that are ready: many refs do not cost a `wait` each.
            more, pending = wait(pending, len(pending), 0)
            ready += more
        yield from ready
