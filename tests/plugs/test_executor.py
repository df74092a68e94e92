"""`fray.Executor` keeps the contract of `concurrent.futures.Executor`, on every context."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import os
import pickle
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import fray
import pytest

from tests.conformance.gates import Gate, Journal
from tests.waiting import eventually

WITHIN = 60.0
"""Seconds after which something that must happen is taken not to happen."""


Calls = tuple[list[futures.Future[int]], list[futures.Future[int]]]

CONTEXTS = ("native", "thread", "sync")


@pytest.fixture(params=CONTEXTS)
def ctx(request: pytest.FixtureRequest) -> Iterator[fray.JobContext]:
    if request.param == "native":
        yield request.getfixturevalue("native")
        return
    with fray.create_job_ctx(request.param, max_workers=2) as context:
        yield context


@pytest.fixture(params=("local", "thread", "sync"))
def ctx_kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def gate(tmp_path: Path) -> Callable[[], Gate]:
    count = itertools.count()
    return lambda: Gate.make(str(tmp_path / f"gate{next(count)}"))


def add(a: int, b: int = 1) -> int:
    return a + b


def fail(text: str) -> None:
    raise ValueError(text)


def wait_at(gate: Gate, value: int = 0) -> int:
    gate.wait()
    return value


def test_submit_gives_result_exception_and_remote_traceback(ctx: fray.JobContext) -> None:
    with fray.Executor(context=ctx) as executor:
        assert executor.submit(add, 1, b=2).result(WITHIN) == 3
        failed = executor.submit(fail, "no")
        with pytest.raises(ValueError, match="no") as caught:
            failed.result(WITHIN)
        assert isinstance(failed.exception(), ValueError)
        assert failed.done()
        assert not failed.cancelled()
    if type(ctx).__name__ == "NativeJobContext":
        assert isinstance(caught.value.__cause__, fray.RemoteTraceback)
        assert "raise ValueError(text)" in str(caught.value.__cause__)


def test_thousands_of_calls_come_back_in_their_places(ctx: fray.JobContext) -> None:
    with fray.Executor(context=ctx) as executor:
        calls = [executor.submit(add, number) for number in range(5000)]
        assert [call.result(WITHIN) for call in calls] == list(range(1, 5001))


def test_map_is_lazy_in_its_results_and_ordered(ctx: fray.JobContext) -> None:
    with fray.Executor(context=ctx) as executor:
        for chunksize in (1, 3, 1000):
            assert list(executor.map(add, range(10), range(10), chunksize=chunksize)) == list(range(0, 20, 2))
        assert list(executor.map(add, [])) == []


def test_map_refuses_a_chunksize_before_it_starts_a_call(ctx: fray.JobContext) -> None:
    started: list[int] = []
    with fray.Executor(context=ctx) as executor, pytest.raises(TypeError, match="chunksize must be a whole number"):
        executor.map(add, (started.append(number) or number for number in range(3)), range(3), chunksize=None)  # type: ignore[arg-type,func-returns-value]
    assert started == []


@pytest.mark.parametrize("chunksize", [1, 4])
def test_map_gives_what_came_before_an_exception_and_ends_there(ctx: fray.JobContext, chunksize: int) -> None:
    with fray.Executor(context=ctx) as executor:
        results = executor.map(int, ["0", "1", "two", "3"], chunksize=chunksize)
        assert [next(results), next(results)] == [0, 1]
        with pytest.raises(ValueError, match="two"):
            next(results)
        assert list(results) == []


def test_map_takes_from_endless_iterables_with_a_buffer(ctx: fray.JobContext) -> None:
    with fray.Executor(context=ctx) as executor:
        results = executor.map(add, itertools.count(), buffersize=4)
        assert list(itertools.islice(results, 20)) == list(range(1, 21))


def test_map_whose_iterable_fails_cancels_the_calls_that_nobody_gets(
    native: fray.JobContext, gate: Callable[[], Gate]
) -> None:
    closed, begun = gate(), gate()

    def items() -> Iterator[Gate]:
        yield closed
        begun.wait()
        yield from [closed] * 20
        raise ValueError("no more items")

    with fray.Executor(1, context=native) as executor:
        with pytest.raises(ValueError, match="no more items"):
            executor.map(Gate.announce_and_wait, items(), itertools.repeat(begun))
        left = list(executor._pool._waiting)
        closed.open_if_waited_for()
    assert left == []


def test_map_times_out_and_cancels_the_rest(native: fray.JobContext, gate: Callable[[], Gate]) -> None:
    closed, begun = gate(), gate()
    with fray.Executor(1, context=native) as executor:
        results = executor.map(Gate.announce_and_wait, [closed] * 3, [begun] * 3, timeout=0.05)
        begun.wait()  # what has begun is not cancelled
        with pytest.raises(TimeoutError):
            next(results)
        left = list(executor._pool._waiting)
        closed.open_if_waited_for()
    assert left == []


def test_futures_work_with_wait_and_as_completed(ctx: fray.JobContext) -> None:
    with fray.Executor(context=ctx) as executor, futures.ThreadPoolExecutor(2) as other:
        calls = [pool.submit(add, n) for n in range(50) for pool in (executor, other)]
        assert {call.result() for call in futures.as_completed(calls, WITHIN)} == set(range(1, 51))
        assert futures.wait(calls, WITHIN).not_done == set()
        failing = [executor.submit(fail, "first"), *calls]
        assert futures.wait(failing, WITHIN, futures.FIRST_EXCEPTION).done


def test_result_and_as_completed_time_out(native: fray.JobContext, gate: Callable[[], Gate]) -> None:
    closed = gate()
    with fray.Executor(context=native) as executor:
        call = executor.submit(wait_at, closed)
        with pytest.raises(futures.TimeoutError):
            call.result(0.02)
        with pytest.raises(futures.TimeoutError):
            call.exception(timeout=0)
        with pytest.raises(futures.TimeoutError):
            next(futures.as_completed([call], 0.02))
        assert futures.wait([call], 0.02).not_done == {call}
        closed.open()
        assert call.result(WITHIN) == 0


def test_calls_that_wait_can_be_cancelled_and_running_ones_cannot(
    native: fray.JobContext, gate: Callable[[], Gate], tmp_path: Path
) -> None:
    journal = Journal(str(tmp_path / "journal"))
    for limit in (1, None):
        gates = [gate() for _ in range(limit or 2)]
        with fray.Executor(limit, context=native) as executor:
            running = [executor.submit(wait_at, closed) for closed in gates]
            waiting = [executor.submit(journal.add, number) for number in range(5)]
            eventually(lambda running=running: all(call.running() for call in running))
            assert not any(call.cancel() for call in running)
            assert not any(call.running() for call in waiting)
            assert all(call.cancel() for call in waiting)
            assert all(call.cancelled() and call.done() and call.cancel() for call in waiting)
            with pytest.raises(futures.CancelledError):
                waiting[0].result()
            with pytest.raises(futures.CancelledError):
                waiting[0].exception()
            assert futures.wait(waiting, 0).not_done == set()
            for closed in gates:
                closed.open()
            assert [call.result(WITHIN) for call in running] == [0] * len(running)
            assert not running[0].cancel()
    assert journal.lines() == []


def note_or_wait(gate: Gate | None, journal: Journal | None, value: int) -> int:
    """A function that the engine takes for a short one, because nearly all of its calls are."""
    if gate is not None:
        gate.wait()
    if journal is not None:
        journal.add(value)
    return value


def send_behind(executor: fray.Executor, gates: list[Gate], journal: Journal, count: int) -> Calls:
    """Start calls that wait at gates, one for each worker, and then calls that are sent to the workers behind them."""
    assert list(executor.map(note_or_wait, [None] * 40, [None] * 40, range(40))) == list(range(40))
    running = [executor.submit(note_or_wait, closed, None, 0) for closed in gates]
    eventually(lambda: all(call.running() for call in running))
    return running, [executor.submit(note_or_wait, None, journal, number) for number in range(count)]


def test_calls_that_a_worker_has_and_has_not_begun_can_be_cancelled(
    native: fray.JobContext, gate: Callable[[], Gate], tmp_path: Path
) -> None:
    journal = Journal(str(tmp_path / "journal"))
    gates = [gate(), gate()]
    with fray.Executor(context=native) as executor:
        running, behind = send_behind(executor, gates, journal, 100)
        states = [call.running() for call in behind]
        cancelled = [call.cancel() for call in behind[1::2]]
        cancelled_running = [call.cancel() for call in running]
        for closed in gates:
            closed.open()
        assert [call.result(WITHIN) for call in running] == [0, 0]
        assert [call.result(WITHIN) for call in behind[::2]] == list(range(0, 100, 2))
    assert all(call.cancelled() for call in behind[1::2])
    assert (states, cancelled, cancelled_running) == ([False] * 100, [True] * 50, [False] * 2)
    assert sorted(map(int, journal.lines())) == list(range(0, 100, 2))


def test_shutdown_cancels_what_workers_have_and_have_not_begun(
    native: fray.JobContext, gate: Callable[[], Gate], tmp_path: Path
) -> None:
    journal = Journal(str(tmp_path / "journal"))
    gates = [gate(), gate()]
    executor = fray.Executor(context=native)
    running, behind = send_behind(executor, gates, journal, 100)
    executor.shutdown(wait=False, cancel_futures=True)
    assert all(call.cancelled() for call in behind)
    for closed in gates:
        closed.open()
    executor.shutdown()
    assert [call.result(0) for call in running] == [0, 0]
    assert journal.lines() == []


def test_many_threads_cancel_calls_that_workers_have_while_others_wait_for_them(
    native: fray.JobContext, gate: Callable[[], Gate], tmp_path: Path
) -> None:
    journal = Journal(str(tmp_path / "journal"))
    gates = [gate(), gate()]
    with fray.Executor(context=native) as executor, futures.ThreadPoolExecutor(9) as threads:
        running, behind = send_behind(executor, gates, journal, 80)
        waiter = threads.submit(running[0].result)
        outcomes = list(threads.map(lambda call: call.cancel(), behind * 2))
        for closed in gates:
            closed.open()
        assert waiter.result(WITHIN) == 0
    assert all(outcomes)
    assert journal.lines() == []


def test_cancel_of_a_call_whose_worker_does_not_answer_gives_up(
    native: fray.JobContext, gate: Callable[[], Gate], tmp_path: Path
) -> None:
    journal = Journal(str(tmp_path / "journal"))
    gates = [gate(), gate()]
    with fray.Executor(context=native) as executor:
        running, _ = send_behind(executor, gates, journal, 0)
        workers = [worker["pid"] for worker in native.engine.status()["workers"] if worker["pid"]]
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)  # before the calls are sent, which workers give back after a while
        behind = [executor.submit(note_or_wait, None, journal, number) for number in range(2)]
        cancelled = [call.cancel() for call in behind]
        for pid in workers:
            os.kill(pid, signal.SIGCONT)
        for closed in gates:
            closed.open()
        assert [call.result(WITHIN) for call in running] == [0, 0]
    assert cancelled == [False, False]
    assert sorted(map(int, journal.lines())) == [0, 1]


def test_a_thread_in_result_wakes_when_the_call_is_cancelled(native: fray.JobContext, gate: Callable[[], Gate]) -> None:
    closed = gate()
    with fray.Executor(1, context=native) as executor:
        running, waiting = executor.submit(wait_at, closed), executor.submit(add, 1)
        with futures.ThreadPoolExecutor(1) as threads:
            outcome = threads.submit(waiting.result)
            eventually(lambda: bool(waiting._sleepers))
            assert waiting.cancel()
            with pytest.raises(futures.CancelledError):
                outcome.result(WITHIN)
        closed.open()
        assert running.result(WITHIN) == 0


def test_limit_holds(native: fray.JobContext, gate: Callable[[], Gate]) -> None:
    closed = gate()
    with fray.Executor(1, context=native) as executor:
        calls = [executor.submit(wait_at, closed, number) for number in range(3)]
        for number in range(3):
            eventually(lambda number=number: calls[number].running())
            assert [call.running() for call in calls[number:]] == [True] + [False] * (2 - number)
            closed.open()
            assert calls[number].result(WITHIN) == number


# ---- callbacks


def test_callbacks_run_once_in_order_and_their_errors_are_logged(
    ctx: fray.JobContext, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[object] = []
    with fray.Executor(context=ctx) as executor:
        call = executor.submit(add, 1)
        call.add_done_callback(lambda future: seen.append(future.result()))
        call.add_done_callback(lambda future: fail("in a callback"))
        call.add_done_callback(lambda future: seen.append("last"))
    call.add_done_callback(lambda future: seen.append("after"))
    assert seen == [2, "last", "after"]
    assert "in a callback" in caplog.text


def test_callbacks_submit_more_without_a_deadlock(ctx: fray.JobContext) -> None:
    done = threading.Event()
    left = itertools.count(300, -1)
    with fray.Executor(2, context=ctx) as executor:

        def again(future: futures.Future[int]) -> None:
            assert future.result() == 1
            if next(left) > 0:
                executor.submit(add, 0).add_done_callback(again)
            else:
                done.set()

        for _ in range(4):
            executor.submit(add, 0).add_done_callback(again)
        assert done.wait(WITHIN)


def test_many_threads_submit_at_once(ctx: fray.JobContext) -> None:
    with fray.Executor(context=ctx) as executor, futures.ThreadPoolExecutor(8) as threads:

        def work(first: int) -> int:
            return sum(call.result(WITHIN) for call in [executor.submit(add, first + n) for n in range(100)])

        assert sum(threads.map(work, range(0, 800, 100))) == sum(range(1, 801))


def test_limited_executor_loses_no_call_between_threads(ctx: fray.JobContext) -> None:
    with fray.Executor(1, context=ctx) as executor, futures.ThreadPoolExecutor(8) as threads:

        def work(first: int) -> int:
            return sum(executor.submit(add, first + n).result(WITHIN) for n in range(50))

        assert sum(threads.map(work, range(0, 400, 50))) == sum(range(1, 401))


# ---- initializer


def remember(value: str) -> None:
    os.environ["FRAY_TEST_INITIALIZED"] = os.environ.get("FRAY_TEST_INITIALIZED", "") + value


def remembered() -> tuple[int, str]:
    return os.getpid(), os.environ.get("FRAY_TEST_INITIALIZED", "")


def test_initializer_runs_once_in_each_worker_and_pool(native: fray.JobContext) -> None:
    by_worker: dict[int, set[str]] = {}
    for name in "ab":
        with fray.Executor(context=native, initializer=remember, initargs=(name,)) as executor:
            for pid, text in (call.result(WITHIN) for call in [executor.submit(remembered) for _ in range(50)]):
                assert text.count(name) == 1
                by_worker.setdefault(pid, set()).add(text)
    assert all(len(texts) <= 2 for texts in by_worker.values())


def test_initializer_that_raises_breaks_the_pool(ctx: fray.JobContext, capfd: pytest.CaptureFixture[str]) -> None:
    executor = fray.Executor(context=ctx, initializer=fail, initargs=("no start",))
    calls = [executor.submit(add, 1)]
    with contextlib.suppress(futures.BrokenExecutor):
        calls += [executor.submit(add, 1) for _ in range(3)]
    for call in calls:
        with pytest.raises(futures.BrokenExecutor, match="no start") as caught:
            call.result(WITHIN)
        assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(futures.BrokenExecutor, match="no start"):
        executor.submit(add, 1)
    executor.shutdown()


# ---- the end


def test_shutdown_waits_and_refuses_later_calls(ctx: fray.JobContext) -> None:
    executor = fray.Executor(context=ctx)
    calls = [executor.submit(add, n) for n in range(20)]
    executor.shutdown()
    assert all(call.done() for call in calls)
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(add, 1)
    executor.shutdown()
    assert ctx.get(ctx.run(add, 1)) == 2, "the context lives on"


def test_shutdown_can_cancel_what_has_not_begun(native: fray.JobContext, gate: Callable[[], Gate]) -> None:
    gates = [gate(), gate()]
    executor = fray.Executor(context=native)
    running = [executor.submit(wait_at, closed) for closed in gates]
    waiting = [executor.submit(add, n) for n in range(50)]
    eventually(lambda: all(call.running() for call in running))
    executor.shutdown(wait=False, cancel_futures=True)
    assert all(call.cancelled() for call in waiting)
    for closed in gates:
        closed.open()
    executor.shutdown()
    assert [call.result(0) for call in running] == [0, 0]


def test_an_executor_that_is_dropped_ends_its_calls_and_its_thread(ctx: fray.JobContext) -> None:
    executor = fray.Executor(context=ctx)
    call = executor.submit(add, 1)
    thread, gone = executor._pool._thread, weakref.ref(executor)
    del executor
    gc.collect()
    assert gone() is None
    assert call.result(WITHIN) == 2
    assert thread is not None
    thread.join(WITHIN)
    assert not thread.is_alive()


def test_interpreter_exit_waits_for_the_calls(tmp_path: Path) -> None:
    program = """
