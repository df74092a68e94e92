"""Checks of what callers hand to a `JobContext`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, cast

from fray.errors import ContextClosedError, ForeignRefError

if TYPE_CHECKING:
    from fray.job.runtime_env import RuntimeEnv

__all__ = [
    "check_keywords",
    "check_runtime_env",
    "check_timeout",
    "checked_shape",
    "context_closed",
    "first_duplicate",
    "foreign_actor",
    "foreign_ref",
]

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


def check_runtime_env(env: RuntimeEnv | None, owner: str) -> None:
    """Raise TypeError for a runtime environment of `owner` that is none."""
    if env is None:
        return
    from fray.job.runtime_env import RuntimeEnv

    if not isinstance(env, RuntimeEnv):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"{owner}: runtime_env must be a RuntimeEnv(...) or None, got {type(env).__name__}")


def check_keywords(kwargs: object) -> None:
    """Raise unless `kwargs` maps names of parameters to values."""
    if not isinstance(kwargs, Mapping):
        raise TypeError(f"create_task: kwargs must be a dict such as {{'x': 1}}, got {type(kwargs).__name__}")
    for name in cast("Mapping[object, object]", kwargs):
        if not isinstance(name, str):
            raise TypeError(f"create_task: kwargs must be named by text, got {name!r}")


def checked_shape(shape: object) -> tuple[int, ...]:
    """Return the shape of an array as a tuple of sizes."""
    sizes: tuple[Any, ...] = (shape,)
    if isinstance(shape, Iterable) and not isinstance(shape, (str, bytes)):
        sizes = tuple(cast("Iterable[Any]", shape))
    for size in sizes:
        if isinstance(size, bool) or not hasattr(size, "__index__"):
            raise TypeError(f"empty: shape must be a whole number or a tuple of them, got {shape!r}")
    checked = tuple(map(index, sizes))
    if any(size < 0 for size in checked):
        raise ValueError(f"empty: shape must have no size below 0, got {shape!r}")
    return checked


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
