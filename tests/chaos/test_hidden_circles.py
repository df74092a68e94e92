"""Circles through threads and event loops of methods get DeadlockError; what anything else may end goes on."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import fray
import pytest
from fray import ActorOptions, DeadlockError
from fray.backend.native import NativeJobContext

SOON = 30  # seconds, where the answer takes 0.2
LONGER_THAN_LOOKS = 1.5  # seconds in which every look at a wait has long been made


class Waiter:
    """Calls itself, which never ends, or something that does, and waits for it in many ways."""

    def __init__(self) -> None:
        self.me = fray.current_actor().handle
        self.door = threading.Event()

    def value(self) -> int:
        return 1

    def ask(self, way: str, other: Any = None) -> Any:
        return WAYS[way](self.me if other is None else other)

    def stream(self, way: str) -> Any:
        yield WAYS[way](self.me)

    def wait_at_door(self) -> int:
        """Wait for a call that opens the door, while a thread waits for this very call's actor to have a place."""
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(lambda: self.me.value().result())
            self.door.wait()
            return answer.result()

    def open_door(self) -> int:
        self.door.set()
        return 1


def in_loop(other: Any) -> int:
    async def wait() -> int:
        return await other.value()

    return asyncio.run(wait())


def in_gather(other: Any) -> int:
    async def wait() -> int:
        return sum(await asyncio.gather(*(other.value() for _ in range(20))))

    return asyncio.run(wait())


def in_thread_of_loop(other: Any) -> int:
    return asyncio.run(asyncio.to_thread(lambda: other.value().result()))


def in_loop_of_thread(other: Any) -> int:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(in_loop, other).result()


def in_thread(other: Any) -> int:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: other.value().result()).result()


def in_threads(other: Any) -> int:
    with ThreadPoolExecutor(5) as pool:
        return sum(pool.map(lambda _: other.value().result(), range(5)))


def in_joined_thread(other: Any) -> int:
    values: list[Any] = []

    def wait() -> None:
        try:
            values.append(fray.get_job_context().wait([other.value()], num_returns=1)[0][0].result())
        except DeadlockError as error:
            values.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    thread.join()
    if isinstance(values[0], DeadlockError):
        raise values[0]
    return values[0]


def in_task(other: Any) -> int:
    return fray.get_job_context().run(in_loop, other).result()


def in_thread_of_task(other: Any) -> int:
    return fray.get_job_context().run(in_thread, other).result()


def as_completed(other: Any) -> int:
    return sum(ref.result() for ref in fray.get_job_context().as_completed([other.value() for _ in range(3)]))


def mapped(other: Any) -> int:
    return sum(fray.get_job_context().map(lambda _: other.value().result(), range(3)))


def mapped_unordered(other: Any) -> int:
    return sum(fray.get_job_context().map(lambda _: other.value().result(), range(3), ordered=False))


def two_of_three(other: Any) -> int:
    ctx = fray.get_job_context()
    ready, _ = ctx.wait([ctx.put(1), other.value(), other.value()], num_returns=2)
    return sum(ctx.get(ready))


def one_of_tasks_behind(other: Any) -> int:
    ctx = fray.get_job_context()
    ready, _ = ctx.wait([ctx.run(abs, other.value()), ctx.run(abs, other.value())])
    return ready[0].result()


WAYS: dict[str, Callable[[Any], int]] = {
    each.__name__: each
    for each in (
        in_loop,
        in_gather,
        in_thread_of_loop,
        in_loop_of_thread,
        in_thread,
        in_threads,
        in_joined_thread,
        in_task,
        in_thread_of_task,
        as_completed,
        mapped,
        mapped_unordered,
        two_of_three,
        one_of_tasks_behind,
    )
}


@pytest.mark.parametrize("way", WAYS)
def test_a_method_that_waits_for_its_own_actor_gets_the_error(ctx: NativeJobContext, way: str) -> None:
    waiter = ctx.create_actor(Waiter)
    with pytest.raises(DeadlockError, match=r"Waiter\.ask"):
        ctx.get(waiter.ask(way), timeout=SOON)
    assert ctx.get(waiter.value(), timeout=SOON) == 1


@pytest.mark.parametrize("way", ["in_loop", "in_gather", "in_thread", "in_thread_of_loop", "in_thread_of_task"])
def test_a_circle_of_two_actors_that_wait_aside_gets_the_error(ctx: NativeJobContext, way: str) -> None:
    class Between:
        def __init__(self, other: Any) -> None:
            self.other = other

        def value(self) -> int:
            return WAYS[way](self.other)

    first = ctx.create_actor(Waiter)
    second = ctx.create_actor(Between, first)
    with pytest.raises(DeadlockError, match=r"Between\.value"):
        ctx.get(first.ask(way, second), timeout=SOON)
    assert ctx.get(first.value(), timeout=SOON) == 1


@pytest.mark.parametrize("way", ["in_loop", "in_thread"])
def test_a_generator_method_that_waits_aside_gets_the_error(ctx: NativeJobContext, way: str) -> None:
    waiter = ctx.create_actor(Waiter)
    with pytest.raises(DeadlockError):
        for item in waiter.stream(way):
            ctx.get(item, timeout=SOON)
    assert ctx.get(waiter.value(), timeout=SOON) == 1


