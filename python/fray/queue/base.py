"""The interface of queues, and the parts that they share.

`pop` leases the oldest waiting item for some seconds. The holder calls `done`, which removes the item, or `release`,
and the item waits again. It also waits again when its lease has expired, which the queue checks whenever it is used. So
an item is delivered at least once, and more than once if a holder was too slow.

Order: items wait in the order in which they were pushed, however often they were leased. An item that comes back is
thus ahead of all items that were pushed later.

`done` and `release` raise ValueError for a lease that is not valid any more: done, released, or expired and taken back.
A lease that has expired but was not taken back yet is still valid.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from fray._units import is_finite

__all__ = ["Lease", "Queue", "QueueOfOne", "check_most", "check_seconds", "end_all", "invalid_lease"]

Item = TypeVar("Item")

_FIRST_REST, _LONGEST_REST = 0.01, 0.5  # seconds between two checks of an empty queue


@dataclass(frozen=True, slots=True)
class Lease(Generic[Item]):
    """The right to work on one item for some time.

    Args:
        item: the item.
        lease_id: unique among all leases of the queue.
        timestamp: when the lease began, in seconds as `time.time` returns them.
    """

    item: Item
    lease_id: str
    timestamp: float


class Queue(Protocol[Item]):
    """A queue with leases. Its methods may be called from any thread, and return at once unless they are to wait."""

    def push(self, item: Item) -> None:
        """Add an item at the end."""
        ...

    def push_many(self, items: Iterable[Item]) -> None:
        """Add items at the end, in their order."""
        ...

    def peek(self) -> Item | None:
        """Return the item that `pop` would lease, None if no item waits."""
        ...

    def pop(self, lease_timeout: float = 60.0, wait: float = 0.0) -> Lease[Item] | None:
        """Lease the oldest waiting item for `lease_timeout` seconds.

        Args:
            lease_timeout: seconds after which the item waits again, unless it is done or released before.
            wait: seconds to wait for an item where none waits; None is returned when they are over.
        """
        ...

    def pop_many(self, most: int, lease_timeout: float = 60.0, wait: float = 0.0) -> list[Lease[Item]]:
        """Lease the oldest waiting items: up to `most`, as many as wait; `wait` is for the first of them."""
        ...

    def done(self, lease: Lease[Item]) -> None:
        """Take the item of a lease out of the queue for good; ValueError if the lease is not valid any more."""
        ...

    def done_many(self, leases: Iterable[Lease[Item]]) -> None:
        """Do the same for several; ValueError names those that are not valid any more, the others are done."""
        ...

    def release(self, lease: Lease[Item]) -> None:
        """Let the item of a lease wait again; ValueError if the lease is not valid any more."""
        ...

    def release_many(self, leases: Iterable[Lease[Item]]) -> None:
        """Do the same for several; ValueError names those that are not valid any more, the others are released."""
        ...

    def size(self) -> int:
        """Return the number of items that wait."""
        ...

    def pending(self) -> int:
        """Return the number of items that are leased."""
        ...


class QueueOfOne(ABC, Generic[Item]):
    """Batches and waits for queues whose own operations take one item at a time and do not wait."""

    @abstractmethod
    def push(self, item: Item) -> None:
        """Add an item at the end."""

    @abstractmethod
    def done(self, lease: Lease[Item]) -> None:
        """Take the item of a lease out of the queue for good; ValueError if the lease is not valid any more."""

    @abstractmethod
    def release(self, lease: Lease[Item]) -> None:
        """Let the item of a lease wait again; ValueError if the lease is not valid any more."""

    @abstractmethod
    def _lease(self, seconds: float) -> Lease[Item] | None:
        """Lease the oldest waiting item, None if no item waits."""

    def push_many(self, items: Iterable[Item]) -> None:
        """Add items at the end, in their order."""
        for item in items:
            self.push(item)

    def pop(self, lease_timeout: float = 60.0, wait: float = 0.0) -> Lease[Item] | None:
        """Lease the oldest waiting item for `lease_timeout` seconds.

        Args:
            lease_timeout: seconds after which the item waits again, unless it is done or released before.
            wait: seconds to wait for an item where none waits; None is returned when they are over.
        """
        seconds = check_seconds("lease_timeout", lease_timeout)
        end = time.monotonic() + check_seconds("wait", wait)
        rest = _FIRST_REST
        while (lease := self._lease(seconds)) is None:
            left = end - time.monotonic()
            if left <= 0:
                return None
            self._rest(min(rest, left))
            rest = min(rest * 2, _LONGEST_REST)
        return lease

    def pop_many(self, most: int, lease_timeout: float = 60.0, wait: float = 0.0) -> list[Lease[Item]]:
        """Lease the oldest waiting items: up to `most`, as many as wait; `wait` is for the first of them."""
        check_most(most)
        leases: list[Lease[Item]] = []
        while len(leases) < most and (lease := self.pop(lease_timeout, 0.0 if leases else wait)) is not None:
            leases.append(lease)
        return leases

    def done_many(self, leases: Iterable[Lease[Item]]) -> None:
        """Do the same as `done` for several; ValueError names those that are not valid any more."""
        end_all(self.done, leases)

    def release_many(self, leases: Iterable[Lease[Item]]) -> None:
        """Do the same as `release` for several; ValueError names those that are not valid any more."""
        end_all(self.release, leases)

    def _rest(self, seconds: float) -> None:
        """Wait until there may be an item, for at most `seconds`."""
        time.sleep(seconds)


def end_all(end: Callable[[Lease[Item]], None], leases: Iterable[Lease[Item]]) -> None:
    """Call `end` for each lease; one error at the end names those that are not valid any more."""
    invalid: list[str] = []
    for lease in leases:
        try:
            end(lease)
        except ValueError:
            invalid.append(lease.lease_id)
    if invalid:
        raise invalid_lease(*invalid)


def check_seconds(name: str, seconds: object) -> float:
    """Return `seconds` if it is a possible waiting time."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"{name} must be a number of seconds, got {seconds!r}")
    if not is_finite(seconds) or seconds < 0:
        raise ValueError(f"{name} must be a finite number of seconds of at least 0, got {seconds!r}")
    return seconds


def check_most(most: object) -> int:
    """Return `most` if it is a possible number of leases."""
    if isinstance(most, bool) or not isinstance(most, int):
        raise TypeError(f"most must be a whole number of leases, got {most!r}")
    if most < 1:
        raise ValueError(f"most must be at least 1, got {most!r}")
    return most


def invalid_lease(*lease_ids: str) -> ValueError:
    """Return the error for leases that are not valid any more."""
    shown: Sequence[str] = lease_ids[:10]
    more = f" and {len(lease_ids) - len(shown)} more" if len(lease_ids) > len(shown) else ""
    return ValueError(
        f"Invalid lease: {', '.join(shown)}{more} not found (already done or released, or expired and taken back)"
    )
