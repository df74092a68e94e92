"""Threads that can be started by whoever holds a lock."""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Callable
from typing import Any

__all__ = ["BackgroundThread"]


class BackgroundThread(threading.Thread):
    """A daemon thread that `launch` starts without waiting for it.

    `Thread.start` waits until the new thread runs. The new thread may collect garbage before that, and a finalizer in
    the garbage may want the very lock that the caller of `start` holds.
    """

    def __init__(self, target: Callable[[], Any], name: str) -> None:
        super().__init__(target=target, name=name, daemon=True)
        self._launched = threading.Event()

    def launch(self) -> None:
        """Start it soon."""
        _thread.start_new_thread(self._start, ())

    def _start(self) -> None:
        self.start()
        self._launched.set()

    def join_until(self, deadline: float) -> None:
        """Wait for its end, at most until `deadline`; no effect in the thread itself."""
        if self is not threading.current_thread() and self._launched.wait(max(0.0, deadline - time.monotonic())):
            self.join(max(0.0, deadline - time.monotonic()))
