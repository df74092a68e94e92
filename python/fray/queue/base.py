"""What every queue does.

`pop` leases the oldest waiting item for some seconds. The holder says `done`, and the item is gone, or `release`, and
it waits again. A lease that runs out makes the item wait again too, at the latest when somebody looks at the queue: an
item is delivered at least once, and twice if its holder was too slow.

Order: items wait in the order in which they were pushed, however often they were leased meanwhile, so one that comes
back is before all that were never leased.

A lease that is not valid any more (done, released, or run out and taken back) makes `done` and `release` raise
ValueError. One that has run out but was not taken back yet is still valid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

__all__ = ["Lease", "Queue", "check_lease_timeout", "invalid_lease"]

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Lease(Generic[Item]):
    """The right to work on one item for some time.

    Args:
        item: the item.
        lease_id: differs from that of every other lease of the queue.
        timestamp: when it began, as `time.time` counts.
    """

    item: Item
    lease_id: str
    timestamp: float


class Queue(Protocol[Item]):
    """A queue with leases. All methods return at once and may be called from any thread."""

    def push(self, item: Item) -> None:
        """Add an item at the end."""
        ...

    def peek(self) -> Item | None:
        """Return the item that `pop` would lease, None if no item waits."""
        ...

    def pop(self, lease_timeout: float = 60.0) -> Lease[Item] | None:
        """Lease the oldest waiting item for `lease_timeout` seconds; None if no item waits."""
        ...

    def done(self, lease: Lease[Item]) -> None:
        """Take the item of a lease out of the queue for good; ValueError if the lease is not valid any more."""
        ...

    def release(self, lease: Lease[Item]) -> None:
        """Let the item of a lease wait again; ValueError if the lease is not valid any more."""
        ...

    def size(self) -> int:
        """Return the number of items that wait."""
        ...

    def pending(self) -> int:
        """Return the number of items that are leased."""
        ...


def check_lease_timeout(seconds: object) -> float:
    """Return `seconds` if a lease can last that long."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"lease_timeout must be a number of seconds, got {seconds!r}")
    if not math.isfinite(seconds) or seconds < 0:
        raise ValueError(f"lease_timeout must be a finite number of seconds of at least 0, got {seconds!r}")
    return seconds


def invalid_lease(lease_id: str) -> ValueError:
    """Return the error for a lease that is not valid any more."""
    return ValueError(f"Invalid lease: {lease_id} not found (already done or released, or expired and taken back)")
