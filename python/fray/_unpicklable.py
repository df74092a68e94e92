"""Names the part of a function or value that cannot be pickled: ``handler → closure 'db' → attribute '_lock'``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType, MethodType
from typing import Any, cast

from fray.errors import SerializationError

__all__ = ["serialization_error"]

MAX_DEPTH = 8
MAX_MEMBERS = 200


def serialization_error(
    what: str, value: Any, cause: BaseException, can_pickle: Callable[[Any], bool]
) -> SerializationError:
    """Return the error to raise for `value`, called `what` in the message, which failed to pickle with `cause`.

    `can_pickle` returns whether a value can be pickled.
    """
    path = _culprit(value, can_pickle, 0, set())
    where = f" (the part that cannot: {' → '.join(path)})" if path else ""
    error = SerializationError(f"{what} cannot be pickled{where}: {type(cause).__name__}: {cause}")
    error.__cause__ = cause
    return error


def _culprit(value: Any, can_pickle: Callable[[Any], bool], depth: int, seen: set[int]) -> list[str]:
    """Return the path from `value` to its smallest part that cannot be pickled."""
    if depth >= MAX_DEPTH or id(value) in seen:
        return []
    seen.add(id(value))
    for count, (label, part) in enumerate(_parts(value)):
        if count >= MAX_MEMBERS:
            break
        if id(part) not in seen and not can_pickle(part):
            return [f"{label} ({type(part).__name__})", *_culprit(part, can_pickle, depth + 1, seen)]
    return []


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, FunctionType):
        yield from _function_parts(value)
    elif isinstance(value, MethodType):
        yield "the object it is bound to", value.__self__
    elif isinstance(value, Mapping):
        for key, part in cast("Mapping[Any, Any]", value).items():
            yield f"[{key!r}]", part
    elif isinstance(value, (list, tuple, set, frozenset)):
        for position, part in enumerate(cast("Sequence[Any]", value)):
            yield f"[{position}]", part
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        for name, part in cast("dict[str, Any]", value.__dict__).items():
            yield f"attribute {name!r}", part


def _function_parts(fn: FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=False):
        try:
            yield f"closure {name!r}", cell.cell_contents
        except ValueError:
            continue
    for position, default in enumerate(fn.__defaults__ or ()):
        yield f"default {position}", default
    for name, default in (fn.__kwdefaults__ or {}).items():
        yield f"default of {name!r}", default
    for name in fn.__code__.co_names:
        if name in fn.__globals__:
            yield f"global {name!r}", fn.__globals__[name]
