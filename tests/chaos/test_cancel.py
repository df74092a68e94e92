"""Cancelling touches the task that was meant, whenever it comes, and no other."""

from __future__ import annotations

import ctypes
import operator
import os
import random
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from fray import TaskCancelledError, TaskOptions, TaskTimeoutError
from fray.backend.native import NativeJobContext

from tests.chaos.harness import eventually, look_at
from tests.chaos.tasks import echo, pid, sleep_forever, write_pid_and_hang, write_pid_and_ignore_interrupts
from tests.conformance.gates import Gate, Journal


def spin(seconds: float, answer: int) -> int:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass
    return answer


def cancel_race(ctx: NativeJobContext, count: int, seed: int) -> tuple[int, int]:
    """Cancel tasks close to their end; return how many were cancelled and how many had ended."""
    chance = random.Random(seed)
    cancelled = ended = 0
    for number in range(count):
        length = chance.uniform(0, 80e-6)
        victim = ctx.run(spin, length, number)
        follower = ctx.run(echo, -number)
        aim = time.perf_counter() + length + chance.uniform(-30e-6, 120e-6)
        while time.perf_counter() < aim:
            os.sched_yield()  # the worker may have been woken on this very core
        ctx.cancel(victim)
        try:
            assert ctx.get(victim, timeout=20) == number
            ended += 1
        except TaskCancelledError:
            cancelled += 1
        assert ctx.get(follower, timeout=20) == -number
    return cancelled, ended


@pytest.mark.timeout(110)
def test_10000_cancels_that_race_with_the_end_of_a_task_never_touch_the_next_one(
    engine: Callable[..., NativeJobContext],
) -> None:
    ctx = engine(cpus=1)
    workers = {ctx.get(ctx.run(pid))}
    cancelled, ended = cancel_race(ctx, 10_000, seed=7)
    workers.add(ctx.get(ctx.run(pid)))
    assert cancelled + ended == 10_000
    assert cancelled, "every cancel came too late to race"
    assert ended, "every cancel came too early to race"
    assert len(workers) == 1, "a cancel without force ended a worker"


def test_cancelling_from_many_threads_at_once_changes_nothing_for_the_others(ctx: NativeJobContext) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def one(number: int) -> bool:
        victim, other = ctx.run(spin, 1e-4, number), ctx.run(echo, number)
        ctx.cancel(victim)
        ctx.cancel(victim)
        with suppress(TaskCancelledError):
            assert ctx.get(victim, timeout=30) == number
        return ctx.get(other, timeout=30) == number

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(800)))


def test_a_cancelled_running_task_frees_its_worker(engine: Callable[..., NativeJobContext], journal: Journal) -> None:
    ctx = engine(cpus=1)
    hanging = ctx.run(write_pid_and_hang, journal)
    worker = int(eventually(journal.lines)[0])
    ctx.cancel(hanging)
    with pytest.raises(TaskCancelledError):
        ctx.get(hanging, timeout=20)
    assert ctx.get(ctx.run(pid), timeout=20) == worker


@pytest.mark.parametrize(("runs", "seconds"), [(500, 0), (3, 0.005)], ids=["short", "slow"])
def test_a_task_hears_that_it_is_cancelled_however_short_or_slow_its_function_was_so_far(
    engine: Callable[..., NativeJobContext], journal: Journal, runs: int, seconds: float
) -> None:
    ctx = engine(cpus=1)

    def work(hangs: bool) -> None:
        if hangs:
            write_pid_and_hang(journal)
        spin(seconds, 0)

    for _ in range(runs):  # until its worker looks no more at what the first run left behind
        ctx.get(ctx.run(work, False), timeout=20)
    hanging = ctx.run(work, True)
    eventually(journal.lines)
    ctx.cancel(hanging)
    with pytest.raises(TaskCancelledError):
        ctx.get(hanging, timeout=20)


def test_a_task_that_does_not_listen_ends_with_force(engine: Callable[..., NativeJobContext], journal: Journal) -> None:
    ctx = engine(cpus=1)
    deaf = ctx.run(write_pid_and_ignore_interrupts, journal)
    worker = look_at(int(eventually(journal.lines)[0]))
    assert worker is not None
    ctx.cancel(deaf)
    ctx.cancel(deaf, force=True)
    with pytest.raises(TaskCancelledError):
        ctx.get(deaf, timeout=20)
    eventually(lambda: not worker.is_alive())
    assert ctx.get(ctx.run(pid), timeout=20) != worker.pid


def test_force_spares_the_tasks_behind(engine: Callable[..., NativeJobContext], journal: Journal) -> None:
    ctx = engine(cpus=1)
    ctx.get([ctx.run(echo, number) for number in range(200)])
    hanging = ctx.run(write_pid_and_hang, journal)
    behind = [ctx.create_task(echo, (number,), options=TaskOptions(max_retries=0)) for number in range(100)]
    eventually(journal.lines)
    ctx.cancel(hanging, force=True)
    assert ctx.get(behind, timeout=20) == list(range(100))
    with pytest.raises(TaskCancelledError):
        ctx.get(hanging, timeout=20)


