"""`QueueWatch`: the engine's completion queue as a `Watch`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fray import _native

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
        self._queue.add(_native.put(self._client, None), _nothing)


def _nothing() -> None:
    pass
