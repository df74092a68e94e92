"""Tasks that wait for tasks: they finish with few processes, run once each, and say when they never can."""

from __future__ import annotations

import asyncio
import json
import operator
import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import fray
import pytest
from fray import DeadlockError, InfeasibleError, TaskOptions
from fray.backend.native import NativeJobContext

from tests.chaos.harness import eventually, marked_processes
from tests.chaos.tasks import fib, pid, sleep_forever, write_pid, write_pid_and_wait
from tests.conformance.gates import Gate, Journal
from tests.waiting import PATIENCE

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


def test_tasks_that_wait_all_at_once_find_the_same_workers_when_they_do_so_again(
    ctx: NativeJobContext, tmp_path: Path
) -> None:
    nothing = TaskOptions(resources={"CPU": 0})

    def round_of_waits(number: int) -> set[int]:
        journal = Journal(str(tmp_path / f"journal{number}"))
        gates = [Gate.make(str(tmp_path / f"gate{number}-{place}")) for place in range(8)]
        refs = [ctx.create_task(write_pid_and_wait, (journal, gate), options=nothing) for gate in gates]
        eventually(lambda: len(journal.lines()) == len(gates))
        for gate in gates:
            gate.open()
        return set(ctx.get(refs))

    def idle() -> set[int]:
        workers = json.loads(ctx._client.status())["workers"]
        return {worker["pid"] for worker in workers if worker["state"] == "idle"}

    first = round_of_waits(1)
    assert len(first) == 8
    eventually(lambda: idle() == first)  # no more were started, and the driver has given their leases back
    assert round_of_waits(2) == first


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
    eventually(lambda: len(journal.lines()) == len(gates))
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


def by_await(depth: int) -> int:
    async def main() -> int:
        return await fray.get_job_context().run(by_await, depth - 1)

    return 1 if depth == 0 else 1 + asyncio.run(main())


def by_gather(depth: int) -> int:
    async def main() -> int:
        ctx = fray.get_job_context()
        return sum(await asyncio.gather(*[ctx.run(by_gather, depth - 1) for _ in range(3)]))

    return 1 if depth == 0 else asyncio.run(main())


def by_wait_for(depth: int) -> int:
    async def main() -> int:
        return await asyncio.wait_for(fray.get_job_context().run(by_wait_for, depth - 1), 60)

    return 1 if depth == 0 else 1 + asyncio.run(main())


def by_pool(depth: int) -> int:
    if depth == 0:
        return 1
    ctx = fray.get_job_context()
    with ThreadPoolExecutor(2) as pool:
        return sum(pool.map(lambda _: ctx.run(by_pool, depth - 1).result(), range(2)))


def by_thread(depth: int) -> int:
    if depth == 0:
        return 1
    ctx = fray.get_job_context()
    answers: list[int] = []
    thread = threading.Thread(target=lambda: answers.append(ctx.get(ctx.run(by_thread, depth - 1))))
    thread.start()
    thread.join()
    return 1 + answers[0]


def by_polling(depth: int) -> int:
    """Ask a thread again and again, without ever sleeping, whether it has its answer."""
    if depth == 0:
        return 1
    ctx = fray.get_job_context()
    answers: list[int] = []
    threading.Thread(target=lambda: answers.append(ctx.get(ctx.run(by_polling, depth - 1)))).start()
    while not answers:
        pass
    return 1 + answers[0]


@pytest.mark.parametrize(
    ("task", "depth", "answer"),
    [
        (by_await, 4, 5),
        (by_gather, 2, 9),
        (by_wait_for, 3, 4),
        (by_pool, 2, 4),
        (by_thread, 3, 4),
        (by_polling, 1, 2),
    ],
    ids=["await", "gather", "wait_for", "pool", "thread", "polling"],
)
def test_a_task_gives_its_cpu_back_however_it_waits(
    engine: Engine, task: Callable[[int], int], depth: int, answer: int
) -> None:
    ctx = engine(cpus=1)
    assert ctx.get(ctx.run(task, depth), timeout=60) == answer


