"""`Frozen`: a callable that is pickled once."""

from __future__ import annotations

from collections.abc import Callable
from inspect import isgeneratorfunction
from typing import Any

__all__ = ["Frozen"]


class Frozen:
    """A function that workers get as it was at its first call: what it refers to may change later, unseen by them.

    A context pickles it once and looks at nothing when it is called again, which suits functions that refer to values
    that could change (a list, an object) and are called often.

    Args:
        fn: what is called.
        is_generator: whether it is a generator function, where that cannot be seen from `fn`.
    """

    def __init__(self, fn: Callable[..., Any], is_generator: bool | None = None) -> None:
        self.fn = fn
        self.is_generator = isgeneratorfunction(fn) if is_generator is None else is_generator
        self.__qualname__: str = getattr(fn, "__qualname__", type(fn).__qualname__)
        self._retrying: dict[Any, Frozen] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*args, **kwargs)

    def __reduce__(self) -> Any:
        return Frozen, (self.fn, self.is_generator)

    def variant(self, key: Any, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Frozen:
        """Return the same one around ``make(fn)``, made once for each `key`."""
        known = self._retrying.get(key)
        if known is None:
            known = self._retrying[key] = Frozen(make(self.fn), self.is_generator)
        return known
