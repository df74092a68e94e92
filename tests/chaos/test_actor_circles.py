"""Actors and tasks that wait for each other in a circle get DeadlockError; all other waits go on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fray
import pytest
from fray import ActorOptions, DeadlockError, GetTimeoutError
from fray.backend.native import NativeJobContext

from tests.conformance.gates import Gate

SOON = 30  # seconds, where the answer takes 0.1
LONGER_THAN_LOOKS = 1.5  # seconds in which every look at a wait has long been made


class Member:
    """Calls others, and waits for them."""

    def __init__(self) -> None:
        self.me = fray.current_actor().handle

    def value(self) -> int:
        return 1

    def slow_value(self, seconds: float) -> int:
        time.sleep(seconds)
        return 2

    def ask(self, path: list[Any], timeout: float | None = None) -> int:
        """Walk along `path`; the last of them gives its value."""
        first, *rest = path
        call = first.ask(rest, timeout) if rest else first.value()
        return fray.get_job_context().get(call, timeout=timeout)

    def ask_at(self, door: Gate, announce: Gate, other: Any) -> int:
        announce.open()
        door.wait()
        return other.value().result()

    def by_task(self) -> int:
        me = self.me
        return fray.get_job_context().run(lambda: me.value().result()).result()

    def by_argument(self) -> int:
        later = self.me.value()
        return fray.get_job_context().run(lambda value: value, later).result()

    def by_wait(self) -> int:
        ready, _ = fray.get_job_context().wait([self.me.value()])
        return len(ready)

    def first_of(self, other: Any) -> int:
        ctx = fray.get_job_context()
        ready, _ = ctx.wait([self.me.value(), other.slow_value(0.5)])
        return ready[0].result()

    def many(self) -> int:
        return sum(fray.get_job_context().get([self.me.value() for _ in range(100)]))


class AsyncMember:
    """The same on an event loop."""

    def __init__(self) -> None:
        self.me = fray.current_actor().handle

    async def value(self) -> int:
        return 1

    async def ask(self, path: list[Any]) -> int:
        first, *rest = path
        return await (first.ask(rest) if rest else first.value())

    async def ask_without_await(self, path: list[Any], steps: int = 0) -> int:
        """Keep the whole loop from running while the answer is on its way."""
        for _ in range(steps):
            await asyncio.sleep(0)
        first, *rest = path
        call = first.ask_without_await(rest, steps) if rest else first.value()
        return fray.get_job_context().get(call)

    async def ask_by_task(self) -> int:
        me = self.me
        return fray.get_job_context().run(lambda: me.value().result()).result()

    async def get_of(self, refs: list[Any]) -> Any:
        return fray.get_job_context().get(refs[0])

    async def ask_in_gather(self, path: list[Any]) -> int:
        return sum(await asyncio.gather(self.ask(path), self.ask(path)))

    async def ask_in_time(self, path: list[Any], seconds: float) -> str:
        try:
            return str(await asyncio.wait_for(self.ask(path), seconds))
        except TimeoutError:
            return "gave up"


def circle_of(error: BaseException) -> str:
    """Return the text of the DeadlockError behind `error`."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, DeadlockError):
            return str(seen)
        seen = seen.__cause__ or seen.__context__
    raise AssertionError(f"no DeadlockError behind {error!r}")


def members(ctx: NativeJobContext, count: int, cls: type[Any] = Member, **options: Any) -> list[Any]:
    made = [ctx.create_actor(cls, options=ActorOptions(**options)) for _ in range(count)]
    ctx.get([each.value() for each in made])
    return made


@pytest.mark.parametrize("length", [1, 2, 3, 6])
def test_a_circle_of_actors_ends_with_an_error_that_names_it(ctx: NativeJobContext, length: int) -> None:
    ring = members(ctx, length)
    path = [*ring[1:], ring[0]]
    with pytest.raises(DeadlockError) as caught:
        ctx.get(ring[0].ask(path), timeout=SOON)
    text = circle_of(caught.value)
    assert "Member.ask waits for Member." in text
    assert "max_concurrency" in text
    assert ctx.get([each.value() for each in ring], timeout=SOON) == [1] * length


def test_named_actors_are_named_in_the_circle(ctx: NativeJobContext) -> None:
    alice, bob = (ctx.create_actor(Member, name=name) for name in ("alice", "bob"))
    with pytest.raises(DeadlockError) as caught:
        ctx.get(alice.ask([bob, alice]), timeout=SOON)
    assert "'alice'" in circle_of(caught.value)
    assert "'bob'" in circle_of(caught.value)


@pytest.mark.parametrize("how", ["by_task", "by_argument", "by_wait", "many"])
def test_a_circle_through_a_task_an_argument_or_wait_is_found(ctx: NativeJobContext, how: str) -> None:
    (member,) = members(ctx, 1)
    with pytest.raises(DeadlockError):
        ctx.get(getattr(member, how)(), timeout=SOON)
    assert ctx.get(member.value(), timeout=SOON) == 1


def test_a_circle_of_calls_that_come_from_different_places_is_found(
    ctx: NativeJobContext, gate: Callable[[], Gate]
) -> None:
    """No call leads back to where it came from: A runs one that wants B, and B one that wants A."""
    a, b = members(ctx, 2)
    doors, announced = [gate(), gate()], [gate(), gate()]
    refs = [a.ask_at(doors[0], announced[0], b), b.ask_at(doors[1], announced[1], a)]
    for each in announced:
        each.wait()
    for each in doors:
        each.open()
    outcomes: list[object] = []
    for ref in refs:
        try:
            outcomes.append(ctx.get(ref, timeout=SOON))
        except DeadlockError as error:
            outcomes.append(type(error))
    assert sorted(outcomes, key=str) == [1, DeadlockError]