def test_more_tasks_that_await_than_there_are_cpus_all_finish(engine: Engine) -> None:
    ctx = engine(cpus=1)
    assert ctx.get([ctx.run(by_gather, 1) for _ in range(8)], timeout=60) == [3] * 8


def test_tasks_behind_one_that_awaits_run_elsewhere_meanwhile(engine: Engine, gate: Callable[[], Gate]) -> None:
    door = gate()

    def first() -> int:
        async def main() -> int:
            return await fray.get_job_context().run(door.wait) or 1

        return asyncio.run(main())

    ctx = engine(cpus=2)
    slow = ctx.run(first)
    assert ctx.get([ctx.run(by_await, 0) for _ in range(20)], timeout=60) == [1] * 20
    door.open()
    assert ctx.get(slow, timeout=60) == 1


def test_waits_that_are_left_behind_give_away_no_cpu_of_later_tasks(engine: Engine, gate: Callable[[], Gate]) -> None:
    """A daemon thread waits on when its task has ended; the worker's next task is not taken for one that waits."""
    door = gate()

    def leave(hold: list[object]) -> int:
        ctx = fray.get_job_context()
        threading.Thread(target=lambda: ctx.get(hold[0]), daemon=True).start()
        return os.getpid()

    def sleep_a_while() -> int:
        time.sleep(0.3)
        return os.getpid()

    ctx = engine(cpus=2)
    waited = ctx.run(door.wait)
    worker = ctx.get(ctx.run(leave, [waited]))
    assert worker in ctx.get([ctx.run(sleep_a_while) for _ in range(4)], timeout=60)
    door.open()
    ctx.get(waited, timeout=60)


def test_a_wait_that_was_given_up_in_an_event_loop_leaves_nothing_behind(ctx: NativeJobContext) -> None:
    """Each attempt adds a listener to the ref and takes it away again."""

    def attempts() -> int:
        async def main() -> int:
            inner = fray.get_job_context()
            never = inner.run(sleep_forever)
            for _ in range(200):
                with suppress(TimeoutError):
                    await asyncio.wait_for(never, 0.001)
            inner.cancel(never)
            return await inner.run(pid)

        return asyncio.run(main())

    assert ctx.get(ctx.run(attempts), timeout=60) > 0


def squares_in_an_executor(count: int) -> int:
    with fray.Executor(2, options=TaskOptions(resources={"CPU": 1})) as executor:
        return sum(executor.map(operator.mul, range(count), range(count)))


def test_tasks_that_take_turns_with_one_core_finish(engine: Engine) -> None:
    """A lease is asked back as soon as it is granted, and the worker reads that together with its first tasks."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        ctx = engine(cpus=1)
        refs = [ctx.run(squares_in_an_executor, 50) for _ in range(8)]
        assert ctx.get(refs, timeout=PATIENCE) == [sum(i * i for i in range(50))] * 8
    finally:
        os.sched_setaffinity(0, allowed)


def own_state(ctx: fray.JobContext) -> str:
    workers = json.loads(ctx.engine.client.status())["workers"]
    return next(worker["state"] for worker in workers if worker["pid"] == os.getpid())


def test_a_task_is_blocked_as_soon_as_it_waits_where_the_engine_does_not_see_it(ctx: NativeJobContext) -> None:
    def states() -> list[str]:
        inner = fray.get_job_context()
        found = [own_state(inner)]
        with inner.engine.blocking():
            found.append(own_state(inner))
        return [*found, own_state(inner)]

    assert ctx.get(ctx.run(states)) == ["running", "blocked", "running"]


def test_a_wait_that_an_exception_has_cut_short_ends_with_its_task(engine: Engine) -> None:
    def begin_to_wait() -> None:
        fray.get_job_context().engine.client.block()

    ctx = engine(cpus=1, max_workers=1)
    for _ in range(3):
        ctx.get(ctx.run(begin_to_wait))
        assert ctx.get(ctx.run(lambda: own_state(fray.get_job_context()))) == "running"
