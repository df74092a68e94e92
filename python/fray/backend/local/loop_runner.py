"""Running an actor's calls side by side on one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import Any

from fray.backend.local.actor import ActorCall
from fray.backend.local.call import Call
from fray.backend.local.mailbox import Mailbox, Runner
from fray.backend.local.pool import BackgroundThread
from fray.backend.local.results import STREAM_ITEMS, Cell, Stream

__all__ = ["LoopRunner"]


class LoopRunner(Runner[ActorCall]):
    """One event loop on a thread of its own."""

    def __init__(self, mailbox: Mailbox[ActorCall], name: str) -> None:
        super().__init__(mailbox)
        self._loop = asyncio.new_event_loop()
        self._closing = self._loop.create_future()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = BackgroundThread(self._run, f"fray-actor {name}")
        self._thread.launch()

    @property
    def thread(self) -> int | None:
        return self._thread.ident

    def wake(self) -> None:
        self._soon(self._start_calls)

    def close(self) -> None:
        with self._mailbox.changed:
            self._mailbox.close()
        self._soon(lambda: self._closing.done() or self._closing.set_result(None))

    def help(self) -> None:
        """Do nothing: the event loop runs every call."""

    def join(self, deadline: float) -> None:
        self._thread.join_until(deadline)

    def _soon(self, step: Callable[[], Any]) -> None:
        with suppress(RuntimeError):  # the loop is closed, and all its calls have ended
            self._loop.call_soon_threadsafe(step)

    def _run(self) -> None:
        async def until_closed() -> None:
            await self._closing

        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(until_closed())  # what is still running is cancelled

    def _start_calls(self) -> None:
        while True:
            with self._mailbox.changed:
                call = self._mailbox.startable()
                if call is None:
                    return
                self._mailbox.start(call)
            task = self._loop.create_task(self._run_call(call), context=call.variables)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            call.on_stop(lambda task=task: self._soon(task.cancel))
            del call, task

    async def _run_call(self, call: ActorCall) -> None:
        try:
            await call.run_in_loop(self._drive)
        finally:
            with self._mailbox.changed:
                self._mailbox.end(call)
            self._start_calls()

    async def _drive(self, call: Call, items: AsyncGenerator[Any, Any]) -> None:
        """Run the generator here, a few items ahead of its reader."""
        cell = call.cells[0]
        stream = cell.start_stream(None)
        looked = asyncio.Event()
        stream.listener = lambda: self._soon(looked.set)
        try:
            while await _room(cell, stream, looked):
                item = call.pack_item(await anext(items))
                with self._mailbox.changed:
                    if not cell.done:
                        stream.items.append(item)
                        cell.notify()
        except StopAsyncIteration:
            cell.finish(None)
        else:
            call.cancel()
        finally:
            await items.aclose()


async def _room(cell: Cell, stream: Stream, looked: asyncio.Event) -> bool:
    """Wait until the reader has taken enough items; return False when no further item is wanted."""
    while True:
        looked.clear()
        if cell.done or (cell.abandoned and not stream.unbounded):
            return False
        if stream.unbounded or len(stream.items) < STREAM_ITEMS:
            return True
        await looked.wait()
