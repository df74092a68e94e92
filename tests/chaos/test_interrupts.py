"""Signals in the driver are looked at at once; tasks change the handling of signals for themselves only."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import signal
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fray import TaskCancelledError
from fray.backend.native import NativeJobContext

from tests.chaos.harness import PATIENCE
from tests.chaos.tasks import echo
from tests.conformance.gates import Gate
from tests.slowness import SLOWNESS


class Interrupt(BaseException):
    """What the test's own signal raises."""


@pytest.fixture
def alarm() -> Iterator[list[float]]:
    """SIGALRM raises Interrupt; when its handler was called is noted."""
    handled: list[float] = []

    def handler(number: int, frame: object) -> None:
        del number, frame
        handled.append(time.monotonic())
        raise Interrupt

    before = signal.signal(signal.SIGALRM, handler)
    yield handled
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def no_collector_callbacks() -> Iterator[None]:
    """Nothing of the test tools runs when garbage is collected: a signal that came there would raise in it."""
    before = gc.callbacks[:]
    gc.callbacks.clear()
    yield
    gc.callbacks.extend(before)


class Kept:
    def value(self) -> int:
        return 1


@pytest.mark.usefixtures("alarm", "no_collector_callbacks")
@pytest.mark.parametrize("call", ["list_named_actors", "get_actor", "create_actor", "get"])
def test_a_signal_in_the_middle_of_a_call_raises_what_its_handler_raises_and_nothing_else(
    ctx: NativeJobContext, call: str
) -> None:
    kept: Any = ctx.create_actor(Kept, name="kept")
    ctx.get(kept.value())
    calls: dict[str, Callable[[], object]] = {
        "list_named_actors": ctx.list_named_actors,
        "get_actor": lambda: ctx.get_actor("kept"),
        "create_actor": lambda: ctx.create_actor(Kept, name="kept", get_if_exists=True),
        "get": lambda: ctx.get([kept.value() for _ in range(3)]),
    }
    chance = random.Random(5)
    interrupted = 0
    end = time.monotonic() + 3
    while time.monotonic() < end:
        try:
            signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-6, 1e-3))
            for _ in range(20):
                calls[call]()
            signal.setitimer(signal.ITIMER_REAL, 0)
        except Interrupt:
            interrupted += 1
    assert interrupted > 20
    assert ctx.get(kept.value(), timeout=PATIENCE) == 1


@pytest.mark.parametrize("way", ["get", "wait", "as_completed", "map"])
def test_a_signal_is_looked_at_while_answers_stream_in(ctx: NativeJobContext, alarm: list[float], way: str) -> None:
    load = b"x" * 10_000
    assert list(ctx.map(echo, [1])) == [1]  # what its first use imports is not to be interrupted
    delays: list[float] = []
    for attempt in range(6):
        refs = [] if way == "map" else [ctx.run(echo, load) for _ in range(6_000)]
        shot: list[float] = []
        begun = threading.Event()

        def shoot(
            delay: float = 0.02 * (attempt + 1), shot: list[float] = shot, begun: threading.Event = begun
        ) -> None:
            begun.wait()
            time.sleep(delay)
            shot.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGALRM)

        thread = threading.Thread(target=shoot)
        thread.start()
        try:
            begun.set()  # here, so that the signal cannot come before
            if way == "get":
                ctx.get(refs)
            elif way == "wait":
                ctx.wait(refs, len(refs))
            elif way == "as_completed":
                for _ in ctx.as_completed(refs):
                    pass
            else:
                for _ in ctx.map(echo, [load] * 6_000):
                    pass
            thread.join()
            time.sleep(0.05)
        except Interrupt:
            delays.append(alarm[-1] - shot[0])
        thread.join()
        ctx.wait(refs, len(refs)) if refs else None
    assert statistics.median(delays) < 0.2 * SLOWNESS, delays


def ignore() -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return os.getpid()


def catch() -> int:
    signal.signal(signal.SIGINT, lambda number, frame: None)
    return os.getpid()


def block() -> int:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    return os.getpid()


def block_all() -> int:
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    return os.getpid()


def loop_with_a_handler() -> int:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, lambda: None)
        loop.remove_signal_handler(signal.SIGINT)

    asyncio.run(main())
    return os.getpid()


def sleep_for_ever(started: Gate) -> None:
    started.open()
    while True:
        time.sleep(60)


def spin_for_ever(started: Gate) -> None:
    started.open()
    while True:
        pass


@pytest.mark.parametrize("later", [sleep_for_ever, spin_for_ever])
@pytest.mark.parametrize("rude", [ignore, catch, block, block_all, loop_with_a_handler])
def test_a_task_after_one_that_changed_the_handling_of_sigint_can_be_cancelled(
    engine: Callable[..., NativeJobContext], gate: Callable[[], Gate], rude: Callable[[], int], later: Any
) -> None:
    ctx = engine(cpus=1)
    workers = ctx.get([ctx.run(rude) for _ in range(3)])
    assert len(set(workers)) == 1, "the later task is to run in the same worker"
    started = gate()
    ref = ctx.run(later, started)
    started.wait()
    ctx.cancel(ref)
    with pytest.raises(TaskCancelledError):
        ctx.get(ref, timeout=PATIENCE)
    assert ctx.get(ctx.run(os.getpid), timeout=PATIENCE) == workers[0]


def test_every_task_begins_with_the_handler_and_the_mask_that_the_first_one_had(ctx: NativeJobContext) -> None:
    def handling() -> tuple[str, list[int]]:
        return getattr(signal.getsignal(signal.SIGINT), "__name__", "?"), sorted(
            signal.pthread_sigmask(signal.SIG_BLOCK, [])
        )

    first = ctx.get(ctx.run(handling))
    for rude in (ignore, block, block_all):
        ctx.get(ctx.run(rude))
        assert ctx.get(ctx.run(handling)) == first


def test_a_running_task_that_catches_sigint_is_interrupted_by_its_own_handler(
    ctx: NativeJobContext, gate: Callable[[], Gate]
) -> None:
    started = gate()

    def wait_for_signal() -> str:
        caught = threading.Event()
        signal.signal(signal.SIGINT, lambda number, frame: caught.set())
        started.open()
        while not caught.is_set():
            time.sleep(0.01)
        return "it knows"

    ref = ctx.run(wait_for_signal)
    started.wait()
    ctx.cancel(ref)
    assert ctx.get(ref, timeout=PATIENCE) == "it knows", "who catches the cancel keeps the value"