import fray, sys, os, time
def slow(path):
    time.sleep(0.2)
    open(path, "w").write("done")
fray.init(cpus=1)
fray.Executor().submit(slow, sys.argv[1]).add_done_callback(lambda future: print("called"))
"""
    command = [sys.executable, "-c", program, str(tmp_path / "file")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "called\n", "")
    assert (tmp_path / "file").read_text() == "done"


def test_closed_context_ends_the_futures_with_an_error(gate: Callable[[], Gate]) -> None:
    closed = gate()
    context = fray.create_job_ctx("local", cpus=1)
    executor = fray.Executor(context=context)
    calls = [executor.submit(wait_at, closed) for _ in range(3)]
    eventually(lambda: calls[0].running())
    context.close()
    for call in calls:
        assert isinstance(call.exception(WITHIN), (futures.BrokenExecutor, fray.FrayError))
    executor.shutdown()


def test_submit_to_a_closed_context_is_an_error_and_no_hang(ctx_kind: str) -> None:
    with fray.create_job_ctx(ctx_kind, max_workers=1) as context:
        executor = fray.Executor(context=context)
        assert executor.submit(add, 1).result(WITHIN) == 2
    with contextlib.suppress(futures.BrokenExecutor):
        error = executor.submit(add, 1).exception(WITHIN)
        assert isinstance(error, (futures.BrokenExecutor, fray.ContextClosedError))
    executor.shutdown()


def test_death_of_the_node_breaks_the_executor() -> None:
    with fray.create_job_ctx("local", cpus=1) as context:
        executor = fray.Executor(context=context)
        node = executor.submit(os.getppid).result(WITHIN)
        call = executor.submit(signal.pause)
        eventually(call.running)
        # The worker's parent is its guardian, whose parent is the fork server, whose parent is the node.
        for _ in range(2):
            node = int(Path(f"/proc/{node}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(node, signal.SIGKILL)
        error = call.exception(WITHIN)
        assert isinstance(error, (futures.BrokenExecutor, fray.NodeDiedError)), error
        with contextlib.suppress(futures.BrokenExecutor):
            assert executor.submit(add, 1).exception(WITHIN) is not None
        executor.shutdown()


def die(number: int) -> int:
    if number == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def failures(executor: futures.Executor) -> dict[int, BaseException | None]:
    calls = [executor.submit(die, number) for number in range(100)]
    errors = {number: call.exception(WITHIN) for number, call in enumerate(calls)}
    return {number: error for number, error in errors.items() if error is not None}


def test_death_of_a_worker_does_not_break_the_pool(native: fray.JobContext) -> None:
    with fray.Executor(context=native) as executor:
        failed = failures(executor)
        assert 7 in failed
        assert len(failed) < 50, "only what that worker had begun"
        assert all(isinstance(error, fray.WorkerDiedError) and "SIGKILL" in str(error) for error in failed.values())
        assert executor.submit(add, 1).result(WITHIN) == 2


def test_retries_leave_only_the_call_that_kills_its_worker(native: fray.JobContext) -> None:
    with fray.Executor(context=native, options=fray.TaskOptions(max_retries=8)) as executor:
        assert list(failures(executor)) == [7]


# ---- elsewhere


async def in_a_loop(context: fray.JobContext) -> list[int]:
    loop = asyncio.get_running_loop()
    with fray.Executor(context=context) as executor:
        first = [loop.run_in_executor(executor, add, number) for number in range(100)]
        return await asyncio.gather(*first, asyncio.wrap_future(executor.submit(add, 100)))


def test_event_loops_run_calls_in_it(ctx: fray.JobContext) -> None:
    assert asyncio.run(in_a_loop(ctx)) == list(range(1, 102))


def nested(count: int, wait: bool = False) -> int:
    with fray.Executor() as executor:
        calls = [executor.submit(add, number) for number in range(count)]
        if wait:
            futures.wait(calls)
        return sum(call.result() for call in calls)


def test_executors_in_tasks_do_not_wait_for_their_own_place(ctx: fray.JobContext) -> None:
    with fray.Executor(context=ctx) as executor:
        assert [call.result(WITHIN) for call in [executor.submit(nested, 5) for _ in range(4)]] == [15] * 4


def test_wait_in_tasks_does_not_wait_for_their_own_place(native: fray.JobContext) -> None:
    with fray.Executor(context=native) as executor:
        assert [call.result(WITHIN) for call in [executor.submit(nested, 5, True) for _ in range(4)]] == [15] * 4


def leave(count: int) -> int:
    with fray.Executor(options=fray.TaskOptions(resources={"CPU": 1})) as executor:
        calls = [executor.submit(add, number) for number in range(count)]
    return sum(call.result() for call in calls)


def test_the_end_of_an_executor_in_a_task_does_not_wait_for_the_place_of_that_task(ctx: fray.JobContext) -> None:
    with fray.Executor(context=ctx) as executor:
        assert [call.result(WITHIN) for call in [executor.submit(leave, 5) for _ in range(4)]] == [15] * 4


def test_what_cannot_be_pickled_is_the_exception_of_its_future(native: fray.JobContext) -> None:
    with fray.Executor(context=native) as executor:
        assert isinstance(executor.submit(add, threading.Lock()).exception(WITHIN), fray.SerializationError)
        assert isinstance(executor.submit(threading.Lock).exception(WITHIN), fray.FrayError)
        assert executor.submit(lambda: 5).result(WITHIN) == 5


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"max_workers": 0}, ValueError, "max_workers must be greater than 0, got 0"),
        ({"max_workers": -3}, ValueError, "max_workers must be greater than 0"),
        ({"max_workers": 1.5}, TypeError, "whole number"),
        ({"options": {"CPU": 1}}, TypeError, "TaskOptions"),
        ({"options": fray.TaskOptions(num_returns=2)}, ValueError, "num_returns"),
        ({"initializer": 3}, TypeError, "initializer"),
        ({"initargs": 3}, TypeError, r"initargs must be a tuple such as \(x,\), got 3"),
        ({"context": 0}, TypeError, "context must be a context of Fray or None, got int"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with fray.LocalJobContext() as context, pytest.raises(error, match=message):
        fray.Executor(**{"context": context, **arguments})


@pytest.mark.parametrize(("timeout", "error"), [("1", TypeError), (b"1", TypeError), (float("nan"), ValueError)])
def test_timeouts_that_are_none_are_refused(timeout: Any, error: type[Exception], gate: Callable[[], Gate]) -> None:
    closed = gate()
    with fray.ThreadContext(2) as context, fray.Executor(context=context) as executor:
        waiting = executor.submit(wait_at, closed)
        for wait in (waiting.result, waiting.exception, lambda seconds: executor.map(abs, [1], timeout=seconds)):
            with pytest.raises(error, match="timeout must be"):
                wait(timeout)
        with pytest.raises(futures.TimeoutError):
            waiting.result(-1)
        closed.open()


def test_bad_sizes_of_map_are_named() -> None:
    with fray.LocalJobContext() as context, fray.Executor(context=context) as executor:
        with pytest.raises(ValueError, match="chunksize"):
            executor.map(add, [1], chunksize=0)
        with pytest.raises(ValueError, match="buffersize"):
            executor.map(add, [1], buffersize=0)
        assert isinstance(executor.submit(3).exception(WITHIN), TypeError)  # type: ignore[arg-type]


@pytest.mark.parametrize("chunksize", [1, 3])
def test_a_result_goes_when_its_receiver_lets_go_of_it(ctx: fray.JobContext, chunksize: int) -> None:
    with fray.Executor(2, context=ctx) as executor:
        for result in executor.map(_Thing, range(10), chunksize=chunksize):
            seen = weakref.ref(result)
            del result
            gc.collect()
            eventually(lambda seen=seen: seen() is None)  # a thread that has made it is about to let go of it


def test_a_call_that_nobody_waits_for_lets_go_of_its_object(ctx: fray.JobContext) -> None:
    thing = _Thing(1)
    gone = threading.Event()
    weakref.finalize(thing, gone.set)
    with fray.Executor(2, context=ctx) as executor:
        executor.submit(thing.twice)
        del thing
        assert gone.wait(WITHIN)


class _Thing:
    def __init__(self, number: int) -> None:
        self.number = number

    def twice(self) -> int:
        return 2 * self.number


def test_a_large_function_is_warned_of_where_the_program_sends_it(native: fray.JobContext) -> None:
    captured = bytes(2 << 20)
    sends: list[Callable[[fray.Executor], object]] = [
        lambda executor: executor.submit(lambda: len(captured)).result(),
        lambda executor: list(executor.map(lambda number: len(captured), range(1))),
        lambda executor: native.get(native.run(lambda: len(captured))),
    ]
    with fray.Executor(context=native) as executor:
        for send in sends:
            with pytest.warns(UserWarning, match="'captured'") as warned:
                send(executor)
            assert {warning.filename for warning in warned} == {__file__}


# ---- interrupts


def ends(executor: fray.Executor) -> bool:
    """Return whether a `shutdown` that waits returns."""
    thread = threading.Thread(target=executor.shutdown, daemon=True)
    thread.start()
    thread.join(WITHIN)
    return not thread.is_alive()


def test_nothing_waits_for_a_call_whose_submission_was_interrupted(
    ctx: fray.JobContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = fray.Executor(context=ctx)

    def interrupted(ref: Any, arrived: Callable[[], object]) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(executor._pool._watch, "add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            executor.submit(pow, 2, 3)
    assert executor.submit(pow, 2, 4).result(WITHIN) == 16
    assert ends(executor)


class PickledWhenAllowed:
    """Says that it is being pickled, and waits until it may be."""

    def __init__(self) -> None:
        self.begun, self.allowed = threading.Event(), threading.Event()

    def __reduce__(self) -> tuple[Any, ...]:
        self.begun.set()
        assert self.allowed.wait(WITHIN)
        return int, ()


def wait_with(argument: object, gate: Gate) -> None:
    gate.wait()


@pytest.mark.parametrize("queued", [False, True])
def test_interrupt_cancels_a_call_that_another_thread_is_submitting(
    native: fray.JobContext, gate: Callable[[], Gate], queued: bool
) -> None:
    argument, never, first = PickledWhenAllowed(), gate(), gate()
    calls: list[futures.Future[Any]] = []
    with fray.Executor(1, context=native, options=fray.TaskOptions(timeout=WITHIN)) as executor:
        submit = threading.Thread(target=lambda: calls.append(executor.submit(wait_with, argument, never)))
        if queued:  # so that the executor's own thread submits it
            executor.submit(wait_at, first)
        submit.start()
        if queued:
            submit.join(WITHIN)
            first.open()
        assert argument.begun.wait(WITHIN)
        executor.interrupt()
        argument.allowed.set()
        submit.join(WITHIN)
        with pytest.raises(futures.CancelledError):
            calls[0].result(WITHIN)
        assert executor.submit(add, 1).result(WITHIN) == 2, "calls are taken as before"


@pytest.mark.parametrize("runs", [False, True])
def test_one_thread_serves_though_its_start_was_interrupted(monkeypatch: pytest.MonkeyPatch, runs: bool) -> None:
    start, threads = threading.Thread.start, []

    def interrupted(thread: threading.Thread) -> None:
        if thread.name != "fray-executor":
            return start(thread)
        if runs:
            start(thread)
            threads.append(thread)
        raise KeyboardInterrupt

    with fray.ThreadContext(max_workers=2) as context:
        executor = fray.Executor(context=context)
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", interrupted)
            with pytest.raises(KeyboardInterrupt):
                executor.submit(pow, 2, 3)
        assert [executor.submit(pow, 2, power).result(WITHIN) for power in (4, 5)] == [16, 32]
        assert ends(executor)
        for thread in threads:
            thread.join(WITHIN)
            assert not thread.is_alive()


@pytest.fixture
def on_signal() -> Iterator[Callable[[Callable[..., Any]], object]]:
    """Set what happens on SIGUSR1."""
    before = signal.getsignal(signal.SIGUSR1)
    yield lambda handler: signal.signal(signal.SIGUSR1, handler)
    signal.signal(signal.SIGUSR1, before)


def time_out(number: int, frame: object) -> None:
    raise fray.TaskTimeoutError("as the handler of a worker does")


def test_a_task_that_is_interrupted_while_it_submits_is_not_told_by_the_future(
    monkeypatch: pytest.MonkeyPatch, on_signal: Callable[[Callable[..., Any]], object]
) -> None:
    on_signal(time_out)
    with fray.LocalJobContext() as context, fray.Executor(context=context) as executor:
        monkeypatch.setattr(context.engine, "submit", lambda *args: signal.raise_signal(signal.SIGUSR1))
        with pytest.raises(fray.TaskTimeoutError):
            executor.submit(pow, 2, 3)


def test_an_initializer_that_was_interrupted_runs_again(on_signal: Callable[[Callable[..., Any]], object]) -> None:
    from fray.executor.calls import initialize

    payload = pickle.dumps((signal.raise_signal, (signal.SIGUSR1,)))
    on_signal(time_out)
    with pytest.raises(fray.TaskTimeoutError):
        initialize("interrupted", payload)
    on_signal(lambda number, frame: None)
    initialize("interrupted", payload)


FORKS = """
import sys, os
import fray


