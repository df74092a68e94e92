"""Refs in the order in which they become ready."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fray.errors import GetTimeoutError

if TYPE_CHECKING:
    from fray.job.context import JobContext
    from fray.job.refs import ObjectRef

__all__ = ["iterate_completed"]


def iterate_completed(
    context: JobContext, refs: list[ObjectRef[Any]], timeout: float | None
) -> Iterator[ObjectRef[Any]]:
    """Yield every ref once, as it becomes ready; `timeout` seconds for all of them together."""
    total = len(refs)
    deadline = None if timeout is None else time.monotonic() + timeout
    pending = refs
    while pending:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        ready, pending = context.wait(pending, 1, left)
        if not ready:
            raise GetTimeoutError(f"{len(pending)} of {total} refs were not ready after {timeout} s")
        if pending:
            # Take all that are ready by now in one look, so that many refs do not cost a look each.
            more, pending = context.wait(pending, len(pending), 0)
            ready += more
        yield from ready
