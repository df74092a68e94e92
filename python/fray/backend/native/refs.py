"""The methods of a ref of the native engine: `result`, `await` and the step of ``async for``."""

from __future__ import annotations

import asyncio
import sys
import types
from collections.abc import Generator
from typing import Any
from weakref import WeakKeyDictionary

from fray import _native
from fray.backend.native.terminal import lend_terminal
from fray.backend.native.tracing import awaiting
from fray.errors import DeadlockError

__all__ = ["awaited_refs", "next_in_loop", "note_loops", "result", "wait_in_loop"]

_awaited: dict[asyncio.Future[None], Any] = {}  # the refs that coroutines wait for, by the future that ends the wait
_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, float] = WeakKeyDictionary()  # when readers last let others run
_TURN = 0.001  # seconds that readers of ready items may run before the other coroutines have a turn
_queues: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Any, Any]] = WeakKeyDictionary()


def result(ref: Any, timeout: float | None = None) -> Any:
    """Return the value of `ref`, waiting at most `timeout` seconds for it."""
    return _native.get(ref._client, ref, lend_terminal(ref._client, [ref], timeout))


def wait_in_loop(ref: Any) -> Generator[Any, None, Any]:
    """Wait for `ref` without stopping the running event loop."""
    if ref._ready():
        return _native.get(ref._client, ref, None)
    ref._want_all()
    with awaiting(ref):
        while not ref._ready():  # a refused wait of another coroutine for the same ref ends this one too
            yield from _until_told(ref)
        return _native.get(ref._client, ref, None)


async def next_in_loop(ref: Any) -> Any:
    """Return the ref of the next item of a generator task without stopping the running event loop.

    A worker can be quicker than its reader, who then never waits: the other coroutines have a turn each millisecond.
    """
    loop = asyncio.get_running_loop()
    if loop.time() - _turns.get(loop, 0.0) > _TURN:
        await asyncio.sleep(0)  # before an item is taken, for whoever is cancelled here must not lose one
        _turns[loop] = loop.time()
    try:
        while (item := ref._take()) is None:
            await _until_item(ref)
    except StopIteration:
        raise StopAsyncIteration from None
    return item


@types.coroutine
def _until_item(ref: Any) -> Generator[Any, None, None]:
    yield from _until_told(ref, for_item=True)


def _until_told(ref: Any, for_item: bool = False) -> Generator[Any, None, None]:
    """Wait until the engine says that `ref` is ready; raise DeadlockError where it says that it never will be.

    The engine tells each item of a generator task as well, when the item arrives. With `for_item` the wait ends at once
    where an item is there already.
    """
    loop = asyncio.get_running_loop()
    queue = _queue_of(loop, ref._client)
    arrived = loop.create_future()

    def arrive() -> None:
        if not arrived.done():
            arrived.set_result(None)

    queue.add(ref, arrive)
    if for_item and ref._has_next():
        arrive()
    wait = queue.begin_wait(ref)
    _awaited[arrived] = ref
    try:
        yield from arrived
    finally:
        del _awaited[arrived]
        refusal = queue.end_wait(ref, wait)
        if for_item or arrived.cancelled():
            queue.remove(ref, arrive)
    if refusal is not None:
        raise DeadlockError(refusal)


def awaited_refs(waits_for: Any) -> dict[asyncio.Future[None], Any] | None:
    """Return the refs of which one must be ready before `waits_for`, which a coroutine awaits, can end.

    They are given by the futures that their arrival ends. None where something else may end `waits_for`.
    """
    if waits_for in _awaited:
        return None if waits_for.done() else {waits_for: _awaited[waits_for]}
    if isinstance(waits_for, asyncio.Task):
        return awaited_refs(getattr(waits_for, "_fut_waiter", None))  # pyright: ignore[reportUnknownArgumentType]
    children = getattr(waits_for, "_children", None)  # of asyncio.gather
    if not children:
        return None
    found: dict[asyncio.Future[None], Any] = {}
    for child in children:
        if child.done():
            continue
        refs = awaited_refs(child)
        if refs is None:
            return None
        found.update(refs)
    return found or None


def note_loops() -> None:
    """Tell the engine of the event loops that run in this process; see `_note_loop`."""
    base: Any = asyncio.BaseEventLoop
    run_once = base._run_once.__code__
    for top in sys._current_frames().values():  # pyright: ignore[reportPrivateUsage]
        frame = top
        while frame is not None and frame.f_code is not run_once:
            frame = frame.f_back
        if frame is not None:
            _note_loop(frame.f_locals["self"])


def _note_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Tell the engine that only this process makes the socket readable by which threads wake one of asyncio's loops."""
    socket: Any = getattr(loop, "_ssock", None)
    if socket is not None:
        _native.note_own_socket(socket.fileno())


def _queue_of(loop: asyncio.AbstractEventLoop, client: _native.Client) -> _native.CompletionQueue:
    queues = _queues.setdefault(loop, {})
    queue = queues.get(id(client))
    if queue is None:
        queue = queues[id(client)] = _native.make_queue(client)
        queue.serve_loop()
        _note_loop(loop)
        loop.add_reader(queue.fileno(), queue.run)
    return queue
