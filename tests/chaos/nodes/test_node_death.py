"""What happens when the node dies: every waiter is told, and the workers go."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fray import FrayError, NodeDiedError
from fray.backend.native import NativeJobContext

from tests.chaos.harness import (
    PATIENCE,
    PROMPT,
    Driver,
    current_marker,
    eventually,
    marked_processes,
    node_socket,
    the_node,
)
from tests.chaos.tasks import echo, sleep_forever, write_pid_and_hang
from tests.conformance.gates import Gate, Journal
from tests.slowness import SLOWNESS

TOLD_SECONDS = 0.1 if SLOWNESS == 1 else 5.0
"""From the node's death to the error in a waiter; on a busy machine, far less than without the news."""


def test_every_waiter_is_told_within_100_ms(ctx: NativeJobContext, journal: Journal) -> None:
    hanging = [ctx.run(write_pid_and_hang, journal) for _ in range(2)]
    queued = [ctx.run(echo, number) for number in range(50)]
    eventually(lambda: len(journal.lines()) == 2)
    told: dict[str, float] = {}
    wrong: list[BaseException] = []
    waits: dict[str, Callable[[], object]] = {
        "get": lambda: ctx.get(hanging[0]),
        "get with timeout": lambda: ctx.get(hanging[1], timeout=60),
        "get of many": lambda: ctx.get(queued),
        "get of queued": lambda: ctx.get(queued[-1]),
        "wait, then get": lambda: ctx.get(ctx.wait(hanging)[0]),
        "result": lambda: hanging[0].result(),
        "as_completed": lambda: ctx.get(next(iter(ctx.as_completed(hanging)))),
        "await": lambda: asyncio.run(_await(hanging[0])),
    }
    ready = threading.Barrier(len(waits) + 1)

    def wait(name: str) -> None:
        ready.wait()
        try:
            waits[name]()
            wrong.append(AssertionError(f"{name} returned"))
        except NodeDiedError:
            told[name] = time.monotonic()
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=wait, args=(name,)) for name in waits]
    for thread in threads:
        thread.start()
    ready.wait()
    _all_threads_sleep()
    node = the_node()
    node.signal(signal.SIGKILL)
    eventually(lambda: not node.is_alive())
    died = time.monotonic()
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads), f"not told: {set(waits) - set(told)}"
    assert not wrong
    late = {name: round(when - died, 3) for name, when in told.items() if when - died > TOLD_SECONDS}
    assert not late


async def _await(ref: object) -> object:
    return await ref  # type: ignore[misc]


def _all_threads_sleep() -> None:
    """Wait until all other threads of this process are blocked, three looks in a row."""
    me = threading.get_native_id()
    quiet = 0
    deadline = time.monotonic() + 10
    while quiet < 3 and time.monotonic() < deadline:
        states = []
        for name in os.listdir("/proc/self/task"):
            if int(name) != me:
                with open(f"/proc/self/task/{name}/stat") as file:
                    text = file.read()
                states.append(text[text.rindex(")") + 2])
        quiet = quiet + 1 if set(states) <= {"S"} else 0
        time.sleep(0.005)


def test_workers_are_gone_within_a_second(ctx: NativeJobContext, journal: Journal) -> None:
    for _ in range(2):
        ctx.run(write_pid_and_hang, journal)
    eventually(lambda: len(journal.lines()) == 2)
    assert len(marked_processes(current_marker())) >= 4
    the_node().signal(signal.SIGKILL)
    eventually(lambda: not marked_processes(current_marker()), PROMPT, "nothing is left of a dead node")


def test_workers_that_ignore_signals_and_their_children_are_gone_within_a_second(
    ctx: NativeJobContext, journal: Journal
) -> None:
    def stubborn() -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if os.fork() == 0:
            os.setsid()
        journal.add(os.getpid())
        sleep_forever()

    ctx.run(stubborn)
    eventually(lambda: len(journal.lines()) == 2)
    the_node().signal(signal.SIGKILL)
    eventually(lambda: not marked_processes(current_marker()), PROMPT, "nothing is left of a dead node")


def test_everything_after_the_death_of_the_node_says_so_at_once(ctx: NativeJobContext) -> None:
    assert ctx.get(ctx.run(echo, 1)) == 1
    node = the_node()
    node.signal(signal.SIGKILL)
    eventually(lambda: not node.is_alive())
    with pytest.raises(NodeDiedError):
        ctx.get(ctx.run(sleep_forever), timeout=20)
    with pytest.raises(NodeDiedError):
        ctx.get(ctx.run(echo, 1), timeout=20)
    ctx.close()


def test_a_new_engine_starts_after_the_node_died(engine: Callable[..., NativeJobContext]) -> None:
    first = engine()
    assert first.get(first.run(echo, 1)) == 1
    the_node().signal(signal.SIGKILL)
    first.close()
    second = engine()
    assert second.get(second.run(echo, 2), timeout=20) == 2


def test_the_folder_of_a_killed_node_is_removed_when_the_next_one_starts(
    engine: Callable[..., NativeJobContext],
) -> None:
    first = engine()
    folder = Path(node_socket()).parent
    node = the_node()
    node.signal(signal.SIGKILL)
    eventually(lambda: not node.is_alive())
    first.close()
    engine()
    eventually(lambda: not folder.exists())


def test_a_stopped_node_does_not_hold_up_work_that_is_under_way(
    engine: Callable[..., NativeJobContext], gate: Callable[[], Gate]
) -> None:
    """The hot path does not pass through it."""
    ctx = engine(cpus=1)
    door, started = gate(), gate()
    first = ctx.run(door.announce_and_wait, started)  # the driver keeps its lease as long as this task runs
    started.wait()
    node = the_node()
    node.signal(signal.SIGSTOP)
    try:
        behind = [ctx.run(echo, number) for number in range(50)]
        door.open_if_waited_for()
        assert ctx.get([first, *behind], timeout=PATIENCE) == [None, *range(50)]
    finally:
        node.signal(signal.SIGCONT)
    assert ctx.get(ctx.run(echo, 3), timeout=PATIENCE) == 3


def test_a_program_whose_node_died_still_ends_with_its_own_exit_code() -> None:
    with Driver(
        """
        ctx = NativeJobContext(cpus=2)
        ctx.run(time.sleep, 3600)
        print("ready", flush=True)
        sys.stdin.readline()
        sys.exit(9)
        """
    ) as driver:
        driver.line()
        node = the_node()
        node.signal(signal.SIGKILL)
        eventually(lambda: not node.is_alive())
        driver.say()
        finished = driver.finish()
    assert (finished.code, finished.stderr) == (9, "")


def test_both_drivers_of_a_node_are_told(ctx: NativeJobContext) -> None:
    with Driver(
        """
        ctx = NativeJobContext(address=sys.argv[1])
        print(ctx.get(ctx.run(pow, 2, 3)), flush=True)
        try:
            ctx.get(ctx.run(time.sleep, 3600))
        except fray.NodeDiedError:
            print("told", flush=True)
        """,
        node_socket(),
    ) as driver:
        assert driver.line() == "8"
        the_node().signal(signal.SIGKILL)
        assert driver.line() == "told"
        driver.finish().ok()
    with pytest.raises(FrayError):
        ctx.get(ctx.run(echo, 1), timeout=20)
