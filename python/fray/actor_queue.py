"""`fray.ActorQueue`: a first-in-first-out queue in an actor of its own, for tasks and actors to share."""

from __future__ import annotations

import asyncio
import itertools
import os
import queue
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, TypeVar

from fray.errors import ActorDiedError
from fray.job.checks import check_timeout
from fray.job.current import get_job_context
from fray.types import ActorOptions

__all__ = ["ActorQueue", "QueueActor"]

_T = TypeVar("_T")
_SECONDS_TO_ANSWER = 1.0
"""A get that is given up is answered at once; where the actor does not answer, nobody waits longer."""

_Numbered = tuple[int, Any]
"""A number and an item, as a get that may be given up takes it: the number says where the item belongs."""


class _Items(asyncio.Queue[Any]):
    """A queue that numbers its items, and takes back what was taken out, to its old place among the others."""

    def _init(self, maxsize: int) -> None:
        self._queue: deque[_Numbered] = deque()
        self._numbers = itertools.count()
        self._got = -1  # the number of the item that was taken out last
        self._is_taking_back = False

    async def take(self) -> _Numbered:
        item = await self.get()  # nothing else runs between the end of `get` and the next line
        return self._got, item

    def take_nowait(self) -> _Numbered:
        item = self.get_nowait()
        return self._got, item

    def put_back(self, taken: _Numbered) -> None:
        """Put an item back, also where there is no room."""
        self._is_taking_back = True
        try:
            self.put_nowait(taken)
        finally:
            self._is_taking_back = False

    def full(self) -> bool:
        return not self._is_taking_back and super().full()

    def _get(self) -> Any:
        self._got, item = self._queue.popleft()
        return item

    def _put(self, item: Any) -> None:
        if not self._is_taking_back:
            self._queue.append((next(self._numbers), item))
            return
        later = (place for place, (number, _) in enumerate(self._queue) if number > item[0])
        self._queue.insert(next(later, len(self._queue)), item)


class QueueActor:
    """Holds the items of a queue.

    Args:
        maxsize: most items; no limit where it is 0.
        empty, full: what is raised where nothing comes, or no room is made, in time.
    """

    def __init__(self, maxsize: int, empty: type[Exception], full: type[Exception]) -> None:
        self.queue = _Items(maxsize)
        self._gets: dict[bytes, asyncio.Task[Any]] = {}
        self._empty = empty
        self._full = full

    def qsize(self) -> int:
        return self.queue.qsize()

    async def put(self, item: Any, timeout: float | None = None) -> None:
        try:
            await asyncio.wait_for(self.queue.put(item), timeout)
        except TimeoutError:
            raise self._full from None

    async def get(self, timeout: float | None = None) -> Any:
        return (await self._take(timeout))[1]

    async def _take(self, timeout: float | None) -> _Numbered:
        try:
            return await asyncio.wait_for(self.queue.take(), timeout)
        except TimeoutError:
            raise self._empty from None

    async def get_unless_given_up(self, name: bytes, timeout: float | None) -> _Numbered:
        task = self._gets[name] = asyncio.ensure_future(self._take(timeout))
        try:
            return await task
        except asyncio.CancelledError:
            raise self._empty from None
        finally:
            del self._gets[name]

    async def give_up(self, name: bytes) -> None:
        """Answer the get of that name with nothing, unless it has an item."""
        if name in self._gets:
            self._gets[name].cancel()

    def take_nowait(self) -> _Numbered | None:
        return None if self.queue.empty() else self.queue.take_nowait()

    def put_back(self, taken: _Numbered) -> None:
        self.queue.put_back(taken)

    def put_nowait_batch(self, items: list[Any]) -> bool:
        room = max(0, self.queue.maxsize - self.queue.qsize())
        if self.queue.maxsize > 0 and len(items) > room:
            return False
        for item in items:
            self.queue.put_nowait(item)
        return True

    def get_nowait_batch(self, count: int) -> list[Any] | None:
        if count > self.queue.qsize():
            return None
        return [self.queue.get_nowait() for _ in range(count)]


