"""Tasks of several priorities on a started node: none waits for ever, and `fray status` says what waits."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from fray import ActorOptions, TaskOptions
from fray.backend.native import NativeJobContext

from tests.chaos.harness import PATIENCE, eventually
from tests.chaos.started import command, report, start
from tests.chaos.tasks import echo


@pytest.fixture(autouse=True)
def ctx() -> Iterator[NativeJobContext]:
    """Connect to a node of one CPU, which goes with the test."""
    start("--cpus", "1")
    context = NativeJobContext(address="auto")
    yield context
    context.close()
    command("stop")


def test_low_priority_gets_its_turn_beside_a_stream_that_never_ends(ctx: NativeJobContext) -> None:
    urgent = TaskOptions(priority=3)
    enough = threading.Event()
    ended: list[float] = []

    def flood() -> None:
        waiting = [ctx.create_task(time.sleep, (0.02,), options=urgent) for _ in range(50)]
        while not enough.is_set():
            ready, waiting = ctx.wait(waiting, num_returns=1)
            ctx.get(ready)
            ended.append(time.monotonic())
            waiting.append(ctx.create_task(time.sleep, (0.02,), options=urgent))
        for ref in waiting:
            ctx.cancel(ref)

    stream = threading.Thread(target=flood)
    stream.start()
    try:
        eventually(lambda: bool(ended))
        submitted = time.monotonic()
        for value in range(2):
            low = ctx.create_task(echo, (value,), options=TaskOptions(priority=1))
            assert ctx.get(low, timeout=PATIENCE) == value
        waited = time.monotonic() - submitted
        assert waited > 2, "it gains a step a second, and what it gained is gone when it got a lease"
        assert ended[-1] > submitted
    finally:
        enough.set()
        stream.join()


def test_status_shows_the_priority_of_what_waits_and_for_how_long(ctx: NativeJobContext) -> None:
    running = ctx.run(time.sleep, 1000)
    eventually(lambda: any(row["state"] == "running" for row in report()["workers"]))
    ctx.create_task(echo, (1,), options=TaskOptions(priority=-7))
    eventually(lambda: any(row["priority"] == -7 for row in report()["waiting"]))
    [row] = report()["waiting"]
    assert row["depth"] == 0
    assert row["resources"] == {"CPU": 1}
    assert row["waiting_seconds"] >= 0
    assert "priority -7" in command("status").ok()
    [worker] = [row for row in report()["workers"] if row["state"] == "running"]
    assert worker["priority"] == 0
    ctx.cancel(running, force=True)


class Holder:
    def name(self) -> str:
        return "held"


def test_actor_of_a_higher_priority_gets_the_resources_first(ctx: NativeJobContext) -> None:
    first = ctx.create_actor(Holder, options=ActorOptions(resources={"CPU": 1}))
    assert ctx.get(first.name()) == "held"
    low = ctx.create_actor(Holder, options=ActorOptions(resources={"CPU": 1}, priority=-1))
    high = ctx.create_actor(Holder, options=ActorOptions(resources={"CPU": 1}, priority=1))
    asked = {"low": low.name(), "high": high.name()}
    eventually(lambda: sorted(row["priority"] for row in report()["waiting"]) == [-1, 1])
    ctx.kill(first)
    assert ctx.get(asked["high"], timeout=PATIENCE) == "held"
    assert [row["priority"] for row in report()["waiting"]] == [-1]
