"""A queue in the memory of this process."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
import uuid
from collections.abc import Callable
from typing import Generic, NoReturn, TypeVar

from fray.queue.base import Lease, QueueOfOne, invalid_lease

__all__ = ["MemoryQueue"]

Item = TypeVar("Item")


class _Entry(Generic[Item]):
    """An item and its place in the order of pushes."""

    __slots__ = ("item", "place")

    def __init__(self, place: int, item: Item) -> None:
        self.place = place
        self.item = item

    def __lt__(self, other: _Entry[Item]) -> bool:
        return self.place < other.place


class MemoryQueue(QueueOfOne[Item]):
    """A `Queue` for the threads of one process. Items are kept, not copied.

    To share one between processes, put it into an actor, or use a `FileQueue`.

    Args:
        clock: returns seconds, by which leases expire.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._pushed = threading.Condition(self._lock)
        self._places = itertools.count()
        self._waiting: list[_Entry[Item]] = []  # a heap
        self._leased: dict[str, tuple[_Entry[Item], float]] = {}

    def push(self, item: Item) -> None:
        """Add an item at the end."""
        with self._lock:
            heapq.heappush(self._waiting, _Entry(next(self._places), item))
            self._pushed.notify()

    def peek(self) -> Item | None:
        """Return the item that `pop` would lease, None if no item waits."""
        with self._lock:
            self._take_back()
            return self._waiting[0].item if self._waiting else None

    def _lease(self, seconds: float) -> Lease[Item] | None:
        with self._lock:
            self._take_back()
            if not self._waiting:
                return None
            entry = heapq.heappop(self._waiting)
            lease = Lease(entry.item, str(uuid.uuid4()), time.time())
            self._leased[lease.lease_id] = (entry, self._clock() + seconds)
            return lease

    def done(self, lease: Lease[Item]) -> None:
        """Take the item of a lease out of the queue for good; ValueError if the lease is not valid any more."""
        with self._lock:
            self._end(lease)

    def release(self, lease: Lease[Item]) -> None:
        """Let the item of a lease wait again; ValueError if the lease is not valid any more."""
        with self._lock:
            heapq.heappush(self._waiting, self._end(lease))
            self._pushed.notify()

    def size(self) -> int:
        """Return the number of items that wait."""
        with self._lock:
            self._take_back()
            return len(self._waiting)

    def pending(self) -> int:
        """Return the number of items that are leased."""
        with self._lock:
            self._take_back()
            return len(self._leased)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a MemoryQueue stays in its process; put it into an actor, or use a FileQueue")

    def _rest(self, seconds: float) -> None:
        with self._lock:
            if not self._waiting:
                self._pushed.wait(seconds)

    def _end(self, lease: Lease[Item]) -> _Entry[Item]:
        entry, _ = self._leased.pop(lease.lease_id, (None, 0.0))
        if entry is None:
            raise invalid_lease(lease.lease_id)
        return entry

    def _take_back(self) -> None:
        now = self._clock()
        expired = [lease_id for lease_id, (_, deadline) in self._leased.items() if deadline <= now]
        for lease_id in expired:
            heapq.heappush(self._waiting, self._leased.pop(lease_id)[0])
