"""`RayStream`: the ref of a generator task, around a generator of Ray's refs."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Generator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from fray.backend.ray.library import global_worker, ray, theirs
from fray.backend.ray.refs import HINT, RayRef, RefType, is_trial, nothing
from fray.job.refs import ObjectRef

if TYPE_CHECKING:
    from fray.backend.ray.connection import Connection, Holder

__all__ = ["RayStream"]

T = TypeVar("T")


class RayStream(ObjectRef[T], metaclass=RefType):
    """The ref of a generator task: an iterator of refs to its items.

    Items that were read from Ray but not yet taken by the user are in `_items`. Dropping the stream ends its
    producer. Threading: `_lock` is held while a thread reads an item, and `_loop_lock` while a coroutine does.
    """

    __slots__ = ("__weakref__", "_engine", "_failure", "_generator", "_items", "_lock", "_loop_lock", "connection")

    def __init__(self, generator: Any, connection: Connection) -> None:
        self._generator = generator
        self.connection = connection
        self._engine = connection.engine
        self._items: deque[Any] = deque()
        self._failure: Exception | None = None
        self._lock = threading.Lock()
        self._loop_lock = asyncio.Lock()

    @property
    def ray_ref(self) -> Any:
        """Ray's own generator of refs."""
        return self._generator

    def task_ref(self) -> Any:
        """Return Ray's ref of the task itself."""
        return self._generator.completed()

    @property
    def engine(self) -> Holder:
        """The engine that it belongs to."""
        return self._engine

    def waitable(self) -> Any:
        """Return what Ray can wait for: the next item."""
        return self._items[0] if self._items else self._generator

    def result(self, timeout: float | None = None) -> T:
        return self._engine.context.get(self, timeout)

    def __await__(self) -> Generator[Any, None, T]:
        return asyncio.to_thread(self.result).__await__()

    def __next__(self) -> RayRef[Any]:
        self._engine.check_holds(self)
        with self._lock:
            raw = self._items.popleft() if self._items else self._read()
        return RayRef(raw, self.connection)

    async def __anext__(self) -> RayRef[Any]:
        self._engine.check_holds(self)
        async with self._loop_lock:
            raw = self._items.popleft() if self._items else await self._read_in_loop()
        return RayRef(raw, self.connection)

    def items(self) -> list[Any]:
        """Return Ray's refs of all items not taken, waiting for the end of the generator; they stay to be taken."""
        with self._lock:
            with suppress(StopIteration):
                while True:
                    self._items.append(self._read())
            return list(self._items)

    def is_ready(self) -> bool:
        """Return whether the next item, or the end, is there."""
        return bool(self._items) or self._failure is not None

    def _read(self) -> Any:
        """Return Ray's ref of the next item; what the generator raised is raised here, again and again."""
        if self._failure is not None:
            raise self._failure
        try:
            raw = next(self._generator)
        except theirs.RayError as error:
            raise self._engine.converted(error) from None
        return self._checked(raw)

    async def _read_in_loop(self) -> Any:
        """Do as `_read` does, but suspend the running coroutine until the item is there."""
        if self._failure is not None:
            raise self._failure
        try:
            raw = await anext(self._generator)
        except theirs.RayError as error:
            raise self._engine.converted(error) from None
        return self._checked(raw)  # a wait here could be cancelled, and would lose the item

    def _checked(self, raw: Any) -> Any:
        """Return Ray's ref of an item, or raise the failure that it stands for."""
        if not global_worker.core_worker.object_exists(raw, memory_store_only=True):
            return raw  # a failure is always small enough to be in the memory of this process
        try:
            global_worker.get_objects([raw])  # `ray.get` would warn where an event loop runs
        except theirs.RayError as error:
            self._failure = self._engine.converted(error)
        if self._failure is not None:
            raise self._failure
        return raw

    def __repr__(self) -> str:
        return f"<ref of a generator task of Ray ({HINT})>"

    def __reduce__(self) -> Any:
        if is_trial():
            return nothing, ()
        raise TypeError("the ref of a generator task cannot be pickled on Ray; pass list(ref), the refs of its items")

    def __del__(self) -> None:
        with suppress(Exception):
            is_current = not self._engine.closed and self.connection.node is global_worker.node
            if is_current and not self._generator._stream_exhausted():
                ray.cancel(self._generator)
