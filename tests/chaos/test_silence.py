"""Nobody wakes up for nothing: threads of the engine sleep while tasks run, and while there is nothing to do."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fray import ActorOptions, TaskCancelledError
from fray.backend.native import NativeJobContext

from tests.chaos.harness import Driver, eventually
from tests.conformance.gates import Gate

LOOK_SECONDS = 0.3
"""How long threads are watched. A thread that ticks each millisecond wakes up hundreds of times meanwhile."""

LOOKS = 10
"""How often, at most. On a busy machine, what the beginning of a task has set going may fall into the first looks."""

FEW = 10
"""What is done now and then may fall into a look. The engine needs none."""


def wakes_of(pid: int, *, with_main: bool = True) -> int:
    """How often threads of a process have gone to sleep so far."""
    total = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        if not with_main and int(thread.name) == pid:
            continue
        fields = dict(line.split(":", 1) for line in (thread / "status").read_text().splitlines())
        total += int(fields["voluntary_ctxt_switches"])
    return total


def wakes_while_slow(watched: int = 0) -> int:
    """How often the threads of another process, or the other threads of this one, wake up during a slow task."""
    return fewest_wakes(watched or os.getpid(), with_main=watched != 0)


def fewest_wakes(pid: int, *, with_main: bool = True) -> int:
    """The fewest wakes of a look; there are further looks while there are more than a few."""
    time.sleep(LOOK_SECONDS / 5)  # what the beginning of the task has set going is over
    looks: list[int] = []
    while len(looks) < LOOKS and min(looks, default=FEW + 1) > FEW:
        before = wakes_of(pid, with_main=with_main)
        time.sleep(LOOK_SECONDS)
        looks.append(wakes_of(pid, with_main=with_main) - before)
    return min(looks)


def wakes_since_start(seconds: float) -> tuple[int, int]:
    """Which process this is, and how often its other threads have woken up before and during this task."""
    time.sleep(seconds)
    return os.getpid(), wakes_of(os.getpid(), with_main=False)


def rest(seconds: float, door: Gate | None = None) -> None:
    """Sleep, and then wait at the door where there is one."""
    time.sleep(seconds)
    if door is not None:
        door.wait()


def test_the_other_threads_of_a_worker_sleep_while_its_task_runs(ctx: NativeJobContext) -> None:
    assert ctx.get(ctx.run(wakes_while_slow)) <= FEW


@pytest.mark.parametrize("kind", ["get", "wait", "get with a timeout", "await", "second thread", "busy"])
def test_a_driver_that_waits_for_a_slow_task_sleeps(ctx: NativeJobContext, kind: str) -> None:
    ref = ctx.run(wakes_while_slow, os.getpid())
    if kind == "get":
        ctx.get(ref)
    elif kind == "wait":
        ctx.wait([ref])
    elif kind == "get with a timeout":
        ctx.get(ref, timeout=100)
    elif kind == "await":

        async def wait() -> None:
            await ref

        asyncio.run(wait())
    elif kind == "second thread":
        thread = threading.Thread(target=lambda: ctx.get(ref))
        thread.start()
        ctx.get(ref)
        thread.join()
    elif kind == "busy":
        time.sleep(LOOK_SECONDS * 2)  # it does not wait for the task at all
    assert ctx.get(ref) <= FEW


def test_the_node_and_the_fork_server_sleep_while_tasks_run(ctx: NativeJobContext) -> None:
    fork_server = ctx.get(ctx.run(os.getppid))
    node = fork_server
    while b"\0node\0" not in Path(f"/proc/{node}/cmdline").read_bytes():
        node = int(Path(f"/proc/{node}/stat").read_text().rpartition(")")[2].split()[1])
    assert ctx.get(ctx.run(wakes_while_slow, node)) <= FEW
    assert ctx.get(ctx.run(wakes_while_slow, fork_server)) <= FEW


@pytest.mark.parametrize("max_concurrency", [1, 4])
def test_an_actor_that_nobody_calls_sleeps(ctx: NativeJobContext, max_concurrency: int) -> None:
    actor = ctx.create_actor(Holder, options=ActorOptions(max_concurrency=max_concurrency))
    assert fewest_wakes(ctx.get(actor.pid())) <= FEW


class Holder:
    def pid(self) -> int:
        return os.getpid()

    def rest(self) -> int:
        time.sleep(0.005)
        return os.getpid()

    def wakes(self) -> int:
        return wakes_while_slow()

    def wait_at(self, gate: Gate) -> None:
        gate.wait()


class AsyncHolder:
    async def wakes(self) -> int:
        await asyncio.sleep(LOOK_SECONDS / 5)
        looks: list[int] = []
        while len(looks) < LOOKS and min(looks, default=FEW + 1) > FEW:
            before = wakes_of(os.getpid())
            await asyncio.sleep(LOOK_SECONDS)
            looks.append(wakes_of(os.getpid()) - before)
        return min(looks)


def test_an_actor_sleeps_during_a_slow_call(ctx: NativeJobContext) -> None:
    actor = ctx.create_actor(Holder)
    assert ctx.get(actor.wakes()) <= FEW
    coroutine = ctx.create_actor(AsyncHolder)
    assert ctx.get(coroutine.wakes()) <= FEW


def test_tasks_of_20_ms_wake_each_process_a_few_times_a_task(ctx: NativeJobContext) -> None:
    """The thread of the task itself is not counted, nor is the one that waits for the results."""
    ctx.get([ctx.run(wakes_since_start, 0.02) for _ in range(4)])
    before = wakes_of(os.getpid(), with_main=False)
    tasks = 50
    seen: dict[int, list[int]] = {}
    for pid, wakes in ctx.get([ctx.run(wakes_since_start, 0.02) for _ in range(tasks)]):
        seen.setdefault(pid, []).append(wakes)
    assert wakes_of(os.getpid(), with_main=False) - before <= tasks
    for wakes in seen.values():
        assert max(wakes) - min(wakes) <= 3 * len(wakes) + FEW


# ---- what the sleepers must not sleep through


def test_results_ahead_of_a_slow_call_leave_while_it_runs(ctx: NativeJobContext, gate: Callable[[], Gate]) -> None:
    """All go to the actor at once, so those before the slow one would be answered together with it."""
    actor = ctx.create_actor(Holder)
    door = gate()
    quick = [actor.pid() for _ in range(200)]
    slow = actor.wait_at(door)
    assert len(set(ctx.get(quick, timeout=20))) == 1
    door.open()
    ctx.get(slow)


def test_results_ahead_of_a_slow_task_leave_while_it_runs(
    engine: Callable[..., NativeJobContext], gate: Callable[[], Gate]
) -> None:
    ctx = engine(cpus=1)
    door = gate()

    def now_and_then(slow: bool) -> int:
        if slow:
            door.wait()
        return os.getpid()

    ctx.get([ctx.run(now_and_then, False) for _ in range(200)])  # it counts as quick, so many are sent at once
    refs = [ctx.run(now_and_then, number == 30) for number in range(31)]
    assert len(set(ctx.get(refs[:-1], timeout=20))) == 1
    door.open()
    ctx.get(refs)


def test_the_result_of_a_slow_task_leaves_while_the_next_slow_one_runs(
    engine: Callable[..., NativeJobContext], gate: Callable[[], Gate]
) -> None:
    ctx = engine(cpus=1)
    door = gate()
    ctx.get([ctx.run(rest, 0.005) for _ in range(4)])  # it counts as slow, so nobody looks a millisecond later
    first, last = ctx.run(rest, 0.005), ctx.run(rest, 0.005, door)
    ctx.get(first, timeout=20)
    door.open()
    ctx.get(last)


def test_the_result_of_a_slow_call_leaves_while_the_next_slow_one_runs(
    ctx: NativeJobContext, gate: Callable[[], Gate]
) -> None:
    actor = ctx.create_actor(Holder)
    door = gate()
    ctx.get([actor.rest() for _ in range(4)])  # they count as slow, so nobody looks a millisecond later
    first, last = actor.rest(), actor.wait_at(door)
    ctx.get(first, timeout=20)
    door.open()
    ctx.get(last)


def test_a_call_behind_a_slow_one_is_cancelled_while_that_runs(ctx: NativeJobContext, gate: Callable[[], Gate]) -> None:
    actor = ctx.create_actor(Holder)
    door = gate()
    ctx.get([actor.rest() for _ in range(4)])
    last, behind = actor.wait_at(door), actor.pid()
    ctx.cancel(behind)
    with pytest.raises(TaskCancelledError):
        ctx.get(behind, timeout=20)
    door.open()
    ctx.get(last)


def test_an_actor_that_has_run_slow_calls_sleeps(ctx: NativeJobContext) -> None:
    actor = ctx.create_actor(Holder)
    ctx.get([actor.rest() for _ in range(4)])
    assert fewest_wakes(ctx.get(actor.rest())) <= FEW


def test_a_worker_that_has_run_slow_tasks_sleeps(engine: Callable[..., NativeJobContext]) -> None:
    ctx = engine(cpus=1)
    (worker,) = {ctx.get(ctx.run(wakes_since_start, 0.005))[0] for _ in range(3)}
    assert fewest_wakes(worker) <= FEW


def test_a_task_behind_one_that_turns_out_to_be_long_runs_elsewhere(
    engine: Callable[..., NativeJobContext], gate: Callable[[], Gate]
) -> None:
    ctx = engine(cpus=2)
    door = gate()
    ctx.get([ctx.run(rest, 0.01) for _ in range(8)])  # it counts as so long that one is sent behind each
    long = ctx.run(rest, 0.01, door)
    ctx.get([ctx.run(rest, 0.01) for _ in range(20)], timeout=20)
    door.open()
    ctx.get(long)


def test_a_driver_that_does_nothing_keeps_workers_fed(ctx: NativeJobContext, tmp_path: Path) -> None:
    """Nobody waits for the results of short tasks, yet each is followed by the next."""
    path = tmp_path / "traces"

    def trace() -> None:
        with open(path, "ab") as file:
            file.write(b".")

    refs = [ctx.run(trace) for _ in range(300)]
    eventually(lambda: path.exists() and path.stat().st_size >= 300, every=0.05)
    assert path.stat().st_size == len(refs) == 300


SIGNALLED = """
import signal
def handler(number, frame):
    os.write(1, b"handled\\n")
