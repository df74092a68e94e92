"""What happens when a worker dies or stops."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fray
import numpy
import pytest
from fray import TaskCancelledError, TaskOptions, WorkerDiedError
from fray.backend.native import NativeJobContext

from tests.chaos.harness import PATIENCE, ROOT, Driver, Process, eventually, look_at
from tests.chaos.tasks import (
    add,
    array,
    die_once,
    echo,
    fork_server,
    kill_self,
    pid,
    sleep_forever,
    write_pid_and_hang,
    write_pid_and_wait,
)
from tests.conformance.gates import Gate, Journal

ONCE = TaskOptions(max_retries=0)


def worker_in(journal: Journal, line: int = 0) -> Process:
    eventually(lambda: len(journal.lines()) > line)
    process = look_at(int(journal.lines()[line]))
    assert process is not None
    return process


def test_a_task_whose_worker_died_is_run_once_more(ctx: NativeJobContext, journal: Journal) -> None:
    assert ctx.get(ctx.run(die_once, journal), timeout=20) == 1
    assert len(set(journal.lines())) == 2


def test_a_task_is_not_retried_more_often_than_its_options_say(ctx: NativeJobContext, journal: Journal) -> None:
    def die() -> None:
        journal.add(os.getpid())
        kill_self()

    with pytest.raises(WorkerDiedError):
        ctx.get(ctx.create_task(die, options=TaskOptions(max_retries=2)), timeout=30)
    assert len(journal.lines()) == 3


def test_exceptions_and_lost_workers_share_one_count_of_retries(ctx: NativeJobContext, journal: Journal) -> None:
    def raise_or_die() -> None:
        if journal.add(os.getpid()) % 2 == 0:
            raise ConnectionError("once more")
        kill_self()

    with pytest.raises(WorkerDiedError):
        ctx.get(ctx.create_task(raise_or_die, options=TaskOptions(max_retries=3, retry_exceptions=True)), timeout=30)
    assert len(journal.lines()) == 4


def test_a_task_that_waits_to_be_retried_is_cancelled_like_any_other(ctx: NativeJobContext, journal: Journal) -> None:
    def fail() -> None:
        journal.add(os.getpid())
        raise OSError("again and again")

    ref = ctx.create_task(fail, options=TaskOptions(max_retries=-1, retry_exceptions=(OSError,)))
    eventually(lambda: len(journal.lines()) > 20)
    ctx.cancel(ref)
    with pytest.raises(TaskCancelledError):
        ctx.get(ref, timeout=20)
    assert ctx.get(ctx.run(echo, 1), timeout=20) == 1


def test_without_retries_the_error_has_signal_pid_name_and_last_output(ctx: NativeJobContext) -> None:
    def die() -> None:
        print("about to fall over")
        print("cause: heap", file=sys.stderr, flush=True)
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGSEGV)

    with pytest.raises(WorkerDiedError) as caught:
        ctx.get(ctx.create_task(die, options=TaskOptions(max_retries=0, name="faller")), timeout=20)
    text = str(caught.value)
    assert "SIGSEGV" in text
    assert "faller" in text
    assert "pid " in text
    assert "about to fall over" in text
    assert "cause: heap" in text


def test_the_exit_code_of_a_worker_that_ended_itself_is_in_the_error(ctx: NativeJobContext) -> None:
    with pytest.raises(WorkerDiedError, match="exited with code 41"):
        ctx.get(ctx.create_task(os._exit, (41,), options=ONCE), timeout=20)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_killed_worker_is_replaced(ctx: NativeJobContext, number: int) -> None:
    for _ in range(3):
        with pytest.raises(WorkerDiedError, match=signal.Signals(number).name):
            ctx.get(ctx.create_task(kill_self, (number,), options=ONCE), timeout=20)
    assert ctx.get([ctx.run(add, number, 1) for number in range(50)], timeout=20) == list(range(1, 51))


def test_an_idle_worker_that_is_killed_costs_no_task(ctx: NativeJobContext) -> None:
    for _ in range(10):
        worker = look_at(ctx.get(ctx.run(pid), timeout=20))
        assert worker is not None
        worker.signal(signal.SIGKILL)
        assert ctx.get(ctx.run(add, 1, 2), timeout=20) == 3


def test_tasks_queued_behind_a_task_that_kills_its_worker_are_not_charged_for_it(
    engine: Callable[..., NativeJobContext], gate: Callable[[], Gate], journal: Journal
) -> None:
    """They never started, so they run although they must not be retried."""
    ctx = engine(cpus=1)
    ctx.get([ctx.run(echo, number) for number in range(200)])
    go = gate()

    def wait_and_die() -> None:
        go.wait()
        kill_self()

    killer = ctx.create_task(wait_and_die, options=ONCE)
    behind = [ctx.create_task(echo, (number,), options=ONCE) for number in range(100)]
    go.open()
    assert ctx.get(behind, timeout=20) == list(range(100))
    with pytest.raises(WorkerDiedError):
        ctx.get(killer, timeout=20)


# ---- killed before, while and after a result is written


@pytest.mark.parametrize("count", [10, 60_000, 1_000_000], ids=["inline", "slab", "segment"])
@pytest.mark.parametrize("moment", ["before", "during", "after"])
def test_a_worker_killed_around_its_result_leaves_a_whole_one_or_none(
    ctx: NativeJobContext, journal: Journal, moment: str, count: int
) -> None:
    """`during` kills at 25 points spread over the time that making and sending the result takes."""

    def make(fill: int) -> Any:
        if moment == "before" and journal.add(os.getpid()) % 2 == 0:
            kill_self()
        values = array(count, fill)
        journal.add(os.getpid())
        return values

    for round_number in range(25 if moment == "during" else 3):
        already = len(journal.lines())
        ref = ctx.create_task(make, (round_number,), options=TaskOptions(max_retries=5))
        if moment == "during":
            worker = worker_in(journal, already)
            end = time.perf_counter() + round_number * 40e-6
            while time.perf_counter() < end:
                pass
            worker.signal(signal.SIGKILL)
        if moment == "after":
            ctx.wait([ref])
            worker_in(journal, already).signal(signal.SIGKILL)
        values = ctx.get(ref, timeout=PATIENCE)
        assert len(values) == count
        assert bool((values == round_number).all())


def test_memory_of_results_that_a_killed_worker_never_sent_comes_back(
    engine: Callable[..., NativeJobContext], journal: Journal
) -> None:
    """Far more than the store holds is written by workers that die over it."""
    ctx = engine(store_memory=64 << 20)

    def make_and_die() -> None:
        inner = fray.get_job_context()
        values = inner.empty(2_000_000, numpy.int64)
        values[:] = 1
        inner.put(values)
        kill_self()

    for _ in range(20):
        with pytest.raises(WorkerDiedError):
            ctx.get(ctx.create_task(make_and_die, options=ONCE), timeout=20)
    assert int(ctx.get(ctx.run(array, 2_000_000, 1), timeout=20).sum()) == 2_000_000


# ---- stopped


def test_a_stopped_worker_holds_up_nobody_else(
    ctx: NativeJobContext, gate: Callable[[], Gate], journal: Journal
) -> None:
    go = gate()
    ref = ctx.run(write_pid_and_wait, journal, go)
    worker = worker_in(journal)
    worker.signal(signal.SIGSTOP)
    try:
        assert ctx.get([ctx.run(echo, number) for number in range(300)], timeout=20) == list(range(300))
    finally:
        worker.signal(signal.SIGCONT)
    go.open()
    assert ctx.get(ref, timeout=20) == worker.pid


def test_work_sent_to_a_worker_that_is_stopped_is_run_when_it_goes_on(
    engine: Callable[..., NativeJobContext],
) -> None:
    ctx = engine(cpus=1)
    worker = look_at(ctx.get(ctx.run(pid)))
    assert worker is not None
    worker.signal(signal.SIGSTOP)
    refs = [ctx.run(echo, number) for number in range(100)]
    assert not ctx.wait(refs, timeout=0.2)[0]
    worker.signal(signal.SIGCONT)
    assert ctx.get(refs, timeout=20) == list(range(100))


def test_a_stopped_worker_is_ended_by_force(engine: Callable[..., NativeJobContext], journal: Journal) -> None:
    ctx = engine(cpus=1)
    ref = ctx.run(write_pid_and_hang, journal)
    worker = worker_in(journal)
    worker.signal(signal.SIGSTOP)
    ctx.cancel(ref, force=True)
    with pytest.raises(TaskCancelledError):
        ctx.get(ref, timeout=20)
    eventually(lambda: not worker.is_alive())
    assert ctx.get(ctx.run(echo, 1), timeout=20) == 1


def test_a_context_with_a_stopped_worker_closes(engine: Callable[..., NativeJobContext], journal: Journal) -> None:
    ctx = engine()
    ctx.run(write_pid_and_hang, journal)
    worker = worker_in(journal)
    worker.signal(signal.SIGSTOP)
    ctx.close()
    eventually(lambda: not worker.is_alive())


def status_of(ctx: NativeJobContext, worker: Process) -> dict[str, Any]:
    rows = json.loads(ctx._client.status())["workers"]
    return next(row for row in rows if row["pid"] == worker.pid)


def test_the_status_of_a_stopped_worker_says_so_and_since_when(ctx: NativeJobContext, journal: Journal) -> None:
    ref = ctx.run(write_pid_and_hang, journal)
    worker = worker_in(journal)
    assert status_of(ctx, worker)["state"] == "running"
    worker.signal(signal.SIGSTOP)
    eventually(lambda: status_of(ctx, worker)["state"] == "stopped")
    first = status_of(ctx, worker)
    assert first["task"] == "write_pid_and_hang"
    assert eventually(lambda: status_of(ctx, worker)["stopped_seconds"] > first["stopped_seconds"])
    worker.signal(signal.SIGCONT)
    eventually(lambda: status_of(ctx, worker)["state"] == "running")
    assert "stopped_seconds" not in status_of(ctx, worker)
    ctx.cancel(ref, force=True)


def test_a_worker_that_holds_the_interpreter_lock_is_not_stopped_but_runs(
    ctx: NativeJobContext, journal: Journal
) -> None:
    def hold_lock() -> None:
        import ctypes

        journal.add(os.getpid())
        ctypes.PyDLL(None).sleep(3)

    ref = ctx.run(hold_lock)
    worker = worker_in(journal)
    while not ctx.wait([ref], timeout=0.05)[0]:
        assert status_of(ctx, worker)["state"] != "stopped"
    assert ctx.get(ref) is None


def test_who_waits_for_a_stopped_worker_is_told_once_and_gets_the_result_when_it_goes_on(
    gate: Callable[[], Gate],
) -> None:
    source = """
        def work(gate):
            print(os.getpid(), flush=True)
            gate.wait()
            return 7
        ctx = NativeJobContext(cpus=1)
        ref = ctx.run(work, Gate(sys.argv[1]))
        try:
            ctx.get(ref, timeout=6)
        except fray.GetTimeoutError:
            print("waits", flush=True)
        print(ctx.get(ref, timeout=60))
        ctx.close()
    """
    door = gate()
    with Driver("from tests.conformance.gates import Gate\n" + textwrap.dedent(source), door.path) as driver:
        worker = look_at(int(driver.line().split()[-1]))
        assert worker is not None
        worker.signal(signal.SIGSTOP)
        assert driver.process.stderr is not None
        told = os.read(driver.process.stderr.fileno(), 65536).decode()
        assert driver.line() == "waits"
        worker.signal(signal.SIGCONT)
        door.open()
        finished = driver.finish()
    assert finished.stdout == "7\n"
    assert (told + finished.stderr).count("stopped") == 1
    assert f"(work pid={worker.pid}) this worker is stopped" in told
    assert f"kill -CONT {worker.pid}" in told + finished.stderr


# ---- before the first task


def test_workers_that_die_before_their_first_task_are_told_and_not_started_for_ever(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys, types\nsys.modules['mkl'] = types.ModuleType('mkl')\n")
    deaths = tmp_path / "deaths"
    # A worker with a numerical library calls this when it is leased with two CPUs, before it reads the task.
    (tmp_path / "threadpoolctl.py").write_text(
        textwrap.dedent(f"""
            import os

            def threadpool_limits(limits, *others):
                if limits == 2:
                    with open({str(deaths)!r}, "a") as file:
                        file.write("x")
                    os._exit(9)
        """)
    )
    source = """
        ctx = fray.init(cpus=2)
        wide = fray.TaskOptions(resources={"CPU": 2})
        for _ in range(2):
            try:
                ctx.get(ctx.create_task(pow, (2, 5), options=wide), timeout=60)
            except fray.WorkerDiedError as error:
                print(str(error).replace("\\n", " "))
        print(ctx.get(ctx.run(pow, 2, 5), timeout=60))
    """
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    with Driver(source, env={"PYTHONPATH": path}) as driver:
        first, second, last = driver.line(), driver.line(), driver.line()
    told = r"the last 1\d died before their first task: a worker ended before its first task \(exit code 9"
    assert re.search(told, first)
    assert re.search(told, second)
    assert last == "32"
    # Those that are under way when the tenth dies, and one for each task that is asked for later, die too.
    assert 11 <= len(deaths.read_text()) < 25


# ---- retired


def test_max_calls_retires_the_worker(engine: Callable[..., NativeJobContext]) -> None:
    ctx = engine(cpus=1)
    options = TaskOptions(max_calls=2)
    pids = [ctx.get(ctx.create_task(pid, options=options), timeout=20) for _ in range(6)]
    assert pids[0] == pids[1] != pids[2] == pids[3] != pids[4] == pids[5]


def test_max_calls_counts_each_function_and_loses_no_queued_task(ctx: NativeJobContext, journal: Journal) -> None:
    def work(number: int) -> int:
        journal.add(f"{number} {os.getpid()}")
        return number

    refs = [ctx.create_task(work, (number,), options=TaskOptions(max_calls=3, max_retries=0)) for number in range(60)]
    assert ctx.get(refs, timeout=60) == list(range(60))
    lines = [line.split() for line in journal.lines()]
    assert sorted(int(number) for number, _ in lines) == list(range(60))
    calls: dict[str, int] = {}
    for _, worker in lines:
        calls[worker] = calls.get(worker, 0) + 1
    assert max(calls.values()) <= 3


def test_a_retired_worker_takes_the_results_it_made_nowhere(engine: Callable[..., NativeJobContext]) -> None:
    ctx = engine(cpus=1)
    refs = [ctx.create_task(array, (500_000, number), options=TaskOptions(max_calls=1)) for number in range(4)]
    assert [int(values.sum()) for values in ctx.get(refs, timeout=30)] == [number * 500_000 for number in range(4)]


# ---- much of it


@pytest.mark.timeout(110)
def test_work_survives_workers_killed_all_the_time(ctx: NativeJobContext, journal: Journal) -> None:
    def work(number: int) -> int:
        journal.add(os.getpid())
        return number

    refs: list[Any] = []
    killed = 0
    for first in range(0, 3000, 100):
        seen = len(journal.lines())
        refs += [
            ctx.create_task(work, (number,), options=TaskOptions(max_retries=-1))
            for number in range(first, first + 100)
        ]
        eventually(lambda seen=seen: len(journal.lines()) > seen)
        process = look_at(int(journal.lines()[-1]))
        if process is not None:
            process.signal(signal.SIGKILL)
            killed += 1
    assert ctx.get(refs, timeout=100) == list(range(3000))
    assert killed > 0


def test_a_task_that_hangs_in_its_fork_server_s_death_ends_with_an_error_and_the_engine_goes_on(
    ctx: NativeJobContext, journal: Journal
) -> None:
    def note_parent() -> None:
        journal.add(fork_server())
        sleep_forever()

    ref = ctx.create_task(note_parent, options=ONCE)
    server = worker_in(journal)
    server.signal(signal.SIGKILL)
    with pytest.raises(WorkerDiedError):
        ctx.get(ref, timeout=20)
    assert ctx.get(ctx.run(echo, 1), timeout=20) == 1
