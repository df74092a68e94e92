"""Waiting from many threads, in an event loop, and being interrupted in it."""

from __future__ import annotations

import asyncio
import os
import signal
import statistics
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import fray
import pytest
from fray import GetTimeoutError
from fray.backend.native import NativeJobContext

from tests.chaos.counter import Counter
from tests.chaos.harness import Driver
from tests.chaos.tasks import add, array, echo, pid, sleep_forever
from tests.conformance.gates import Gate
from tests.slowness import SLOWNESS
from tests.waiting import PATIENCE, eventually

CTRL_C_SECONDS = 0.05 * SLOWNESS
"""From the signal to the KeyboardInterrupt; the median of several, for one may meet a busy machine."""

IDLE_SECONDS = 0.2
"""How long a program does nothing before it calls: long enough for the engine's own threads to sleep."""


def test_get_works_from_32_threads(ctx: NativeJobContext) -> None:
    failures: list[BaseException] = []
    start = threading.Barrier(32)

    def work(thread: int) -> None:
        try:
            start.wait()
            for step in range(40):
                refs = [ctx.run(add, thread * 1000 + step, offset) for offset in range(5)]
                assert ctx.get(refs[0]) == thread * 1000 + step
                assert ctx.get(refs) == [thread * 1000 + step + offset for offset in range(5)]
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads), "a get hangs"
    assert not failures


def test_32_threads_get_the_same_unready_ref(ctx: NativeJobContext, gate: Callable[[], Gate]) -> None:
    go = gate()
    ref = ctx.run(go.wait)
    large = ctx.run(lambda _: array(300_000, 1), ref)
    sums: list[int] = []
    threads = [threading.Thread(target=lambda: sums.append(int(ctx.get(large).sum()))) for _ in range(32)]
    for thread in threads:
        thread.start()
    go.open()
    for thread in threads:
        thread.join(30)
    assert sums == [300_000] * 32


def test_10000_awaits_on_one_loop(ctx: NativeJobContext) -> None:
    async def one(number: int) -> int:
        return await ctx.run(add, number, 1)

    async def all_of_them() -> list[int]:
        return await asyncio.gather(*(one(number) for number in range(10_000)))

    assert asyncio.run(all_of_them()) == [number + 1 for number in range(10_000)]


def test_awaits_leave_other_coroutines_running(ctx: NativeJobContext, gate: Callable[[], Gate]) -> None:
    go = gate()

    async def main() -> int:
        waiting = asyncio.ensure_future(_await(ctx.run(go.wait)))
        beats = 0
        while beats < 50:
            await asyncio.sleep(0)
            beats += 1
        assert not waiting.done()
        await asyncio.to_thread(go.open)
        await asyncio.wait_for(waiting, 20)
        return beats

    assert asyncio.run(main()) == 50


def test_an_await_that_is_cancelled_leaves_the_task_and_the_loop_alone(
    ctx: NativeJobContext, gate: Callable[[], Gate]
) -> None:
    go = gate()

    async def main() -> object:
        ref = ctx.run(go.wait)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(_await(ref), 0.05)
        await asyncio.to_thread(go.open)
        await _await(ref)
        return await _await(ctx.run(echo, "still here"))

    assert asyncio.run(main()) == "still here"


