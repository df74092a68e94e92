"""What becomes of calls when the process of their actor dies, stops or never starts."""

from __future__ import annotations

import itertools
import os
import signal
import time
from typing import Any

import fray
import pytest
from fray import ActorDiedError, ActorOptions
from fray.backend.native import NativeJobContext

from tests.chaos.actors import Fragile, NeverStarts
from tests.chaos.counter import Counter
from tests.chaos.harness import cpu_seconds, eventually, look_at, the_node
from tests.conformance.gates import Journal


def fragile(ctx: NativeJobContext, journal: Journal, **options: Any) -> Any:
    return ctx.create_actor(Fragile, journal, options=ActorOptions(**options))


def test_calls_behind_a_killed_one_go_to_the_next_instance_exactly_once(
    ctx: NativeJobContext, journal: Journal
) -> None:
    actor = fragile(ctx, journal, max_restarts=1)
    pid = ctx.get(actor.pid())
    running = actor.hang_the_first_time("running")
    behind = [actor.note(f"behind {number}") for number in range(20)]
    eventually(lambda: "running" in journal.lines())
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(ActorDiedError) as lost:
        ctx.get(running, timeout=20)
    assert lost.value.executed == "unknown"
    assert ctx.get(behind, timeout=20) == [f"behind {number}" for number in range(20)]
    assert journal.lines() == ["start", "running", "start", *(f"behind {number}" for number in range(20))]


def test_a_killed_call_with_a_retry_left_runs_again_before_those_behind_it(
    ctx: NativeJobContext, journal: Journal
) -> None:
    actor = fragile(ctx, journal, max_restarts=1, max_task_retries=1)
    pid = ctx.get(actor.pid())
    running = actor.hang_the_first_time("running")
    behind = actor.note("behind")
    eventually(lambda: "running" in journal.lines())
    os.kill(pid, signal.SIGKILL)
    assert ctx.get([running, behind], timeout=20) == ["running", "behind"]
    assert journal.lines() == ["start", "running", "start", "running", "behind"]


def test_an_actor_without_restarts_fails_the_running_call_as_unknown_and_others_as_not_run(
    ctx: NativeJobContext, journal: Journal
) -> None:
    actor = fragile(ctx, journal)
    pid = ctx.get(actor.pid())
    running, behind = actor.hang("running"), actor.note("behind")
    eventually(lambda: "running" in journal.lines())
    os.kill(pid, signal.SIGKILL)
    for call, executed in ((running, "unknown"), (behind, "no"), (actor.note("later"), "no")):
        with pytest.raises(ActorDiedError) as lost:
            ctx.get(call, timeout=20)
        assert lost.value.executed == executed
        assert lost.value.class_name == "Fragile"
        assert "SIGKILL" in str(lost.value)
    assert journal.lines() == ["start", "running"]


def test_no_more_instances_are_made_than_max_restarts_allows(ctx: NativeJobContext, journal: Journal) -> None:
    actor = fragile(ctx, journal, max_restarts=2)
    for _ in range(3):
        os.kill(ctx.get(actor.pid(), timeout=20), signal.SIGKILL)
        eventually(lambda: ctx.wait([actor.note("word")], timeout=20))
    with pytest.raises(ActorDiedError, match="max_restarts is 2"):
        ctx.get(actor.pid(), timeout=20)
    assert journal.lines().count("start") == 3


def test_a_kill_that_allows_a_restart_makes_a_fresh_instance(ctx: NativeJobContext) -> None:
    counter = ctx.create_actor(Counter, options=ActorOptions(max_restarts=-1))
    assert ctx.get([counter.increment(), counter.increment()]) == [1, 2]
    ctx.kill(counter, no_restart=False)
    assert ctx.get(counter.increment(), timeout=20) == 1


def test_a_killed_actor_refuses_calls_at_once_and_its_process_is_gone(ctx: NativeJobContext) -> None:
    counter = ctx.create_actor(Counter, name="counter", options=None)
    pid = ctx.get(counter.pid())
    ctx.kill(counter)
    with pytest.raises(ActorDiedError, match="kill"):
        ctx.get(counter.increment())
    eventually(lambda: look_at(pid) is None)
    assert ctx.list_named_actors() == []


def test_a_constructor_that_always_dies_backs_off_and_ends_with_its_last_words(
    ctx: NativeJobContext, journal: Journal
) -> None:
    node = the_node().pid
    before, began = cpu_seconds(node), time.monotonic()
    actor = ctx.create_actor(NeverStarts, journal, options=ActorOptions(max_restarts=4))
    with pytest.raises(ActorDiedError) as dead:
        ctx.get(actor.value(), timeout=30)
    took = time.monotonic() - began
    assert "exited with code 7" in str(dead.value)
    assert "no disk in this machine" in str(dead.value)
    assert len(journal.lines()) == 5
    starts = [float(line) for line in journal.lines()]
    pauses = [later - earlier for earlier, later in itertools.pairwise(starts)]
    assert all(pause >= least for pause, least in zip(pauses, (0, 0.1, 0.2, 0.4), strict=True)), pauses
    assert cpu_seconds(node) - before <= 0.05 * took + 0.03


def test_an_actor_stops_with_its_driver_and_its_children_too(ctx: NativeJobContext) -> None:
    counter = ctx.create_actor(Counter, name="named")
    pid = ctx.get(counter.pid())
    ctx.close()
    eventually(lambda: look_at(pid) is None)


def test_a_caller_that_dies_leaves_the_actor_to_others(ctx: NativeJobContext) -> None:
    counter = ctx.create_actor(Counter)

    def call_and_die(handle: Any) -> None:
        context = fray.get_job_context()
        context.get([handle.increment() for _ in range(10)])
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(fray.WorkerDiedError):
        ctx.get(ctx.create_task(call_and_die, (counter,), options=fray.TaskOptions(max_retries=0)), timeout=30)
    assert ctx.get(counter.increment(), timeout=20) == 11
