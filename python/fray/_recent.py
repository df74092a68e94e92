"""A table of the entries that were used lately, bounded by their bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Recent"]

K = TypeVar("K")
V = TypeVar("V")


class Recent(dict[K, "V | None"], Generic[K, V]):
    """The entries that were used lately, up to `most_bytes` in all; a missing key gives None.

    There are two halves. When the newer half is full, the older half is dropped and the newer one takes its place. An
    entry of the newer half is thus found by one lookup in a dict: there is no order of use to maintain.

    Entries are made by `keep`. Guarded by the GIL: two threads may make the same entry at once, which costs time only.

    Args:
        most_bytes: the largest sum of the bytes of all entries.
        size_of: bytes of an entry, given its key and value.
    """

    __slots__ = ("_bytes", "_half", "_older", "_size_of")

    def __init__(self, most_bytes: int, size_of: Callable[[K, V], int]) -> None:
        super().__init__()
        self._half = most_bytes // 2
        self._bytes = 0
        self._older: dict[K, V | None] = {}
        self._size_of = size_of

    def __missing__(self, key: K) -> V | None:
        found = self._older.get(key)
        return None if found is None else self.keep(key, found)

    def keep(self, key: K, value: V) -> V:
        """Store `value` under `key`, and return it."""
        self[key] = value
        self._bytes += self._size_of(key, value)
        if self._bytes > self._half:
            self._older, self._bytes = dict(self), 0
            super().clear()
        return value

    def clear(self) -> None:
        """Drop all entries."""
        self._older, self._bytes = {}, 0
        super().clear()
