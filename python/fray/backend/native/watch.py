"""`QueueWatch`: the engine's completion queue as a `Watch`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from fray import _native
from fray.errors import ContextClosedError

__all__ = ["QueueWatch"]


class QueueWatch:
    """The thread that serves reads the workers' sockets itself, so an answer reaches it without a detour."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._queue = _native.make_queue(client)
        self.add: Callable[[Any, Callable[[], object]], None] = self._queue.watch

    def serve(self) -> None:
        self._queue.wait(None)
        self._queue.run()

    def wake(self) -> None:
        # The end of a context has woken its queues already.
        with suppress(ContextClosedError):
            self._queue.add(_native.put(self._client, None), _nothing)


def _nothing() -> None:
    pass
