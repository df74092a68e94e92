"""Calls of event-loop actors are cancelled in every state, answered at once, and give their places back."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fray import ActorOptions, TaskCancelledError
from fray.backend.native import NativeJobContext
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.chaos.harness import PATIENCE

PLACES = 4
AT_ONCE = PATIENCE  # the calls that are cancelled here would never end


class Hall:
    """Calls that wait, and one that ends when as many are here as there are places."""

    def __init__(self) -> None:
        self.never = asyncio.Event()
        self.present = 0
        self.all_here = asyncio.Event()
        self.begun: list[int] = []

    async def ok(self) -> int:
        return 1

    async def stop_reading(self, gate: str) -> None:
        """Keep the event loop, and with it the socket, until somebody opens the gate."""
        with open(gate):
            pass

    async def hold(self, number: int) -> int:
        self.begun.append(number)
        await self.never.wait()
        return number

    async def quick(self, number: int) -> int:
        await asyncio.sleep(0)
        return number

    def plain(self, number: int) -> int:
        return number

    async def stream(self, number: int) -> AsyncIterator[int]:
        yield number
        await self.never.wait()

    async def flood(self, size: int) -> AsyncIterator[bytes]:
        while True:
            yield bytes(size)

    def plain_stream(self, number: int) -> Iterator[int]:
        yield number

    async def meet(self, count: int) -> str:
        self.present += 1
        if self.present == count:
            self.all_here.set()
        await self.all_here.wait()
        self.present = 0
        return "met"

    async def open_again(self) -> None:
        self.all_here.clear()

    async def stubborn(self) -> str:
        try:
            await self.never.wait()
        except asyncio.CancelledError:
            return "went on"
        return "ended"

    async def ran(self) -> list[int]:
        return self.begun


def outcome(ctx: NativeJobContext, ref: Any) -> object:
    try:
        return ctx.get(ref, timeout=AT_ONCE)
    except TaskCancelledError:
        return TaskCancelledError


def all_places_are_free(ctx: NativeJobContext, hall: Any, places: int = PLACES) -> None:
    """As many calls as there are places meet, which they can only if each has one."""
    assert ctx.get([hall.meet(places) for _ in range(places)], timeout=AT_ONCE) == ["met"] * places
    ctx.get(hall.open_again(), timeout=AT_ONCE)


@dataclass
class Model:
    """What may come of each call: its own answer, or that it was cancelled."""

    allowed: list[set[object]] = field(default_factory=list)
    endless: list[bool] = field(default_factory=list)


KINDS = ("hold", "quick", "plain", "stream", "plain_stream", "flood")
Step = tuple[str, int]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(KINDS), st.just(0)),
        st.tuples(st.just("cancel"), st.integers(0, 40)),
        st.tuples(st.just("pause"), st.integers(0, 3)),
    ),
    min_size=1,
    max_size=25,
)


def test_any_schedule_of_calls_and_cancels_leaves_an_answer_for_each_and_all_places_free(
    engine: Callable[..., NativeJobContext],
) -> None:
    ctx = engine()
    hall: Any = ctx.create_actor(Hall, options=ActorOptions(max_concurrency=PLACES))
    ctx.get(hall.ok())

    @settings(
        max_examples=60,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
        database=None,
    )
    @given(STEPS)
    def follow(steps: list[Step]) -> None:
        refs: list[Any] = []
        kinds: list[str] = []
        cancelled: set[int] = set()
        for what, number in steps:
            if what == "pause":
                time.sleep(number / 1000)
            elif what == "cancel":
                if refs:
                    cancelled.add(number % len(refs))
                    ctx.cancel(refs[number % len(refs)])
            else:
                argument = 1000 if what == "flood" else len(refs)
                refs.append(getattr(hall, what)(argument))
                kinds.append(what)
        for number, (kind, ref) in enumerate(zip(kinds, refs, strict=True)):
            endless = kind in ("hold", "stream", "flood")
            if endless and number not in cancelled:
                ctx.cancel(ref)
            if kind in ("hold", "quick", "plain"):
                came = outcome(ctx, ref)
                allowed: set[object] = {number}
                if endless:
                    allowed = {TaskCancelledError}
                elif number in cancelled:
                    allowed.add(TaskCancelledError)
                assert came in allowed, (kind, number, came)
            else:
                ready, _ = ctx.wait([ref], timeout=AT_ONCE)
                assert ready, (kind, number)
                if endless:
                    with pytest.raises(TaskCancelledError):
                        for _item in ref:
                            pass
        all_places_are_free(ctx, hall)

    follow()


@pytest.mark.parametrize("count", [30, 300])
def test_calls_cancelled_while_they_run_and_while_they_queue_are_all_answered(
    ctx: NativeJobContext, count: int
) -> None:
    hall: Any = ctx.create_actor(Hall, options=ActorOptions(max_concurrency=20))
    ctx.get(hall.ok())
    for _ in range(3):
        refs = [hall.hold(number) for number in range(count)]
        for ref in refs:
            ctx.cancel(ref)
        assert {outcome(ctx, ref) for ref in refs} == {TaskCancelledError}
        all_places_are_free(ctx, hall, 20)


def test_cancels_that_do_not_fit_into_the_socket_arrive_when_there_is_room(
    ctx: NativeJobContext, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    hall: Any = ctx.create_actor(Hall)
    ctx.get(hall.ok())
    stopped = hall.stop_reading(str(gate))
    refs = [hall.hold(number) for number in range(1000)]
    ctx.wait(refs, timeout=0.01)  # they are on their way
    for ref in refs:
        ctx.cancel(ref)
    gate.write_text("")
    ctx.get(stopped, timeout=PATIENCE)
    assert {outcome(ctx, ref) for ref in refs} == {TaskCancelledError}


def test_a_lone_call_cancelled_at_once_is_answered_without_another_event(ctx: NativeJobContext) -> None:
    hall: Any = ctx.create_actor(Hall)
    ctx.get(hall.ok())
    for number in range(200):
        ref = hall.hold(number)
        ctx.cancel(ref)
        assert outcome(ctx, ref) is TaskCancelledError


def test_a_cancelled_call_that_had_not_begun_does_not_begin(ctx: NativeJobContext) -> None:
    hall: Any = ctx.create_actor(Hall, options=ActorOptions(max_concurrency=2))
    held = [hall.hold(-1), hall.hold(-2)]
    queued = [hall.hold(number) for number in range(10)]
    for ref in queued:
        ctx.cancel(ref)
    assert {outcome(ctx, ref) for ref in queued} == {TaskCancelledError}
    for ref in held:
        ctx.cancel(ref)
    assert set(ctx.get(hall.ran(), timeout=AT_ONCE)) <= {-1, -2}


def test_a_call_that_catches_its_cancellation_goes_on_to_its_own_answer(ctx: NativeJobContext) -> None:
    hall: Any = ctx.create_actor(Hall, options=ActorOptions(max_concurrency=2))
    ref = hall.stubborn()
    ctx.get(hall.ok())
    ctx.cancel(ref)
    assert ctx.get(ref, timeout=AT_ONCE) == "went on"


def test_cancelling_a_call_that_has_ended_changes_nothing(ctx: NativeJobContext) -> None:
    hall: Any = ctx.create_actor(Hall)
    ref = hall.quick(3)
    assert ctx.get(ref) == 3
    ctx.cancel(ref)
    assert ctx.get(ref) == 3
    all_places_are_free(ctx, hall)
