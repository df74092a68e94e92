"""The event loop of an actor that has `async def` methods. Imported where there are such actors: asyncio is heavy.

`_enter_task` and `_leave_task` are what asyncio's documentation ("Extending") names for those who run tasks themselves.
"""

from __future__ import annotations

import asyncio
import os
from asyncio.tasks import _enter_task, _leave_task  # pyright: ignore[reportPrivateUsage]
from collections.abc import AsyncIterator, Coroutine, Generator
from contextvars import Context, copy_context
from functools import partial
from inspect import CORO_CREATED, getcoroutinestate, isasyncgen, isawaitable, iscoroutine, isgenerator
from types import CoroutineType, coroutine
from typing import Any

from fray._native import ActorHost
from fray.backend.native.refs import awaited_refs
from fray.errors import DeadlockError

__all__ = ["serve_on_loop"]

_TASK_NAME = "fray call"  # asyncio would count and format one for each
_LOOK_SECONDS = 0.05  # between looks at what the calls of a full actor wait for


def serve_on_loop(host: ActorHost, limit: int) -> None:
    """Run calls as tasks of one event loop, at most `limit` at once, until the node lets go of the actor."""
    asyncio.run(_EventLoopHost(host, limit).run())


class _EventLoopHost:
    """Runs calls on one event loop, at most `limit` at once.

    Coroutines take their first step at once, in the name of a task that stands ready (`_Successor`). One that ends in
    that step has cost no task; the first one that waits goes on in that task, and those behind it get tasks of their
    own until the next one stands ready and they have begun. So calls begin in their order, and `current_task()` stays
    the same in a call.
    """

    def __init__(self, host: ActorHost, limit: int) -> None:
        self.host = host
        self.limit = limit
        self.tasks: dict[int, asyncio.Task[None]] = {}
        self.waiting: set[asyncio.Event] = set()  # of generators that sent more than was taken
        self.flush_planned = False
        self.successor: _Successor | None = None
        self.newest: asyncio.Task[None] | None = None  # of a call that took no first step yet; those before begin first
        self.looks: asyncio.TimerHandle | None = None
        self.said: dict[int, tuple[int, list[asyncio.Future[None]]]] = {}  # waits of calls that the node knows

    async def run(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.context = copy_context()
        self.ended = asyncio.Event()
        _Successor(self)
        self.loop.add_reader(self.host.fileno(), self.pump)
        os.register_at_fork(after_in_child=self.leave_to_parent)
        self.host.ready()
        await self.ended.wait()

    def pump(self) -> None:
        """Take the calls that have come."""
        if self.host.has_ended():
            self.loop.remove_reader(self.host.fileno())
            self.ended.set()
            return
        for call, result, streams in self.take():
            self.start(call, result, streams)
        for call in self.host.cancelled():
            if call in self.tasks:
                self.cancel(call)
        for event in self.waiting:
            event.set()
        if self.said:
            self.refuse_waits()
        if self.looks is None and len(self.tasks) >= self.limit:
            self.looks = self.loop.call_later(_LOOK_SECONDS, self.look_at_waits)
        if not self.tasks:
            self.flush()
        else:
            self.plan_flush()
            if len(self.tasks) < self.limit and self.host.has_calls():
                self.loop.call_soon(self.pump)

    def take(self) -> Any:
        """Take as many as may run, and let them take their first step as long as a task stands ready."""
        places = self.limit - len(self.tasks)
        successor = self.successor
        if successor is None or successor.task.cancelling() or self.is_behind():
            return self.host.take(places, None, self.context)[0]
        _enter_task(self.loop, successor.task)
        try:
            calls, waiting = self.host.take(places, successor.task, self.context)
        finally:
            _leave_task(self.loop, successor.task)
        if waiting is not None:
            self.tasks[waiting[0]] = successor.task
            successor.go_on(*waiting)
            _Successor(self)
        return calls

    def is_behind(self) -> bool:
        """Return whether calls that came before have not begun, which a first step at once would overtake."""
        if self.newest is not None and _has_begun(self.newest):
            self.newest = None
        return self.newest is not None

    def start(self, call: int, result: Any, streams: bool) -> None:
        if type(result) is CoroutineType or isawaitable(result):
            self.newest = self.tasks[call] = self.new_task(self.finish(call, result))
        elif streams and (isasyncgen(result) or isgenerator(result)):
            self.newest = self.tasks[call] = self.new_task(self.stream(call, result))
        else:
            self.host.finish(call, result)

    def new_task(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return asyncio.Task(coroutine, loop=self.loop, name=_TASK_NAME, context=self.context.copy())

    def look_at_waits(self) -> None:
        """Tell the node what the calls wait for while no further one may run: they may wait for one of those."""
        self.looks = None
        full = len(self.tasks) >= self.limit
        waits = self.waits() if full else {}
        for call in list(self.said):
            if call not in waits:
                self.forget_wait(call)
        for call, refs in waits.items():
            known = self.said.get(call, (0, []))[0]
            number = self.host.say_wait(known, call, list(refs.values()))
            self.said[call] = number, list(refs)
        if full:
            self.looks = self.loop.call_later(_LOOK_SECONDS, self.look_at_waits)

    def waits(self) -> dict[int, dict[asyncio.Future[None], Any]]:
        """Return what each call waits for that only refs can wake; with a timer in the loop, anything may."""
        timers = getattr(self.loop, "_scheduled", None)
        if timers is None or any(not timer.cancelled() for timer in timers):
            return {}
        found = {call: awaited_refs(task) for call, task in self.tasks.items()}
        return {call: refs for call, refs in found.items() if refs}

    def refuse_waits(self) -> None:
        for number, why in self.host.refused_waits():
            for known, futures in list(self.said.values()):
                if known == number and not futures[0].done():
                    futures[0].set_exception(DeadlockError(why))

    def forget_wait(self, call: int) -> None:
        number, _ = self.said.pop(call)
        self.host.forget_wait(number)

    def leave_to_parent(self) -> None:
        """End this forked child when its coroutine waits: the loop it would go back to is the parent's."""
        self.loop.call_soon(self.host.end_child)

    def cancel(self, call: int) -> None:
        """Cancel its task. One that has not begun ends without a step, so nothing in it would answer the call."""
        task = self.tasks[call]
        if call in self.said:
            self.forget_wait(call)
        steps: Any = task.get_coro()
        if not _has_begun(task):
            unbegun = steps.cr_frame.f_locals["result"]
            if iscoroutine(unbegun):
                unbegun.close()  # or Python complains that nobody awaited it
            self.answer(call, None)
        task.cancel()

    async def finish(self, call: int, result: Any) -> None:
        try:
            value = await result
        except asyncio.CancelledError:
            self.answer(call, None)
        except BaseException as error:
            self.answer(call, error)
        else:
            self.leave_place(call)
            self.host.finish(call, value)
            if not self.flush_planned or len(self.tasks) == self.limit - 1:
                self.after_answer()

    async def stream(self, call: int, result: Any) -> None:
        index = 0
        try:
            async for item in _each(result):
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
            self.leave_place(call)
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
        self.leave_place(call)
        self.host.fail(call, error)
        self.after_answer()

    def leave_place(self, call: int) -> None:
        del self.tasks[call]
        if self.said and call in self.said:
            self.forget_wait(call)

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


def _has_begun(task: asyncio.Task[None]) -> bool:
    steps: Any = task.get_coro()
    return getcoroutinestate(steps) != CORO_CREATED


class _Successor:
    """A task that stands ready to go on with a call that waits for something after its first step."""

    def __init__(self, host: _EventLoopHost) -> None:
        host.successor = None
        self.host = host
        self.wanted: asyncio.Future[None] = host.loop.create_future()
        self.call = 0
        self.rest: Any = None
        self.task = host.new_task(self.run())

    def go_on(self, call: int, coroutine: Any, waits_for: Any, context: Context) -> None:
        self.call = call
        self.rest = partial(_rest, coroutine, waits_for, context)
        if getattr(waits_for, "_asyncio_future_blocking", False):
            waits_for._asyncio_future_blocking = False  # until the task says so itself; others may ask for it before
        if not self.wanted.done():
            self.wanted.set_result(None)

    async def run(self) -> None:
        self.host.successor = self  # not before: a task that is cancelled before it has begun never runs
        cancelled = False
        try:
            await self.wanted
        except asyncio.CancelledError:
            cancelled = True
        if self.rest is not None:
            await self.host.finish(self.call, self.rest(cancelled))
        elif not self.host.ended.is_set():
            _Successor(self.host)


@coroutine
def _rest(coroutine: Any, waits_for: Any, context: Context, cancelled: bool) -> Generator[Any, None, Any]:
    """Go on with a coroutine that waits, in its own context, as `yield from` would have if it had begun it."""
    if hasattr(waits_for, "_asyncio_future_blocking"):
        waits_for._asyncio_future_blocking = True  # what `await` tells the task; see asyncio.Future.__await__
        cancelled = cancelled and not waits_for.cancel()  # as Task.cancel(): what it waits for hears of it first
    while True:
        try:
            if cancelled:
                cancelled = False
                raise asyncio.CancelledError
            yield waits_for
        except BaseException as error:
            step = partial(coroutine.throw, error)
        else:
            step = partial(coroutine.send, None)
        try:
            waits_for = context.run(step)
        except StopIteration as done:
            return done.value


async def _each(items: Any) -> AsyncIterator[Any]:
    if isasyncgen(items):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
