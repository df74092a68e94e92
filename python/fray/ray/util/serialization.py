"""`ray.util.register_serializer`: functions that pickle the values of a class in this process."""

from __future__ import annotations

import copyreg
from collections.abc import Callable
from typing import Any

__all__ = ["deregister_serializer", "register_serializer"]


def register_serializer(
    cls: type[Any], *, serializer: Callable[[Any], Any], deserializer: Callable[[Any], Any]
) -> None:
    """Pickle the result of `serializer` in place of a value of `cls`; `deserializer` makes the value of it again."""

    def reduce(value: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _made_again, (_Function(deserializer), serializer(value))

    copyreg.pickle(cls, reduce)


def deregister_serializer(cls: type[Any]) -> None:
    """Pickle values of `cls` as if `register_serializer` had not been called."""
    copyreg.dispatch_table.pop(cls, None)


class _Function:
    """A function that is pickled by value where it cannot be imported."""

    def __init__(self, fn: Callable[[Any], Any]) -> None:
        self.fn = fn

    def __reduce__(self) -> Any:
        import pickle

        from fray._by_value import dumps

        return pickle.loads, (dumps(_Plain(self.fn)),)


class _Plain(_Function):
    def __reduce__(self) -> Any:
        return _Plain, (self.fn,)


def _made_again(how: _Function, parts: Any) -> Any:
    return how.fn(parts)
