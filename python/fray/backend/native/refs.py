"""What a ref of the native engine does besides being held: `result` and `await`."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any
from weakref import WeakKeyDictionary

from fray import _native
from fray.backend.native.terminal import lend_terminal

__all__ = ["result", "wait_in_loop"]

_queues: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Any, Any]] = WeakKeyDictionary()


def result(ref: Any, timeout: float | None = None) -> Any:
    """Return the value of `ref`, waiting at most `timeout` seconds for it."""
    return _native.get(ref._client, ref, lend_terminal(ref._client, [ref], timeout))


def wait_in_loop(ref: Any) -> Generator[Any, None, Any]:
    """Wait for `ref` without stopping the running event loop."""
    if not ref._ready():
        loop = asyncio.get_running_loop()
        arrived = loop.create_future()
        _queue_of(loop, ref._client).add(ref, lambda: arrived.done() or arrived.set_result(None))
        yield from arrived
    return _native.get(ref._client, ref, None)


def _queue_of(loop: asyncio.AbstractEventLoop, client: Any) -> Any:
    queues = _queues.setdefault(loop, {})
    queue = queues.get(id(client))
    if queue is None:
        queue = queues[id(client)] = _native.make_queue(client)
        loop.add_reader(queue.fileno(), queue.run)
    return queue
