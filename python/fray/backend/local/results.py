"""Results: `Cell` is the state of one, `LocalRef` points to it, `Waits` and `CellWatch` are the waits for it.

A cell is pending, then it has a value or a failure; or it is a stream of items that a generator produces.

Threading: everything is guarded by the engine's one condition, which all cells share.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterable
from contextlib import contextmanager
from functools import partial
from typing import Any, NoReturn, Protocol, TypeVar

from fray.job.refs import ObjectRef

__all__ = ["STREAM_ITEMS", "Cell", "CellWatch", "LocalRef", "Stream", "Waits"]

T = TypeVar("T")

STREAM_ITEMS = 16
"""Items that a generator may be ahead of its reader, where it does not run in the reader's thread."""


class Producer(Protocol):
    """The call that will end a cell, as the cell sees it."""

    def help(self) -> None: ...
    def cancel(self) -> None: ...
    def stop(self) -> None: ...
    def check_cancel(self, force: bool) -> None: ...
    def blockers(self) -> Iterable[int | Cell]: ...


class Stream:
    """The items of a generator task that nobody has taken yet, packed."""

    __slots__ = ("items", "listener", "pump", "unbounded")

    def __init__(self, pump: Callable[[], None] | None) -> None:
        self.items: deque[Any] = deque()
        self.unbounded = False
        """Whether all items will be taken, so that the producer does not wait for a reader."""
        self.pump = pump
        """Produces one more item or ends the cell; None where a thread or a loop produces the items."""
        self.listener: Callable[[], None] | None = None
        """Called, in any thread, to wake a producer that waits for something else than the condition."""

    def tell_producer(self) -> None:
        """Tell the producer that items were taken, or that no further item is wanted."""
        listener = self.listener
        if listener is not None:
            listener()


class Cell:
    """The state of one result."""

    __slots__ = (
        "__weakref__",
        "_condition",
        "_item_watchers",
        "_watchers",
        "abandoned",
        "call",
        "done",
        "failure",
        "name",
        "started",
        "stream",
        "value",
        "wants_all",
    )

    def __init__(self, condition: threading.Condition, name: str) -> None:
        self._condition = condition
        self._watchers: list[Callable[[], None]] = []
        self._item_watchers: list[Callable[[], None]] = []
        self.name = name
        self.done = False
        self.started = False
        self.value: Any = None
        self.failure: Any = None
        """The packed failure, None where there is none."""
        self.stream: Stream | None = None
        self.wants_all = False
        self.abandoned = False
        """Whether the last ref is gone."""
        self.call: Producer | None = None
        """The call that will end this cell; None where no call will."""

    def ready(self) -> bool:
        """Whether `wait` counts the cell as ready: it has ended, or its next item is there."""
        stream = self.stream
        return self.done or (stream is not None and (bool(stream.items) or stream.pump is not None))

    def finish(self, value: Any) -> None:
        """End with a packed value, unless it has ended."""
        self._end(value, None)

    def fail(self, failure: Any) -> None:
        """End with a packed failure, unless it has ended."""
        self._end(None, failure)

    def _end(self, value: Any, failure: Any) -> None:
        with self._condition:
            if self.done:
                return
            self.done, self.value, self.failure, self.call = True, value, failure, None
            if self.stream is not None:
                self.stream.pump = None
                self.stream.tell_producer()
            self.notify()

    def start_stream(self, pump: Callable[[], None] | None) -> Stream:
        """Become a stream, since the function returned a generator."""
        with self._condition:
            self.stream = stream = Stream(pump)
            stream.unbounded = self.wants_all
            self.notify()
            return stream

    def want_all(self) -> None:
        """Lift the back-pressure: all items will be taken."""
        with self._condition:
            self.wants_all = True
            if self.stream is not None:
                self.stream.unbounded = True
                self.stream.tell_producer()
                self._condition.notify_all()

    def abandon(self) -> None:
        """Note that the last ref is gone. The garbage collector may run this at any time, so its lock is reentrant."""
        self.abandoned = True
        if self.stream is not None and not self.done:
            with self._condition:
                self.stream.tell_producer()
                self._condition.notify_all()

    def pump_all(self) -> None:
        """Produce all items of a stream that has a `pump`."""
        stream = self.stream
        while not self.done and stream is not None and (pump := stream.pump) is not None:
            pump()

    def watch(self, callback: Callable[[], None], for_item: bool = False) -> bool:
        """Call `callback` once when the cell ends, with the condition held; return False where the cell has ended.

        With `for_item`, what is waited for is that the cell is ready: that its next item is there, or its end.
        """
        with self._condition:
            if self.done or (for_item and self.ready()):
                return False
            (self._item_watchers if for_item else self._watchers).append(callback)
            return True

    def unwatch(self, callback: Callable[[], None]) -> None:
        """Take back what `watch` has promised; no effect after `callback` was called."""
        with self._condition:
            for watchers in (self._watchers, self._item_watchers):
                if callback in watchers:
                    watchers.remove(callback)

    def notify(self) -> None:
        """Wake all waiting threads, and call the watchers for whom something has come. The condition is held."""
        self._condition.notify_all()
        watchers: list[Callable[[], None]] = []
        if self.done and self._watchers:
            watchers, self._watchers = self._watchers, []
        if self._item_watchers and self.ready():
            watchers, self._item_watchers = watchers + self._item_watchers, []
        for watcher in watchers:
            watcher()