def test_a_force_cancelled_task_is_not_retried(ctx: NativeJobContext, journal: Journal) -> None:
    hanging = ctx.create_task(write_pid_and_hang, (journal,), options=TaskOptions(max_retries=-1))
    eventually(journal.lines)
    ctx.cancel(hanging, force=True)
    with pytest.raises(TaskCancelledError):
        ctx.get(hanging, timeout=20)
    ctx.get([ctx.run(pid) for _ in range(20)], timeout=20)
    assert len(journal.lines()) == 1


def test_a_task_past_its_timeout_is_ended_and_its_worker_lives(engine: Callable[..., NativeJobContext]) -> None:
    ctx = engine(cpus=1)
    worker = ctx.get(ctx.run(pid))
    late = ctx.create_task(sleep_forever, options=TaskOptions(timeout=0.2))
    with pytest.raises(TaskTimeoutError):
        ctx.get(late, timeout=20)
    assert ctx.get(ctx.run(pid), timeout=20) == worker


def test_a_task_that_ignores_its_timeout_loses_its_worker(
    engine: Callable[..., NativeJobContext], journal: Journal
) -> None:
    ctx = engine(cpus=1)
    ctx.get(ctx.run(pid), timeout=20)
    # The time counts from the start of the attempt, and within it the task must have come to ignore interrupts.
    late = ctx.create_task(write_pid_and_ignore_interrupts, (journal,), options=TaskOptions(timeout=3))
    with pytest.raises(TaskTimeoutError):
        ctx.get(late, timeout=20)
    worker = int(journal.lines()[0])
    assert ctx.get(ctx.run(pid), timeout=20) != worker
    assert len(journal.lines()) == 1


def test_a_timeout_counts_from_the_start_of_the_attempt_not_from_the_submission(
    engine: Callable[..., NativeJobContext], gate: Callable[[], Gate]
) -> None:
    ctx = engine(cpus=1)
    go = gate()
    first = ctx.run(go.wait)
    queued = ctx.create_task(echo, (1,), options=TaskOptions(timeout=3))
    assert not ctx.wait([queued], timeout=3.5)[0]
    go.open()
    assert ctx.get([first, queued], timeout=20) == [None, 1]


def test_a_task_that_catches_its_cancellation_can_still_clean_up(ctx: NativeJobContext, journal: Journal) -> None:
    def careful() -> None:
        try:
            journal.add("started")
            sleep_forever()
        finally:
            journal.add("cleaned")

    ref = ctx.run(careful)
    eventually(journal.lines)
    ctx.cancel(ref)
    with pytest.raises(TaskCancelledError):
        ctx.get(ref, timeout=20)
    eventually(lambda: journal.lines() == ["started", "cleaned"])


def test_a_task_that_catches_its_cancellation_and_returns_keeps_its_value(
    ctx: NativeJobContext, journal: Journal
) -> None:
    def stubborn() -> str:
        try:
            journal.add("started")
            sleep_forever()
        except TaskCancelledError:
            return "kept"

    ref = ctx.run(stubborn)
    eventually(journal.lines)
    ctx.cancel(ref)
    assert ctx.get(ref, timeout=20) == "kept"
    assert ctx.get(ctx.run(abs, -3), timeout=20) == 3


def test_a_task_that_is_cancelled_just_before_it_sleeps_is_woken(
    engine: Callable[..., NativeJobContext], journal: Journal
) -> None:
    ctx = engine(cpus=1)

    def work() -> None:
        wait_for_a_signal = ctypes.CDLL(None).pause
        journal.add("started")
        # One after the other, without a step of Python between them, which would look for the signal.
        list(map(operator.call, [wait_for_a_signal, partial(time.sleep, 3600)]))

    ref = ctx.run(work)
    eventually(journal.lines)
    ctx.cancel(ref)
    assert ctx.get(ctx.run(echo, 1), timeout=20) == 1


def test_an_item_of_a_map_that_is_given_up_is_not_tried_again(
    engine: Callable[..., NativeJobContext], journal: Journal
) -> None:
    ctx = engine(cpus=1)

    def work(number: int) -> int:
        if number:
            journal.add("started")
            sleep_forever()
        return number

    options = TaskOptions(retry_exceptions=True, max_retries=3)
    results: Any = ctx.map(work, [0, 1], batch=1, options=options)
    assert next(results) == 0
    eventually(journal.lines)
    results.close()
    assert ctx.get(ctx.run(echo, 1), timeout=20) == 1
    assert journal.lines() == ["started"]
