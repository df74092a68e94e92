"""Checks of what callers hand to a `JobContext`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fray.errors import ContextClosedError, ForeignRefError

__all__ = ["check_timeout", "context_closed", "first_duplicate", "foreign_actor", "foreign_ref"]

LONGEST_SECONDS = 1e9
"""Longer than any wait, and short enough for every clock."""


def check_timeout(timeout: float | None) -> float | None:
    """Return `timeout`, or None (no limit) for a timeout that is longer than any wait."""
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"timeout must be seconds or None, got {timeout!r}")
    if not timeout >= 0:  # NaN too
        raise ValueError(f"timeout must be at least 0 seconds, or None to wait as long as it takes, got {timeout!r}")
    return timeout if timeout < LONGEST_SECONDS else None


def first_duplicate(refs: Sequence[Any]) -> int:
    """Return the position of the first ref that was there before."""
    seen: set[Any] = set()
    for position, ref in enumerate(refs):
        if ref in seen:
            return position
        seen.add(ref)
    return len(refs)


def foreign_ref(ref: object, verb: str, owner: str) -> ForeignRefError:
    """Return the error for a ref of another context; `verb` opens the message, `owner` received the ref."""
    return ForeignRefError(
        f"{verb}: {ref!r} belongs to another context than this {owner}, or to the process that forked this one; get "
        "its value there and pass that"
    )


def foreign_actor(handle: object, verb: str, owner: str) -> ForeignRefError:
    """Return the error for an actor's handle of another context."""
    return ForeignRefError(
        f"{verb}: {handle!r} belongs to another context than this {owner}, or to the process that forked this one; "
        "create the actor here, or look it up with get_actor"
    )


def context_closed(owner: str) -> ContextClosedError:
    """Return the error for a use of a context that was closed; `owner` is the name of its class."""
    return ContextClosedError(f"this {owner} was closed; make a new one, or call fray.init() again")
