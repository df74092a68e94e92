"""The calls of one actor that have not ended, in the order of their submission."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fray.backend.local.actor_call import ActorCall

__all__ = ["Mailbox"]


class Mailbox:
    """Says which call may start: the first one, when its arguments are ready and a place is free.

    So a call whose arguments are not ready holds back those behind it. The constructor is the first call, and runs
    alone.

    Threading: guarded by the lock that is handed in; `changed`, on that lock, wakes whoever starts calls.
    Ownership: calls hold their actor, so the actor lives while calls of it are here; an empty mailbox holds nothing.
    """

    def __init__(self, lock: threading.RLock, places: int) -> None:
        self.changed = threading.Condition(lock)
        self.places = places
        self.closed = False
        self._queue: deque[ActorCall] = deque()
        self._running: list[ActorCall] = []
        self._constructed = False

    def put(self, call: ActorCall) -> None:
        """Add a call behind all others."""
        self._queue.append(call)
        self.changed.notify_all()

    def first(self) -> ActorCall | None:
        """Return the call that starts next, None where none waits. A settled one is skipped."""
        while self._queue and self._queue[0].settled():
            self._queue.popleft()
        return self._queue[0] if self._queue else None

    def startable(self) -> ActorCall | None:
        """Return the call that may start now, or None."""
        call = self.first()
        places = self.places if self._constructed else 1
        if self.closed or call is None or len(self._running) >= places:
            return None
        return call if call.arguments_ready() else None

    def start(self, call: ActorCall) -> None:
        """Give a place to `call`, which is startable."""
        self._queue.popleft()
        self._running.append(call)
        call.begin()

    def full(self) -> bool:
        """Whether every place is taken."""
        return len(self._running) >= self.places

    def resume(self, call: ActorCall) -> None:
        """Give a place, which is free, to a call that had one before."""
        self._running.append(call)

    def end(self, call: ActorCall) -> None:
        """Take the place of `call` back."""
        self._running.remove(call)
        self._constructed = True
        self.changed.notify_all()

    def running(self) -> list[ActorCall]:
        """Return the calls that have a place, in the order in which they got it."""
        return list(self._running)

    def waiting(self) -> list[ActorCall]:
        """Return the calls that have none."""
        return list(self._queue)

    def close(self) -> None:
        """Start nothing more and let go of the calls."""
        self.closed = True
        self._queue.clear()
        self.changed.notify_all()
