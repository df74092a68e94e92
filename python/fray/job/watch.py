"""`Watch`: many refs that one thread waits for, each with a function to call when it is ready.

`RefCallbacks` is a watch with such a thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from fray.errors import FrayError

__all__ = ["PollingWatch", "RefCallbacks", "Watch"]

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


class RefCallbacks:
    """Calls functions when refs are ready, in a thread that serves `watch` as long as there are such refs."""

    def __init__(self, watch: Watch) -> None:
        self._lock = threading.Lock()
        self._watch = watch
        self._pending = 0
        self._serving = False

    def add(self, ref: Any, then: Callable[[], object]) -> None:
        """Call `then` in another thread once `ref` is ready; never if the context is closed before."""

        def arrive() -> None:
            with self._lock:
                self._pending -= 1
            then()

        with self._lock:
            self._pending += 1
            self._watch.add(ref, arrive)
            if not self._serving:
                threading.Thread(target=self._run, name="fray-callbacks", daemon=True).start()
                self._serving = True  # only now: Ctrl-C may have kept the thread from starting

    def _run(self) -> None:
        with suppress(FrayError):  # the context is closed, as `get` of these refs says
            while self._goes_on():
                self._watch.serve()

    def _goes_on(self) -> bool:
        with self._lock:
            self._serving = self._pending > 0
            return self._serving
