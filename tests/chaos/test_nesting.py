"""Tasks that wait for tasks: they finish with few processes, run once each, and say when they never can."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import fray
import pytest
from fray import DeadlockError, InfeasibleError, TaskOptions
from fray.backend.native import NativeJobContext

from tests.chaos.harness import marked_processes
from tests.chaos.tasks import fib, pid, sleep_forever, write_pid, write_pid_and_wait
from tests.conformance.gates import Gate, Journal

Engine = Callable[..., NativeJobContext]


def test_nested_fib_12_finishes_on_2_cores_with_at_most_32_workers(engine: Engine) -> None:
    ctx = engine(max_workers=32)
    assert ctx.get(ctx.run(fib, 12), timeout=100) == 144


def test_workers_never_exceed_max_workers(engine: Engine, tmp_path: Path) -> None:
    def nest(depth: int) -> int:
        from tests.chaos.harness import current_marker, marked_processes
        from tests.chaos.tasks import fork_server

        inner = fray.get_job_context()
        if depth == 0:
            server = fork_server()  # its children are the workers' guardians
            return sum(process.parent == server for process in marked_processes(current_marker()))
        return max(inner.get([inner.run(nest, depth - 1), inner.run(nest, depth - 1)]))

    ctx = engine(max_workers=12)
    assert 1 <= ctx.get(ctx.run(nest, 5), timeout=60) <= 12


def run_first_and_wait(gate_in: Gate, journal: Journal, gate_out: Gate) -> str:
    """Give up this worker's place by waiting for a task that only the test lets go."""
    journal.add("blocked task runs")
    gate_in.wait()
    ctx = fray.get_job_context()
    nothing = TaskOptions(resources={"CPU": 0})
    ctx.get(ctx.create_task(write_pid_and_wait, (journal, gate_out), options=nothing))
    return "done"


def note(journal: Journal, number: int) -> int:
    journal.add(number)
    return number


def test_work_pipelined_behind_a_blocked_task_runs_exactly_once_elsewhere(
    engine: Engine, gate: Callable[[], Gate], tmp_path: Path
) -> None:
    """The gates keep the blocked task blocked until every task that was queued behind it has ended."""
    ctx = engine(cpus=1, max_workers=8)
    go, release = gate(), gate()
    started, ran = Journal(str(tmp_path / "started")), Journal(str(tmp_path / "ran"))
    ctx.get([ctx.run(note, Journal(str(tmp_path / "warm")), number) for number in range(200)])  # short: pipelined
    blocked = ctx.run(run_first_and_wait, go, started, release)
    behind = [ctx.run(note, ran, number) for number in range(500)]
    go.open()
    assert ctx.get(behind, timeout=30) == list(range(500))
    assert Counter(ran.lines()) == {str(number): 1 for number in range(500)}
    assert not ctx.wait([blocked], timeout=0)[0]
    release.open()
    assert ctx.get(blocked, timeout=30) == "done"


def test_work_is_run_once_while_many_tasks_block_and_wake(engine: Engine, journal: Journal) -> None:
    def parent(start: int) -> int:
        inner = fray.get_job_context()
        return sum(inner.get([inner.run(note, journal, start + offset) for offset in range(5)]))

    ctx = engine(max_workers=16)
    ctx.get([ctx.run(parent, start) for start in range(0, 1000, 5)], timeout=60)
    assert Counter(journal.lines()) == {str(number): 1 for number in range(1000)}


def test_a_wait_that_can_never_end_raises_deadlock_error(engine: Engine) -> None:
    """Three tasks deep with two workers: the innermost can never start."""

    def outer() -> int:
        inner = fray.get_job_context()
        return inner.get(inner.run(middle))

    def middle() -> int:
        inner = fray.get_job_context()
        return inner.get(inner.run(pid))

    ctx = engine(max_workers=2)
    with pytest.raises(DeadlockError, match="worker"):
        ctx.get(ctx.run(outer), timeout=20)
    assert ctx.get(ctx.run(pid), timeout=20) > 0


def test_two_trees_that_block_each_other_end_with_deadlock_error_in_one_and_not_in_a_hang(
    engine: Engine, gate: Callable[[], Gate], journal: Journal
) -> None:
    """Both workers are taken by tasks that meet at a barrier and then want a third."""
    gates = [gate(), gate()]

    def climb(number: int) -> int:
        inner = fray.get_job_context()
        journal.add(number)
        gates[number].wait()
        return inner.get(inner.run(pid))

    ctx = engine(max_workers=2)
    refs = [ctx.run(climb, 0), ctx.run(climb, 1)]
    for each in gates:
        each.open()
    outcomes: list[object] = []
    for ref in refs:
        try:
            outcomes.append(ctx.get(ref, timeout=20))
        except DeadlockError as error:
            outcomes.append(error)
    assert any(isinstance(outcome, DeadlockError) for outcome in outcomes)
    assert ctx.get(ctx.run(pid), timeout=20) > 0


def test_a_demand_that_the_node_can_never_meet_is_refused_when_it_is_made(ctx: NativeJobContext) -> None:
    with pytest.raises(InfeasibleError) as caught:
        ctx.create_task(pid, options=TaskOptions(resources={"CPU": 64}))
    assert "64" in str(caught.value)
    assert "CPU" in str(caught.value)
    assert "2" in str(caught.value).replace("64", "")


def test_an_undeclared_resource_is_refused_by_its_name(ctx: NativeJobContext) -> None:
    with pytest.raises(InfeasibleError, match="TPU"):
        ctx.create_task(pid, options=TaskOptions(resources={"TPU": 1}))


def test_a_declared_resource_is_counted(engine: Engine, gate: Callable[[], Gate], journal: Journal) -> None:
    ctx = engine(resources={"TPU": 1})
    go = gate()
    one_tpu = TaskOptions(resources={"TPU": 1, "CPU": 0})
    first = ctx.create_task(write_pid_and_wait, (journal, go), options=one_tpu)
    second = ctx.create_task(write_pid, (journal,), options=one_tpu)
    plain = ctx.run(pid)
    ctx.get(plain, timeout=20)
    assert not ctx.wait([second], timeout=0)[0]
    go.open()
    ctx.get([first, second], timeout=20)
    assert len(journal.lines()) == 2


def test_a_blocked_tree_is_ended_by_cancelling_its_root(ctx: NativeJobContext) -> None:
    def outer() -> None:
        inner = fray.get_job_context()
        inner.get(inner.run(sleep_forever))

    root = ctx.run(outer)
    assert not ctx.wait([root], timeout=0.2)[0]
    ctx.cancel(root)
    with pytest.raises(fray.TaskCancelledError):
        ctx.get(root, timeout=20)
    assert len(marked_processes(os.environ["FRAY_TEST_MARKER"])) > 0
    assert ctx.get(ctx.run(pid), timeout=20) > 0
