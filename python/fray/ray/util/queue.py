"""`ray.util.queue.Queue`: a first-in-first-out queue in an actor of its own, for tasks and actors to share."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Iterable, Mapping
from typing import Any

from fray.ray import _objects
from fray.ray._remote import remote
from fray.ray.exceptions import RayError

__all__ = ["Empty", "Full", "Queue"]


class Empty(queue.Empty):
    """There is nothing to get."""


class Full(queue.Full):
    """There is no room."""


class _QueueActor:
    def __init__(self, maxsize: int) -> None:
        self._queue: asyncio.Queue[Any] = asyncio.Queue(maxsize)

    def qsize(self) -> int:
        return self._queue.qsize()

    def maxsize(self) -> int:
        return self._queue.maxsize

    async def put(self, item: Any, timeout: float | None) -> None:
        try:
            await asyncio.wait_for(self._queue.put(item), timeout)
        except TimeoutError:
            raise Full from None

    async def get(self, timeout: float | None) -> Any:
        try:
            return await asyncio.wait_for(self._queue.get(), timeout)
        except TimeoutError:
            raise Empty from None

    def put_nowait(self, items: list[Any]) -> bool:
        room = self._queue.maxsize - self._queue.qsize()
        if self._queue.maxsize > 0 and len(items) > room:
            return False
        for item in items:
            self._queue.put_nowait(item)
        return True

    def get_nowait(self, count: int) -> list[Any] | None:
        if count > self._queue.qsize():
            return None
        return [self._queue.get_nowait() for _ in range(count)]


class Queue:
    """Shared by whoever has it: it can be passed to tasks and actors.

    Args:
        maxsize: most items; no limit where it is 0.
        actor_options: of the actor that holds the items.
    """

    def __init__(self, maxsize: int = 0, actor_options: Mapping[str, Any] | None = None) -> None:
        self.maxsize = maxsize
        actor_class = remote(num_cpus=0)(_QueueActor)
        self.actor: Any = actor_class.options(**dict(actor_options or {})).remote(maxsize)

    def __len__(self) -> int:
        return self.size()

    def size(self) -> int:
        """Return the number of items."""
        return _objects.get(self.actor.qsize.remote())

    qsize = size

    def empty(self) -> bool:
        """Return whether there are no items."""
        return self.size() == 0

    def full(self) -> bool:
        """Return whether there is no room."""
        return 0 < self.maxsize <= self.size()

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """Add an item; wait for room where `block` is set."""
        if not block:
            self.put_nowait(item)
        else:
            _objects.get(self.actor.put.remote(item, _checked(timeout)))

    async def put_async(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """Add an item without stopping the event loop."""
        if not block:
            self._accepted(await self.actor.put_nowait.remote([item]), 1)
        else:
            await self.actor.put.remote(item, _checked(timeout))

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """Take the oldest item; wait for one where `block` is set."""
        if not block:
            return self.get_nowait()
        return _objects.get(self.actor.get.remote(_checked(timeout)))

    async def get_async(self, block: bool = True, timeout: float | None = None) -> Any:
        """Take the oldest item without stopping the event loop."""
        if not block:
            return _taken(await self.actor.get_nowait.remote(1), 1)[0]
        return await self.actor.get.remote(_checked(timeout))

    def put_nowait(self, item: Any) -> None:
        """Add an item, or raise Full."""
        self._accepted(_objects.get(self.actor.put_nowait.remote([item])), 1)

    def put_nowait_batch(self, items: Iterable[Any]) -> None:
        """Add all items, or none and raise Full."""
        if not isinstance(items, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError("Argument 'items' must be an Iterable")
        batch = list(items)
        self._accepted(_objects.get(self.actor.put_nowait.remote(batch)), len(batch))

    def get_nowait(self) -> Any:
        """Take the oldest item, or raise Empty."""
        return _taken(_objects.get(self.actor.get_nowait.remote(1)), 1)[0]

    def get_nowait_batch(self, num_items: int) -> list[Any]:
        """Take so many items, or none and raise Empty."""
        if not isinstance(num_items, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError("Argument 'num_items' must be an int")
        if num_items < 0:
            raise ValueError("'num_items' must be nonnegative")
        return _taken(_objects.get(self.actor.get_nowait.remote(num_items)), num_items)

    def shutdown(self, force: bool = False, grace_period_s: int = 5) -> None:
        """End the actor, with `force` at once; the queue cannot be used any more."""
        if self.actor is None:
            return
        actor, self.actor = self.actor, None
        if not force:
            ending = actor.__ray_terminate__.remote()
            try:
                done, _ = _objects.wait([ending], timeout=grace_period_s)
            except RayError:
                done = [ending]
            if done:
                return
        _objects.kill(actor, no_restart=True)

    def _accepted(self, accepted: bool, count: int) -> None:
        if not accepted:
            raise Full(f"there is no room for {count} more items in a queue of {self.maxsize}")


def _taken(items: list[Any] | None, count: int) -> list[Any]:
    if items is None:
        raise Empty(f"there are fewer than {count} items" if count > 1 else "there are no items")
    return items


def _checked(timeout: float | None) -> float | None:
    if timeout is not None and timeout < 0:
        raise ValueError("'timeout' must be a non-negative number")
    return timeout