def test_a_free_place_lets_a_circle_go_on(ctx: NativeJobContext) -> None:
    a, b = members(ctx, 2, max_concurrency=2)
    assert ctx.get(a.ask([b, a]), timeout=SOON) == 1


def test_a_threaded_actor_whose_places_are_used_up_is_part_of_a_circle(ctx: NativeJobContext) -> None:
    a, b = members(ctx, 2, max_concurrency=2)
    with pytest.raises(DeadlockError):
        ctx.get(a.ask([b, a, b, a]), timeout=SOON)
    assert ctx.get([a.value(), b.value()], timeout=SOON) == [1, 1]


def test_a_wait_with_a_timeout_ends_by_its_timeout(ctx: NativeJobContext) -> None:
    a, b = members(ctx, 2)
    with pytest.raises(GetTimeoutError):
        ctx.get(a.ask([b, a], 1.0), timeout=SOON)


def test_a_wait_that_another_answer_ends_is_no_deadlock(ctx: NativeJobContext) -> None:
    a, b = members(ctx, 2)
    assert ctx.get(a.first_of(b), timeout=SOON) == 2


def test_long_waits_without_a_circle_are_left_alone(ctx: NativeJobContext) -> None:
    a, b, c = members(ctx, 3)
    slow = c.slow_value(1.0)
    refs = [a.ask([b, c]), b.ask([c]), slow]
    assert ctx.get(refs, timeout=SOON) == [1, 1, 2]


def test_actors_that_call_each_other_all_the_time_never_get_the_error(ctx: NativeJobContext) -> None:
    """Waits begin and end while the node looks at them; every one of them can end."""
    front, middle, back = members(ctx, 3)
    with ThreadPoolExecutor(6) as pool:
        paths = [[middle, back], [back], [middle]]
        answers = [pool.submit(lambda path: ctx.get(front.ask(path), timeout=SOON), paths[i % 3]) for i in range(300)]
        assert [answer.result() for answer in answers] == [1] * 300


def test_an_event_loop_actor_is_entered_again_while_it_has_places(ctx: NativeJobContext) -> None:
    a, b = members(ctx, 2, AsyncMember)
    assert ctx.get(a.ask([b, a, b, a]), timeout=SOON) == 1


@pytest.mark.parametrize("how", ["ask", "ask_in_gather"])
def test_event_loop_actors_whose_places_are_used_up_are_part_of_a_circle(ctx: NativeJobContext, how: str) -> None:
    a, b = members(ctx, 2, AsyncMember, max_concurrency=1)
    with pytest.raises(DeadlockError) as caught:
        ctx.get(getattr(a, how)([b, a]), timeout=SOON)
    assert "AsyncMember." in circle_of(caught.value)
    assert ctx.get([a.value(), b.value()], timeout=SOON) == [1, 1]


def test_a_timer_in_the_event_loop_ends_the_wait_instead(ctx: NativeJobContext) -> None:
    a, b = members(ctx, 2, AsyncMember, max_concurrency=1)
    assert ctx.get(a.ask_in_time([b, a], 1.0), timeout=SOON) == "gave up"


def test_a_cancelled_call_opens_the_circle_that_it_was_part_of(ctx: NativeJobContext) -> None:
    a, b = members(ctx, 2, AsyncMember, max_concurrency=1)
    ref = a.ask_in_time([b, a], 60.0)
    ctx.cancel(ref)
    assert ctx.get(a.value(), timeout=SOON) == 1
    assert ctx.get(b.value(), timeout=SOON) == 1


@pytest.mark.parametrize("steps", [0, 2], ids=["in its first step", "in a later step"])
@pytest.mark.parametrize("places", [1, 1000])
@pytest.mark.parametrize("length", [1, 2, 3])
def test_async_methods_that_block_their_loops_in_a_circle_get_the_error(
    ctx: NativeJobContext, length: int, places: int, steps: int
) -> None:
    ring = members(ctx, length, AsyncMember, max_concurrency=places)
    with pytest.raises(DeadlockError) as caught:
        ctx.get(ring[0].ask_without_await([*ring[1:], ring[0]], steps), timeout=SOON)
    assert "AsyncMember." in circle_of(caught.value)
    assert ctx.get([each.value() for each in ring], timeout=SOON) == [1] * length


def test_an_async_method_that_blocks_its_loop_for_a_task_that_calls_it_gets_the_error(ctx: NativeJobContext) -> None:
    (a,) = members(ctx, 1, AsyncMember)
    with pytest.raises(DeadlockError):
        ctx.get(a.ask_by_task(), timeout=SOON)
    assert ctx.get(a.value(), timeout=SOON) == 1


def test_loops_that_are_blocked_for_long_and_without_a_circle_go_on(ctx: NativeJobContext, tmp_path: Path) -> None:
    door = Gate.make(str(tmp_path / "door"))
    a, b = members(ctx, 2, AsyncMember)
    value = ctx.run(lambda: (door.wait(), 5)[1])
    through_b = b.get_of([value])
    answers = [a.get_of([through_b]) for _ in range(20)]
    answers += [a.value() for _ in range(200)]
    assert ctx.wait(answers, num_returns=1, timeout=LONGER_THAN_LOOKS)[0] == []
    door.open()
    assert ctx.get(answers, timeout=SOON) == [5] * 20 + [1] * 200