signal.signal(signal.SIGUSR1, handler)
read, write = os.pipe()
os.set_blocking(write, False)
with NativeJobContext(cpus=1) as ctx:
    if "wakeup" in sys.argv:
        signal.set_wakeup_fd(write)
    ref = ctx.run(time.sleep, 3600)
    try:
        os.write(1, b"waiting\\n")
        ctx.get(ref, timeout=3600)
    except KeyboardInterrupt:
        pass
    if "wakeup" in sys.argv:
        told = os.read(read, 100)
        assert told == bytes([signal.SIGUSR1, signal.SIGINT]), list(told)
        assert signal.set_wakeup_fd(-1) == write
    else:
        assert signal.set_wakeup_fd(-1) == -1
    ctx.cancel(ref)
"""


@pytest.mark.parametrize("told", ["wakeup", "nobody"])
def test_a_signal_is_handled_during_a_wait_and_those_told_before_are_told(told: str) -> None:
    with Driver(SIGNALLED, told) as driver:
        assert driver.line() == "waiting"
        driver.signal(signal.SIGUSR1)
        assert driver.line() == "handled"
        driver.signal(signal.SIGINT)
        driver.finish().ok()


def test_an_interrupt_from_another_thread_ends_the_wait_of_the_main_thread() -> None:
    """No signal is sent, so no system call is interrupted."""
    with Driver(
        """
        import _thread, threading
        with NativeJobContext(cpus=1) as ctx:
            ref = ctx.run(time.sleep, 3600)
            try:
                threading.Timer(0.2, _thread.interrupt_main).start()
                ctx.get(ref)
            except KeyboardInterrupt:
                print("interrupted")
            ctx.cancel(ref)
        """
    ) as driver:
        assert driver.finish().ok() == "interrupted\n"
