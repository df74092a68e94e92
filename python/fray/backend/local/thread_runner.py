"""Running an actor's calls on threads of its own."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any

from fray.backend.local.actor_call import ActorCall
from fray.backend.local.background import BackgroundThread
from fray.backend.local.call import Call
from fray.backend.local.mailbox import Mailbox
from fray.backend.local.runner import Runner

__all__ = ["ThreadRunner"]


class ThreadRunner(Runner):
    """As many threads as calls may run at once, started when they are first needed."""

    def __init__(self, mailbox: Mailbox, name: str, drive: Callable[[Call, Generator[Any, Any, Any]], None]) -> None:
        super().__init__(mailbox)
        self._name = name
        self._drive = drive
        self._threads: list[BackgroundThread] = []
        self._idle = 0

    def wake(self) -> None:
        with self._mailbox.changed:
            if self._mailbox.startable() is None:
                return
            if self._idle == 0 and len(self._threads) < self._mailbox.places:
                thread = BackgroundThread(self._loop, f"fray-actor {self._name}")
                self._threads.append(thread)
                self._idle += 1
                thread.launch()
            self._mailbox.changed.notify_all()

    def close(self) -> None:
        with self._mailbox.changed:
            self._mailbox.close()

    def help(self) -> None:
        """Its own threads run every call."""

    def join(self, deadline: float) -> None:
        for thread in self._threads:
            thread.join_until(deadline)

    def _loop(self) -> None:
        while (call := self._take()) is not None:
            with suppress(KeyboardInterrupt):  # raised by the method's own code; the cells have it
                call.run(self._drive)
            with self._mailbox.changed:
                self._mailbox.end(call)
                self._idle += 1
                del call

    def _take(self) -> ActorCall | None:
        """Wait for a call that may run; None when this thread should end."""
        with self._mailbox.changed:
            while (call := self._mailbox.startable()) is None:
                if self._mailbox.closed:
                    return None
                self._mailbox.changed.wait()
            self._mailbox.start(call)
            self._idle -= 1
            self.wake()
            return call
