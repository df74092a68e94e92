"""A table of functions in the form in which they were sent; an entry is valid while its function is unchanged."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

from fray._recent import Recent

if TYPE_CHECKING:
    from fray._snapshots import Snapshot

__all__ = ["SentFunctions"]

M = TypeVar("M")


class SentFunctions(Recent[Any, "tuple[Snapshot | None, M]"]):
    """What was made of functions used lately, beside the state that each function had then.

    Guarded by the GIL: two threads may make the same entry at once, and the two entries are equal.

    Args:
        most: the largest sum of the sizes of all entries.
        size_of: size of an entry, given its key and what was made.
    """

    __slots__ = ()

    def __init__(self, most: int, size_of: Callable[[Any, M], int]) -> None:
        super().__init__(most, lambda key, entry: size_of(key, entry[1]))

    def find(self, fn: Any, key: Any) -> M | None:
        """Return what was made under `key`; None where nothing was made, or where `fn` may have changed since.

        Raises:
            TypeError: the key cannot be hashed.
        """
        entry = self[key]
        if entry is None:
            return None
        state, made = entry
        if state is None:
            return made
        return made if type(fn) is FunctionType and state.holds() else None

    def find_same(self, key: Any) -> M | None:
        """Return what was made under a key that has the address of an object, if it is the same, and is unchanged."""
        entry = self[key]
        return entry[1] if entry is not None and entry[0] is not None and entry[0].holds() else None

    def note(self, key: Any, state: Snapshot | None, made: M) -> M:
        """Keep and return what was made of a function in this state; None for one that is sent by name."""
        return self.keep(key, (state, made))[1]