def wait(gate):
    return os.read(gate, 1)


if __name__ == "__main__":
    read, write = os.pipe()
    context = fray.create_job_ctx(sys.argv[1], max_workers=2)
    executor = fray.Executor(context=context)
    done = executor.submit(abs, -1)
    print(done.result(60))
    unfinished = executor.submit(wait, read) if sys.argv[1] == "thread" else done
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        print(executor.submit(abs, -2).result(60), list(executor.map(abs, [-3, -4])), done.result())
        if unfinished is not done:
            print(type(unfinished.exception(60)).__name__)
        executor.shutdown()
        sys.exit(3)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    os.write(write, b"x")
    print(unfinished.result(60), executor.submit(abs, -5).result(60))
"""


@pytest.mark.parametrize("kind", ["local", "thread", "sync"])
def test_a_child_of_fork_has_an_executor_that_works_without_the_calls_of_its_parent(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "forks.py"
    path.write_text(FORKS)
    words = [sys.executable, "-W", "ignore", str(path), kind]
    program = subprocess.run(words, capture_output=True, text=True, timeout=WITHIN, check=False)
    assert program.stderr == ""
    foreign, last = ("ForeignRefError\n", b"x") if kind == "thread" else ("", 1)
    assert program.stdout == f"1\n2 [3, 4] 1\n{foreign}3\n{last!r} 5\n"


def test_an_executor_says_how_to_do_without_pickling_it() -> None:
    with fray.LocalJobContext(serialize=True) as ctx, fray.Executor(context=ctx) as executor:
        things = ((executor, r"make a fray\.Executor\(context=...\)"), (executor.submit(abs, -1), r"result\(\)"))
        for thing, advice in things:
            with pytest.raises(TypeError, match=advice):
                pickle.dumps(thing)
            with pytest.raises(TypeError, match=advice):
                ctx.run(repr, thing)
