"""The calls of one actor that have not ended, in the order of their submission, and what runs them."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import deque
from typing import Generic, Protocol, TypeVar

__all__ = ["Mailbox", "Runner"]


class Waiting(Protocol):
    """A call, as its mailbox sees it."""

    def settled(self) -> bool: ...
    def arguments_ready(self) -> bool: ...
    def begin(self) -> None: ...


C = TypeVar("C", bound=Waiting)


class Mailbox(Generic[C]):
    """Decides which call may start: the first one, when its arguments are ready and a place is free.

    So a call whose arguments are not ready holds back those behind it. The constructor is the first call, and runs
    alone.

    Threading: guarded by the lock that is handed in; `changed`, on that lock, wakes the threads that start calls.
    Ownership: calls hold their actor, so the actor lives while calls of it are here; an empty mailbox holds nothing.
    """

    def __init__(self, lock: threading.RLock, places: int) -> None:
        self.changed = threading.Condition(lock)
        self.places = places
        self.closed = False
        self._queue: deque[C] = deque()
        self._running: list[C] = []
        self._constructed = False

    def put(self, call: C) -> None:
        """Add a call behind all others."""
        self._queue.append(call)
        self.changed.notify_all()

    def first(self) -> C | None:
        """Return the call that starts next, None where none waits. A settled one is skipped."""
        while self._queue and self._queue[0].settled():
            self._queue.popleft()
        return self._queue[0] if self._queue else None

    def startable(self) -> C | None:
        """Return the call that may start now, or None."""
        call = self.first()
        places = self.places if self._constructed else 1
        if self.closed or call is None or len(self._running) >= places:
            return None
        return call if call.arguments_ready() else None

    def start(self, call: C) -> None:
        """Give a place to `call`, which is startable."""
        self._queue.popleft()
        self._running.append(call)
        call.begin()

    def full(self) -> bool:
        """Whether every place is taken."""
        return len(self._running) >= self.places

    def resume(self, call: C) -> None:
        """Give a place, which is free, to a call that had one before."""
        self._running.append(call)

    def end(self, call: C) -> None:
        """Take the place of `call` back."""
        self._running.remove(call)
        self._constructed = True
        self.changed.notify_all()

    def running(self) -> list[C]:
        """Return the calls that have a place, in the order in which they got it."""
        return list(self._running)

    def waiting(self) -> list[C]:
        """Return the calls that have no place."""
        return list(self._queue)

    def close(self) -> None:
        """Start no further call and drop the calls."""
        self.closed = True
        self._queue.clear()
        self.changed.notify_all()


class Runner(ABC, Generic[C]):
    """Takes calls from a mailbox and runs them.

    Ownership: a runner does not hold the actor while nothing is to be run; the actor closes it when it ends.
    """

    def __init__(self, mailbox: Mailbox[C]) -> None:
        self._mailbox = mailbox

    @property
    def thread(self) -> int | None:
        """The id of the thread that runs all calls; None where calls run on several threads."""
        return None

    @abstractmethod
    def wake(self) -> None:
        """Start a call if one may start; the lock may be held."""

    @abstractmethod
    def close(self) -> None:
        """Start no further call; results of calls that still run are ignored."""

    @abstractmethod
    def help(self) -> None:
        """Run, in this thread, the calls that no other thread will run."""

    @abstractmethod
    def join(self, deadline: float) -> None:
        """Wait until all threads have ended, at most until `deadline`."""
