"""`Watch`: many refs that one thread waits for, each with a function to call when it is ready."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["PollingWatch", "Watch"]

_POLL_SECONDS = 0.02


class Watch(Protocol):
    """`add` and `wake` may be called from any thread, `serve` from one at a time."""

    @property
    def add(self) -> Callable[[Any, Callable[[], object]], None]:
        """``add(ref, arrived)`` has `arrived` called by `serve` once `ref` is ready. `arrived` must raise nothing."""
        ...

    def serve(self) -> None:
        """Wait until refs are ready, or `wake` is called; call the functions of the refs that are ready.

        Raises:
            FrayError: the context was closed, or its node has died.
        """
        ...

    def wake(self) -> None:
        """Let the `serve` that runs, or the next one, return."""
        ...


class PollingWatch:
    """The watch of an engine that offers nothing better than `wait`."""

    def __init__(self, wait: Callable[[list[Any], int, float], tuple[list[Any], list[Any]]]) -> None:
        self._wait = wait
        self._lock = threading.Lock()
        self._waiting: dict[Any, list[Callable[[], object]]] = {}
        self._woken = threading.Event()

    def add(self, ref: Any, arrived: Callable[[], object]) -> None:
        with self._lock:
            self._waiting.setdefault(ref, []).append(arrived)

    def serve(self) -> None:
        while True:
            with self._lock:
                pending = list(self._waiting)
            if not pending:
                self._woken.wait(_POLL_SECONDS)
            elif not self._wait(pending, 1, _POLL_SECONDS)[0]:
                pending = []
            ready = self._wait(pending, len(pending), 0)[0] if pending else []
            with self._lock:
                arrived = [callback for ref in ready for callback in self._waiting.pop(ref)]
            for callback in arrived:
                callback()
            if arrived or self._woken.is_set():
                self._woken.clear()
                return

    def wake(self) -> None:
        self._woken.set()
