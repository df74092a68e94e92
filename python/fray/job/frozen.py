"""`Frozen`: a callable that is pickled once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fray._functions import is_generator_function

__all__ = ["Frozen", "most_items_of"]


class Frozen:
    """A function that workers get as it was at its first call; they do not see later changes of what it refers to.

    A context pickles it once and does not compare it with that pickle at later calls. This suits functions that are
    called often and refer to values that could change (a list, an object).

    Args:
        fn: what is called.
        is_generator: whether it is a generator function, where that cannot be seen from `fn`.
        most_items: a generator waits while so many of its items were not taken; 0: the context alone says when. Only
            the native engine heeds it.
    """

    def __init__(self, fn: Callable[..., Any], is_generator: bool | None = None, most_items: int = 0) -> None:
        self.fn = fn
        self.most_items = most_items
        self.is_generator = is_generator_function(fn) if is_generator is None else is_generator
        self.__qualname__: str = getattr(fn, "__qualname__", type(fn).__qualname__)
        self._retrying: dict[Any, Frozen] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*args, **kwargs)

    def __reduce__(self) -> Any:
        return Frozen, (self.fn, self.is_generator, self.most_items)

    def variant(self, key: Any, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Frozen:
        """Return a `Frozen` of ``make(fn)``, which is made once for each `key`."""
        known = self._retrying.get(key)
        if known is None:
            known = self._retrying[key] = Frozen(make(self.fn), self.is_generator, self.most_items)
        return known


def most_items_of(fn: Callable[..., Any]) -> int:
    """Return the `most_items` of a `Frozen`, 0 for any other function."""
    return fn.most_items if isinstance(fn, Frozen) else 0