def test_threads_of_an_actor_with_several_places_get_the_error_once_all_are_taken(ctx: NativeJobContext) -> None:
    waiter = ctx.create_actor(Waiter, options=ActorOptions(max_concurrency=2))
    answers = [waiter.ask("in_thread"), waiter.ask("in_thread_of_task")]
    outcomes = [outcome(ctx, ref) for ref in answers]
    assert set(outcomes) <= {1, "deadlock"}
    assert ctx.get(waiter.value(), timeout=SOON) == 1


def outcome(ctx: NativeJobContext, ref: Any) -> Any:
    try:
        return ctx.get(ref, timeout=SOON)
    except DeadlockError:
        return "deadlock"


def test_a_free_place_may_bring_the_call_that_ends_the_wait(ctx: NativeJobContext) -> None:
    waiter = ctx.create_actor(Waiter, options=ActorOptions(max_concurrency=2))
    waiting = waiter.wait_at_door()
    assert not ctx.wait([waiting], timeout=LONGER_THAN_LOOKS)[0]
    assert ctx.get([waiter.open_door(), waiting], timeout=SOON) == [1, 1]


# ---- waits that something else ends: each leads back to its own actor, and gives up


def until_thread_sets_it(me: Any) -> str:
    """Another thread sleeps, and then ends what the main thread joins."""
    ended = threading.Event()
    threading.Thread(target=lambda: (time.sleep(LONGER_THAN_LOOKS), ended.set())).start()
    threading.Thread(target=lambda: me.value().result(), daemon=True).start()
    ended.wait()
    return "gave up"


def until_timer_of_loop(me: Any) -> str:
    async def wait() -> str:
        waiting = asyncio.ensure_future(forever(me))
        await asyncio.sleep(LONGER_THAN_LOOKS)
        waiting.cancel()
        return "gave up"

    return asyncio.run(wait())


async def forever(me: Any) -> None:
    await me.value()


def until_timeout_of_join(me: Any) -> str:
    thread = threading.Thread(target=lambda: me.value().result(), daemon=True)
    thread.start()
    thread.join(LONGER_THAN_LOOKS)
    return "gave up"


def until_child_process_writes(me: Any) -> str:
    """The loop watches a pipe, to which another process writes."""

    async def wait() -> str:
        waiting = asyncio.ensure_future(forever(me))
        code = f"import time; time.sleep({LONGER_THAN_LOOKS}); print('gave up', end='')"
        child = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=subprocess.PIPE)
        out, _ = await child.communicate()
        waiting.cancel()
        return out.decode()

    return asyncio.run(wait())


def until_pipe_is_written(me: Any) -> str:
    async def wait() -> str:
        waiting = asyncio.ensure_future(forever(me))
        reading, writing = os.pipe()
        with subprocess.Popen(["sh", "-c", f"sleep {LONGER_THAN_LOOKS}; echo x"], stdout=writing):
            written = asyncio.Event()
            asyncio.get_running_loop().add_reader(reading, written.set)
            await written.wait()
        asyncio.get_running_loop().remove_reader(reading)
        os.close(reading)
        os.close(writing)
        waiting.cancel()
        return "gave up"

    return asyncio.run(wait())


def until_alarm(me: Any) -> str:
    def give_up(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, give_up)
    thread = threading.Thread(target=lambda: me.value().result(), daemon=True)
    try:
        signal.setitimer(signal.ITIMER_REAL, LONGER_THAN_LOOKS)
        thread.start()
        thread.join()
    except TimeoutError:
        return "gave up"
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    return "the thread ended"


ENDINGS: dict[str, Callable[[Any], str]] = {
    each.__name__: each
    for each in (
        until_thread_sets_it,
        until_timer_of_loop,
        until_timeout_of_join,
        until_child_process_writes,
        until_pipe_is_written,
        until_alarm,
    )
}


class Patient:
    """Waits for itself until something else ends the wait."""

    def __init__(self) -> None:
        self.me = fray.current_actor().handle

    def value(self) -> int:
        return 1

    def wait(self, ending: str) -> str:
        return ENDINGS[ending](self.me)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_wait_that_something_outside_of_fray_ends_never_gets_the_error(ctx: NativeJobContext, ending: str) -> None:
    patient = ctx.create_actor(Patient)
    assert ctx.get(patient.wait(ending), timeout=SOON) == "gave up"
    assert ctx.get(patient.value(), timeout=SOON) == 1


@pytest.mark.parametrize("way", ["in_loop", "in_gather", "in_threads", "in_loop_of_thread", "in_thread_of_loop"])
def test_long_waits_aside_for_another_actor_end_with_its_answer(ctx: NativeJobContext, way: str) -> None:
    class Slow:
        def value(self) -> int:
            time.sleep(0.15)
            return 1

    waiter, slow = ctx.create_actor(Waiter), ctx.create_actor(Slow)
    assert ctx.get(waiter.ask(way, slow), timeout=SOON) in (1, 5, 20)


def test_actors_that_wait_aside_for_each_other_all_the_time_never_get_the_error(ctx: NativeJobContext) -> None:
    front, middle, back = (ctx.create_actor(Waiter) for _ in range(3))
    ways = ["in_loop", "in_thread", "in_thread_of_loop", "in_gather"]
    answers = [
        target.ask(ways[number % 4], other)
        for number in range(60)
        for target, other in ((front, middle), (middle, back))
    ]
    assert set(ctx.get(answers, timeout=60)) == {1, 20}
