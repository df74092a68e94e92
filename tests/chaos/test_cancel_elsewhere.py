"""Whoever has a ref can cancel its task, also when another process has started that."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import fray
import pytest
from fray import TaskCancelledError, WorkerDiedError
from fray.backend.native import NativeJobContext

from tests.conformance.gates import Gate

SOON = 30  # seconds, where the answer takes 0.01


class Sleeper:
    async def sleep(self, started: Gate) -> None:
        started.open()
        await asyncio.Event().wait()

    async def value(self) -> int:
        return 1


def cancel(refs: list[Any], force: bool = False) -> None:
    fray.get_job_context().cancel(refs[0], force=force)


def cancel_from_elsewhere(ctx: NativeJobContext, ref: Any, force: bool = False) -> None:
    ctx.get(ctx.run(cancel, [ref], force), timeout=SOON)


def test_a_task_cancels_a_running_async_call_of_its_driver(ctx: NativeJobContext, tmp_path: Path) -> None:
    started = Gate.make(str(tmp_path / "started"))
    actor = ctx.create_actor(Sleeper)
    call = actor.sleep(started)
    started.wait()
    cancel_from_elsewhere(ctx, call)
    with pytest.raises(TaskCancelledError):
        ctx.get(call, timeout=SOON)
    assert ctx.get(actor.value(), timeout=SOON) == 1


def test_a_task_cancels_one_that_waits_for_its_arguments(ctx: NativeJobContext, tmp_path: Path) -> None:
    door, ran = Gate.make(str(tmp_path / "door")), tmp_path / "ran"
    argument = ctx.run(door.wait)
    waiting = ctx.run(lambda _: ran.touch(), argument)
    cancel_from_elsewhere(ctx, waiting)
    with pytest.raises(TaskCancelledError):
        ctx.get(waiting, timeout=SOON)
    door.open()
    ctx.get(argument, timeout=SOON)
    assert not ran.exists()


def test_with_force_the_worker_of_a_running_task_ends(ctx: NativeJobContext, tmp_path: Path) -> None:
    started = Gate.make(str(tmp_path / "started"))
    running = ctx.run(lambda: (started.open(), time.sleep(SOON * 10)))
    started.wait()
    cancel_from_elsewhere(ctx, running, force=True)
    with pytest.raises((TaskCancelledError, WorkerDiedError)):
        ctx.get(running, timeout=SOON)


def test_a_driver_cancels_what_a_task_has_started(ctx: NativeJobContext, tmp_path: Path) -> None:
    started = Gate.make(str(tmp_path / "started"))

    def start(actor: Any) -> list[Any]:
        return [actor.sleep(started)]

    class Keeper:
        """Lives on, so that what it has started does."""

        def start(self, actor: Any) -> list[Any]:
            return start(actor)

    keeper, actor = ctx.create_actor(Keeper), ctx.create_actor(Sleeper)
    (call,) = ctx.get(keeper.start(actor), timeout=SOON)
    started.wait()
    ctx.cancel(call)
    with pytest.raises(TaskCancelledError):
        ctx.get(call, timeout=SOON)


def test_what_has_ended_stays_as_it_is(ctx: NativeJobContext) -> None:
    done = ctx.run(pow, 2, 3)
    assert ctx.get(done) == 8
    cancel_from_elsewhere(ctx, done)
    cancel_from_elsewhere(ctx, ctx.put(5))
    assert ctx.get(done) == 8


def test_hundreds_of_calls_are_cancelled_at_once(ctx: NativeJobContext) -> None:
    actor = ctx.create_actor(Sleeper)

    class Never:
        async def ends(self) -> None:
            await asyncio.Event().wait()

    never = ctx.create_actor(Never)
    calls = [never.ends() for _ in range(500)]

    def cancel_all(refs: list[Any]) -> None:
        for ref in refs:
            fray.get_job_context().cancel(ref)

    ctx.get(ctx.run(cancel_all, calls), timeout=SOON)
    for call in calls:
        with pytest.raises(TaskCancelledError):
            ctx.get(call, timeout=SOON)
    assert ctx.get(actor.value(), timeout=SOON) == 1