class Holder(Protocol):
    """The engine that refs belong to, as they see it."""

    def read(self, ref: LocalRef[Any], timeout: float | None) -> Any: ...
    def next_item(self, ref: LocalRef[Any]) -> LocalRef[Any]: ...
    def next_in_loop(self, ref: LocalRef[Any]) -> Coroutine[Any, Any, LocalRef[Any]]: ...
    def wait_in_loop(self, ref: LocalRef[Any]) -> Coroutine[Any, Any, None]: ...


class LocalRef(ObjectRef[T]):
    """Points to a cell of its context. Dropping the last ref of a generator task stops its producer."""

    __slots__ = ("__weakref__", "cell", "engine")

    def __init__(self, engine: Holder, cell: Cell) -> None:
        self.engine = engine
        self.cell = cell

    def result(self, timeout: float | None = None) -> T:
        return self.engine.read(self, timeout)

    def __next__(self) -> LocalRef[Any]:
        return self.engine.next_item(self)

    def __anext__(self) -> Coroutine[Any, Any, LocalRef[Any]]:
        return self.engine.next_in_loop(self)

    def __await__(self) -> Generator[Any, None, T]:
        yield from self.engine.wait_in_loop(self).__await__()
        return self.result(0)

    def __repr__(self) -> str:
        return f"<fray ref of {self.cell.name!r}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a ref cannot be pickled outside Fray: it means something only inside its context. Pass it to a task, "
            "return it or put it; or get its value first"
        )

    def __del__(self) -> None:
        self.cell.abandon()


class Waits:
    """Knows the waits of threads for single results.

    A circle is found when its last wait begins. A wait for one of several results, or for one of several free places
    in an actor, belongs to no circle.

    Threading: guarded by the lock that is handed in, which the cells of the context share.
    """

    def __init__(self, lock: threading.RLock) -> None:
        self._lock = lock
        self._cells: dict[int, Cell] = {}

    @contextmanager
    def of_this_thread(self, cell: Cell) -> Generator[bool, None, None]:
        """Surround a wait of this thread for `cell`; the value is False where the wait would never end."""
        me = threading.get_ident()
        before = self._cells.get(me)
        try:
            with self._lock:
                can_end = not self._leads_to(cell, me)
                if can_end:
                    self._cells[me] = cell
            yield can_end
        finally:
            with self._lock:
                if before is not None:
                    self._cells[me] = before
                else:
                    self._cells.pop(me, None)

    def _leads_to(self, cell: Cell, thread: int) -> bool:
        """Return whether `cell` can end only after `thread` has gone on; the lock is held."""
        seen: set[int] = set()
        left: list[int | Cell] = [cell]
        while left:
            item = left.pop()
            if item == thread:
                return True
            if isinstance(item, int):
                item = self._cells.get(item)
            if item is None or item.done or item.call is None or id(item) in seen:
                continue
            seen.add(id(item))
            left.extend(item.call.blockers())
        return False


class CellWatch:
    """A `Watch` over cells, which call back when they end."""

    def __init__(self) -> None:
        self._arrived: deque[Callable[[], object]] = deque()
        self._event = threading.Event()

    def add(self, ref: LocalRef[object], arrived: Callable[[], object]) -> None:
        ref.cell.want_all()
        ref.cell.pump_all()
        if not ref.cell.watch(partial(self._note, arrived)):
            self._note(arrived)

    def serve(self) -> None:
        self._event.wait()
        self._event.clear()
        while self._arrived:
            self._arrived.popleft()()

    def wake(self) -> None:
        self._event.set()

    def _note(self, arrived: Callable[[], object]) -> None:
        self._arrived.append(arrived)
        self._event.set()
