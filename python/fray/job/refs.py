"""`ObjectRef`: the name of a value that exists or will exist."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Coroutine, Generator, Iterator
from typing import Any, Generic, TypeVar

__all__ = ["ObjectRef"]

T = TypeVar("T")


class ObjectRef(ABC, Generic[T]):
    """Stands for the result of a task or for a value that was put.

    Every context has a type of its own, derived from this one or registered with it, and knows only its own refs. Refs
    are hashable. As an argument of a task a ref is replaced by its value; inside a list, dict or object it stays a ref.

    A ref of a generator task is also an iterator of refs to its items, for ``for`` and ``async for``. Dropping it ends
    the task.
    """

    __slots__ = ()

    @abstractmethod
    def result(self, timeout: float | None = None) -> T:
        """Return the value, waiting for it; for a generator task the list of the items not yet taken.

        Args:
            timeout: seconds to wait; None for as long as it takes, 0 to look only.

        Raises:
            GetTimeoutError: nothing came in time.
            Exception: what the task raised.
        """

    @abstractmethod
    def __await__(self) -> Generator[Any, None, T]:
        """Wait inside an event loop: ``value = await ref``."""

    @abstractmethod
    def __next__(self) -> ObjectRef[Any]:
        """Return a ref to the next item of a generator task, waiting until the item is there.

        Raises:
            StopIteration: the generator has ended.
            TypeError: the task is no generator.
            Exception: what the generator raised, at its place.
        """

    @abstractmethod
    def __anext__(self) -> Coroutine[Any, Any, ObjectRef[Any]]:
        """Return a ref to the next item, as `next` does, but without stopping the running event loop.

        A coroutine that is cancelled while it waits takes no item.

        Raises:
            StopAsyncIteration: the generator has ended.
            TypeError: the task is no generator.
            Exception: what the generator raised, at its place.
        """

    def __iter__(self) -> Iterator[ObjectRef[Any]]:
        return self

    def __aiter__(self) -> AsyncIterator[ObjectRef[Any]]:
        return self


# A worker has refs of the native engine before it has a context, whose module registers them as well.
if (_native := sys.modules.get("fray._native")) is not None:
    ObjectRef.register(_native.ObjectRef)