def test_several_loops_in_turn_and_at_once_each_get_their_values(ctx: NativeJobContext) -> None:
    async def some(count: int) -> int:
        return sum(await asyncio.gather(*(_await(ctx.run(echo, 1)) for _ in range(count))))

    assert [asyncio.run(some(50)) for _ in range(5)] == [50] * 5
    sums: list[int] = []
    threads = [threading.Thread(target=lambda: sums.append(asyncio.run(some(100)))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sums == [100] * 6


async def _await(ref: object) -> object:
    return await ref  # type: ignore[misc]


def test_threads_stay_usable_after_one_of_them_gave_up(ctx: NativeJobContext) -> None:
    hanging = ctx.run(sleep_forever)
    with pytest.raises(GetTimeoutError):
        ctx.get(hanging, timeout=0.05)
    assert ctx.get(ctx.run(echo, 1), timeout=20) == 1
    ctx.cancel(hanging)


INTERRUPTED = """
    def hang():
        time.sleep(3600)
    ctx = NativeJobContext(cpus=2)
    hanging = ctx.run(hang)
    waits = {
        "get": lambda: ctx.get(hanging),
        "get with a timeout": lambda: ctx.get(hanging, timeout=3600),
        "get of a list": lambda: ctx.get([hanging, hanging]),
        "wait": lambda: ctx.wait([hanging]),
        "result": lambda: hanging.result(),
        "second reader": lambda: ctx.get(hanging),
    }
    wait = waits[sys.argv[1]]
    if sys.argv[1] == "second reader":
        threading.Thread(target=lambda: ctx.wait([hanging]), daemon=True).start()
    for _ in range(5):
        sys.stdin.readline()
        print("waiting")
        try:
            wait()
        except KeyboardInterrupt:
            print(time.clock_gettime(time.CLOCK_MONOTONIC))
    print(ctx.get(ctx.run(pow, 2, 10)))
    ctx.cancel(hanging)
    ctx.close()
"""


@pytest.mark.parametrize("kind", ["get", "get with a timeout", "get of a list", "wait", "result", "second reader"])
def test_ctrl_c_in_a_wait_is_felt_within_50_ms_and_the_engine_is_usable_after(kind: str) -> None:
    import time

    with Driver(INTERRUPTED, kind) as driver:
        delays: list[float] = []
        for _ in range(5):
            driver.say()
            assert driver.line() == "waiting"
            _let_it_sleep(driver.pid)
            sent = time.clock_gettime(time.CLOCK_MONOTONIC)
            driver.signal(signal.SIGINT)
            delays.append(float(driver.line()) - sent)
        assert driver.line() == "1024"
        driver.finish().ok()
    assert sorted(delays)[len(delays) // 2] <= CTRL_C_SECONDS, delays


def _let_it_sleep(pid: int) -> None:
    """Wait until the main thread is blocked in the kernel, some looks in a row."""
    import time
    from pathlib import Path

    asleep = 0
    deadline = time.monotonic() + 10
    while asleep < 5 and time.monotonic() < deadline:
        raw = Path(f"/proc/{pid}/task/{pid}/stat").read_text()
        asleep = asleep + 1 if raw[raw.rindex(")") + 2] == "S" else 0
        time.sleep(0.002)


def test_ctrl_c_to_the_whole_process_group_does_not_reach_the_workers() -> None:
    """A terminal sends it to the foreground group; workers are outside of it."""

    with Driver(
        """
        def slow(started, go_on):
            open(started, "w").close()
            while not os.path.exists(go_on):
                time.sleep(0.001)
            return "finished"
        started, go_on = (os.path.join(os.environ["FRAY_HOME"], name) for name in ("started", "go_on"))
        with NativeJobContext(cpus=2) as ctx:
            ref = ctx.run(slow, started, go_on)
            while not os.path.exists(started):
                time.sleep(0.001)
            try:
                print("waiting")
                ctx.get(ref)
            except KeyboardInterrupt:
                open(go_on, "w").close()
                print(ctx.get(ref))
        """
    ) as driver:
        assert driver.line() == "waiting"
        _let_it_sleep(driver.pid)
        os.killpg(driver.pid, signal.SIGINT)
        assert driver.finish().ok() == "finished\n"


# ---- what the sleeping threads of the client do not watch


def test_a_thread_is_answered_by_an_idle_actor_while_another_thread_waits(
    ctx: NativeJobContext, gate: Callable[[], Gate]
) -> None:
    took: list[float] = []
    for _ in range(5):
        actor = ctx.create_actor(Counter)
        ctx.get(actor.increment())
        go = gate()
        waits = threading.Thread(target=ctx.get, args=(ctx.run(go.wait),))
        waits.start()
        time.sleep(IDLE_SECONDS)
        began = time.perf_counter()
        ctx.get(actor.increment())
        took.append(time.perf_counter() - began)
        go.open()
        waits.join()
    assert statistics.median(took) < 0.3 * SLOWNESS


def test_an_awaited_call_of_an_idle_actor_is_answered_at_once(ctx: NativeJobContext) -> None:
    async def program() -> list[float]:
        took: list[float] = []
        actor = ctx.create_actor(Counter)
        await actor.increment()
        for _ in range(7):
            await asyncio.sleep(IDLE_SECONDS)
            began = time.perf_counter()
            await actor.increment()
            took.append(time.perf_counter() - began)
        return took

    assert statistics.median(asyncio.run(program())) < 0.08 * SLOWNESS


def sockets_of(process: int) -> int:
    count = 0
    for link in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):  # it has just been closed
            count += os.readlink(link).startswith("socket:")
    return count


class AsksForAnActor:
    """Makes an actor once a driver, which waits meanwhile, has let go of a worker."""

    def ready(self) -> None:
        pass

    def count_elsewhere(self, driver: int, sockets: int) -> int:
        eventually(lambda: sockets_of(driver) <= sockets)
        ctx = fray.get_job_context()
        return ctx.get(ctx.create_actor(Counter).increment(), timeout=PATIENCE)


def test_a_worker_that_is_given_back_during_a_wait_serves_others_at_once(
    engine: Callable[..., NativeJobContext],
) -> None:
    ctx = engine(max_workers=2)
    actor = ctx.create_actor(AsksForAnActor)
    ctx.get(actor.ready())
    without_a_worker = sockets_of(os.getpid())
    ctx.get(ctx.run(pid))
    assert ctx.get(actor.count_elsewhere(os.getpid(), without_a_worker)) == 1
