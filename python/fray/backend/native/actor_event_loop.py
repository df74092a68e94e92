"""The event loop of an actor that has `async def` methods. Imported where there are such actors: asyncio is heavy.

`_enter_task` and `_leave_task` are in asyncio's documentation ("Extending") for libraries that run tasks themselves.
"""

from __future__ import annotations

import asyncio
import os
from asyncio.tasks import _enter_task, _leave_task  # pyright: ignore[reportPrivateUsage]
from collections.abc import AsyncIterator, Coroutine, Generator
from contextvars import Context, copy_context
from functools import cache, partial
from inspect import CORO_CREATED, getcoroutinestate, isasyncgen, isawaitable, iscoroutine, isgenerator
from types import CoroutineType, coroutine
from typing import Any

from fray._native import ActorHost
from fray.backend.native.refs import awaited_refs
from fray.errors import DeadlockError

__all__ = ["actor_loop", "serve_on_loop"]

_TASK_NAME = "fray call"  # without a name, asyncio would format one for each task
_LOOK_SECONDS = 0.05  # between two looks at what the calls of a fully occupied actor wait for


@cache
def actor_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of this process's actor, on which its constructor may start tasks."""
    return asyncio.new_event_loop()


def serve_on_loop(host: ActorHost, limit: int) -> None:
    """Run calls as tasks of one event loop, at most `limit` at once, until the node lets go of the actor."""
    with asyncio.Runner(loop_factory=actor_loop) as runner:
        runner.run(_EventLoopHost(host, limit).run())


class _EventLoopHost:
    """Runs calls on one event loop, at most `limit` at once.

    Making an asyncio task for each call would cost more than most calls do. So the coroutine of a call takes its first
    step at once, while a task that was made beforehand (`_Successor`) is the current task. A coroutine that ends in
    this step needs no task of its own. The first coroutine that waits goes on in the prepared task. Calls behind it get
    tasks of their own until the next prepared task is ready and those calls have begun. So calls begin in their order,
    and `current_task()` is the same throughout a call.
    """

    def __init__(self, host: ActorHost, limit: int) -> None:
        self.host = host
        self.limit = limit
        self.tasks: dict[int, asyncio.Task[None]] = {}
        self.waiting: set[asyncio.Event] = set()  # of generators that are ahead of their readers
        self.flush_planned = False
        self.successor: _Successor | None = None
        self.newest: asyncio.Task[None] | None = None  # of the last call, until it has begun: later calls wait for it
        self.looks: asyncio.TimerHandle | None = None
        self.said: dict[int, tuple[int, list[asyncio.Future[None]]]] = {}
        """By call: the number of its wait, of which the node was told, and the futures that it waits for."""

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
        """Start the calls that have arrived, and handle cancellations, refused waits and taken items."""
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
        """Take as many calls as may run, and run their first steps as long as a prepared task is free."""
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
        """Return whether an earlier call has not begun: a first step at once would overtake it."""
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
        """While the actor is fully occupied, tell the node what its calls wait for.

        They may wait for a further call of this actor, which cannot begin before one of them ends: a deadlock.
        """
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
        """Return the refs that each call waits for, if only these can wake it; a timer of the loop may wake any."""
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
        """End this forked child when its coroutine waits: the event loop belongs to the parent."""
        self.loop.call_soon(self.host.end_child)

    def cancel(self, call: int) -> None:
        """Cancel the task of a call.

        asyncio ends a task that has not begun without running any of its code, so the call is answered here.
        """
        task = self.tasks[call]
        if call in self.said:
            self.forget_wait(call)
        steps: Any = task.get_coro()
        if not _has_begun(task):
            unbegun = steps.cr_frame.f_locals["result"]
            if iscoroutine(unbegun):
                unbegun.close()  # else Python warns that the coroutine was never awaited
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
                await asyncio.sleep(0)  # a generator that never waits must not block the loop for other calls
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
        if len(self.tasks) == self.limit - 1:  # all places were taken, so calls may wait for this one
            self.loop.call_soon(self.pump)
        self.plan_flush()

    def plan_flush(self) -> None:
        """Send all answers of one round of the loop in one write."""
        if not self.flush_planned:
            self.flush_planned = True
            self.loop.call_soon(self.flush)

    def flush(self) -> None:
        """Send the answers, then poll briefly for new calls.

        A caller that waits for its answer often calls again at once, and waking this thread would take longer.
        """
        self.flush_planned = False
        self.host.flush()
        if not self.tasks and self.host.spin():
            self.loop.call_soon(self.pump)


def _has_begun(task: asyncio.Task[None]) -> bool:
    steps: Any = task.get_coro()
    return getcoroutinestate(steps) != CORO_CREATED


class _Successor:
    """A task, made beforehand, that goes on with the next call that waits for something in its first step."""

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
        self.host.successor = self  # only now: a task that is cancelled before it has begun would never run
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
    """Drive a coroutine that has begun and waits for `waits_for`, in its own context, as `yield from` would."""
    if hasattr(waits_for, "_asyncio_future_blocking"):
        waits_for._asyncio_future_blocking = True  # what `await` tells the task; see asyncio.Future.__await__
        cancelled = cancelled and not waits_for.cancel()  # as in Task.cancel(): first cancel what it waits for
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