class ActorQueue:
    """Shared by whoever has it: it can be passed to tasks and actors.

    Where it is empty or full, `queue.Empty` or `queue.Full` is raised.

    Args:
        maxsize: most items; no limit where it is 0.
        actor_options: of the actor that holds the items.
    """

    Empty: type[Exception] = queue.Empty
    Full: type[Exception] = queue.Full

    def __init__(self, maxsize: int = 0, actor_options: ActorOptions | None = None) -> None:
        if not isinstance(maxsize, (int, float)):  # pyright: ignore[reportUnnecessaryIsInstance]  # infinity is a float
            raise TypeError(f"ActorQueue: maxsize must be a number of items, or 0 for no limit, got {maxsize!r}")
        self.maxsize = maxsize
        self.actor: Any = self._make(maxsize, actor_options)

    # ---- how its actor is made and asked

    def _make(self, maxsize: int, options: Any) -> Any:
        return get_job_context().create_actor(
            QueueActor, maxsize, self.Empty, self.Full, options=options or ActorOptions()
        )

    def _call(self, method: str, *args: Any) -> Any:
        """Call a method of the actor; return its ref."""
        if self.actor is None:
            raise ActorDiedError("the queue was shut down; make a new one")
        return getattr(self.actor, method)(*args)

    def _value(self, ref: Any, timeout: float | None = None) -> Any:
        return get_job_context().get(ref, timeout)

    def _cancel(self, ref: Any) -> None:
        get_job_context().cancel(ref)

    async def _unless_cancelled(self, ref: Any) -> Any:
        """Await a call; where nobody waits for it any more, it adds no item later."""
        try:
            return await ref
        except asyncio.CancelledError:
            self._cancel(ref)
            raise

    async def _get_async(self, timeout: float | None) -> Any:
        name = os.urandom(8)
        ref = self._call("get_unless_given_up", name, timeout)
        try:
            return (await ref)[1]
        except asyncio.CancelledError:
            try:
                self._call("give_up", name)
                self._call("put_back", self._value(ref, _SECONDS_TO_ANSWER))
            except Exception:  # there was no item, or the actor does not answer
                with suppress(Exception):
                    self._cancel(ref)
            raise

    async def _get_now_async(self) -> Any:
        ref = self._call("take_nowait")
        try:
            return _taken(await ref, 1, self.Empty)[1]
        except asyncio.CancelledError:
            with suppress(Exception):
                self._call("put_back", _taken(self._value(ref, _SECONDS_TO_ANSWER), 1, self.Empty))
            raise

    def _end(self, actor: Any, force: bool, grace_period_s: float) -> None:
        """End the actor, once it has done what it was asked where `force` is not set."""
        context = get_job_context()
        if not force:
            with suppress(ActorDiedError):
                context.wait([actor.qsize()], timeout=grace_period_s)
        context.kill(actor)

    # ---- what users call

    def __len__(self) -> int:
        return self.size()

    def size(self) -> int:
        """Return the number of items."""
        return self._value(self._call("qsize"))

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
            self._value(self._call("put", item, check_timeout(timeout)))

    async def put_async(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """Add an item without stopping the event loop."""
        if not block:
            self._accepted(await self._call("put_nowait_batch", [item]), 1)
        else:
            await self._unless_cancelled(self._call("put", item, check_timeout(timeout)))

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """Take the oldest item; wait for one where `block` is set."""
        return self._value(self._call("get", check_timeout(timeout))) if block else self.get_nowait()

    async def get_async(self, block: bool = True, timeout: float | None = None) -> Any:
        """Take the oldest item without stopping the event loop; one that is cancelled leaves it in the queue."""
        return await (self._get_async(check_timeout(timeout)) if block else self._get_now_async())

    def put_nowait(self, item: Any) -> None:
        """Add an item, or raise `queue.Full`."""
        self._accepted(self._value(self._call("put_nowait_batch", [item])), 1)

    def put_nowait_batch(self, items: Iterable[Any]) -> None:
        """Add all items, or none and raise `queue.Full`."""
        if not isinstance(items, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError("Argument 'items' must be an Iterable")
        batch = list(items)
        self._accepted(self._value(self._call("put_nowait_batch", batch)), len(batch))

    def get_nowait(self) -> Any:
        """Take the oldest item, or raise `queue.Empty`."""
        return _taken(self._value(self._call("get_nowait_batch", 1)), 1, self.Empty)[0]

    def get_nowait_batch(self, num_items: int) -> list[Any]:
        """Take so many items, or none and raise `queue.Empty`."""
        if not isinstance(num_items, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError("Argument 'num_items' must be an int")
        if num_items < 0:
            raise ValueError("'num_items' must be nonnegative")
        return _taken(self._value(self._call("get_nowait_batch", num_items)), num_items, self.Empty)

    def shutdown(self, force: bool = False, grace_period_s: float = 5) -> None:
        """End the actor, with `force` at once; the queue cannot be used any more."""
        check_timeout(grace_period_s)
        if self.actor is not None:
            actor, self.actor = self.actor, None
            self._end(actor, force, grace_period_s)

    def _accepted(self, accepted: bool, count: int) -> None:
        if not accepted:
            raise self.Full(f"there is no room for {count} more items in a queue of {self.maxsize}")


def _taken(items: _T | None, count: int, empty: type[Exception]) -> _T:
    if items is None:
        raise empty(f"there are fewer than {count} items" if count > 1 else "there are no items")
    return items
