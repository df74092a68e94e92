"""The event loop of an actor that has `async def` methods. Imported by such actors alone: asyncio is heavy."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from inspect import isasyncgen, isawaitable, isgenerator
from types import CoroutineType
from typing import Any

__all__ = ["serve_on_loop"]

_TASK_NAME = "fray call"  # asyncio would count and format one for each


def serve_on_loop(host: Any, limit: int) -> None:
    """Run calls as tasks of one event loop, at most `limit` at once, until the node lets go of the actor."""
    asyncio.run(_EventLoopHost(host, limit).run())


class _EventLoopHost:
    """Runs calls as tasks of one event loop, at most `limit` at once."""

    def __init__(self, host: Any, limit: int) -> None:
        self.host = host
        self.limit = limit
        self.tasks: dict[int, asyncio.Task[None]] = {}
        self.waiting: set[asyncio.Event] = set()  # of generators that sent more than was taken
        self.flush_planned = False

    async def run(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.ended = asyncio.Event()
        self.loop.add_reader(self.host.fileno(), self.pump)
        self.host.ready()
        await self.ended.wait()

    def pump(self) -> None:
        """Take the calls that have come."""
        if self.host.has_ended():
            self.loop.remove_reader(self.host.fileno())
            self.ended.set()
            return
        for call, result, streams in self.host.take(self.limit - len(self.tasks)):
            self.start(call, result, streams)
        for call in self.host.cancelled():
            if call in self.tasks:
                self.tasks[call].cancel()
        for event in self.waiting:
            event.set()
        self.plan_flush()

    def start(self, call: int, result: Any, streams: bool) -> None:
        if type(result) is CoroutineType or isawaitable(result):
            self.tasks[call] = asyncio.Task(self.finish(call, result), loop=self.loop, name=_TASK_NAME)
        elif streams and (isasyncgen(result) or isgenerator(result)):
            self.tasks[call] = self.loop.create_task(self.stream(call, result))
        else:
            self.host.finish(call, result)

    async def finish(self, call: int, result: Any) -> None:
        try:
            value = await result
        except asyncio.CancelledError:
            self.answer(call, None)
        except BaseException as error:
            self.answer(call, error)
        else:
            del self.tasks[call]
            self.host.finish(call, value)
            if not self.flush_planned or len(self.tasks) == self.limit - 1:
                self.after_answer()

    async def stream(self, call: int, items: Any) -> None:
        index = 0
        try:
            async for item in _each(items):
                if not self.host.item(call, index, item):
                    raise asyncio.CancelledError
                index += 1
                await asyncio.sleep(0)  # a generator that never waits must not keep the loop to itself
                while not self.host.may_send(call):
                    await self.until_taken()
        except asyncio.CancelledError:
            self.answer(call, None)
        except BaseException as error:
            self.answer(call, error)
        else:
            del self.tasks[call]
            self.host.finish(call, None)
            self.after_answer()

    async def until_taken(self) -> None:
        event = asyncio.Event()
        self.waiting.add(event)
        try:
            await event.wait()
        finally:
            self.waiting.discard(event)

    def answer(self, call: int, error: BaseException | None) -> None:
        del self.tasks[call]
        self.host.fail(call, error)
        self.after_answer()

    def after_answer(self) -> None:
        if len(self.tasks) == self.limit - 1:  # calls may wait for this place
            self.loop.call_soon(self.pump)
        self.plan_flush()

    def plan_flush(self) -> None:
        """Send all answers of one round of the loop in one write."""
        if not self.flush_planned:
            self.flush_planned = True
            self.loop.call_soon(self.flush)

    def flush(self) -> None:
        """Send them; a caller that waits for its answer calls again soon, and waking this thread takes long."""
        self.flush_planned = False
        self.host.flush()
        if not self.tasks and self.host.spin():
            self.loop.call_soon(self.pump)


async def _each(items: Any) -> AsyncIterator[Any]:
    if isasyncgen(items):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
