"""Processes that user code starts, in the driver and in workers: deaths are still noticed, and nothing stays."""

from __future__ import annotations

import asyncio
import atexit
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import fray
import pytest
from fray import ActorOptions, NodeDiedError, TaskOptions, WorkerDiedError
from fray.backend.native import NativeJobContext

from tests.chaos.harness import (
    PATIENCE,
    PROMPT,
    Driver,
    current_marker,
    eventually,
    look_at,
    marked_processes,
    nodes,
    run_driver,
    the_node,
)
from tests.chaos.tasks import echo, pid, random_words, sleep_forever
from tests.conformance.gates import Journal

pytestmark = pytest.mark.not_under_asan("hangs a forked child whose parent was allocating in another thread")


def fork_and_hang(journal: Journal, escape: bool) -> None:
    """Leave a child behind that holds all of this process's sockets, and hang."""
    if os.fork() == 0:
        if escape:
            os.setsid()
            if os.fork() != 0:
                os._exit(0)
        journal.add(f"child {os.getpid()}")
        sleep_forever()
    journal.add(f"worker {os.getpid()}")
    sleep_forever()


def pids_in(journal: Journal) -> dict[str, int]:
    return {kind: int(number) for kind, number in (line.split() for line in journal.lines())}


@pytest.mark.parametrize("escape", [False, True], ids=["child", "daemon"])
def test_the_death_of_a_worker_whose_child_holds_its_sockets_is_noticed(
    ctx: NativeJobContext, journal: Journal, escape: bool
) -> None:
    ref = ctx.create_task(fork_and_hang, (journal, escape), options=TaskOptions(max_retries=0))
    eventually(lambda: len(journal.lines()) == 2)
    found = pids_in(journal)
    worker, child = look_at(found["worker"]), look_at(found["child"])
    assert worker is not None and child is not None
    worker.signal(signal.SIGKILL)
    with pytest.raises(WorkerDiedError):
        ctx.get(ref, timeout=20)
    eventually(lambda: not child.is_alive(), what="the child of a dead worker is ended")
    assert ctx.get(ctx.run(echo, 1), timeout=20) == 1


@pytest.mark.parametrize("escape", [False, True], ids=["child", "daemon"])
def test_children_of_workers_end_with_the_context(
    engine: Callable[..., NativeJobContext], journal: Journal, escape: bool
) -> None:
    ctx = engine()
    ctx.run(fork_and_hang, journal, escape)
    eventually(lambda: len(journal.lines()) == 2)
    child = look_at(pids_in(journal)["child"])
    assert child is not None
    ctx.close()
    eventually(lambda: not child.is_alive(), what="the child of a worker is ended")


def test_a_subprocess_of_a_task_ends_with_the_context(
    engine: Callable[..., NativeJobContext], journal: Journal
) -> None:
    def start() -> None:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=True)
        journal.add(child.pid)

    ctx = engine()
    ctx.get(ctx.run(start))
    child = look_at(int(journal.lines()[0]))
    assert child is not None and child.is_alive()
    ctx.close()
    eventually(lambda: not child.is_alive())


def test_a_subprocess_of_a_task_does_not_keep_the_end_of_the_driver_unnoticed() -> None:
    finished = run_driver(
        """
        import subprocess
        def start():
            subprocess.Popen(["sleep", "3600"], close_fds=False, start_new_session=True)
        ctx = NativeJobContext(cpus=2)
        ctx.get(ctx.run(start))
        """
    )
    finished.ok()


def square(number: int) -> int:
    return number * number


def test_a_task_can_use_a_pool_of_forked_processes(ctx: NativeJobContext) -> None:
    def with_pool() -> list[int]:
        with multiprocessing.get_context("fork").Pool(2) as pool:
            return pool.map(square, range(20))

    assert ctx.get(ctx.run(with_pool), timeout=30) == [number * number for number in range(20)]


def test_the_driver_can_use_a_pool_of_forked_processes_beside_the_engine(ctx: NativeJobContext) -> None:
    ref = ctx.put(list(range(1000)))
    assert ctx.get(ctx.run(echo, 1)) == 1
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(square, range(100)) == [number * number for number in range(100)]
        assert ctx.get([ctx.run(echo, number) for number in range(200)]) == list(range(200))
    assert ctx.get(ref) == list(range(1000))


LOADER = """
    import multiprocessing, numpy
    def produce(queue, seed):
        for number in range(20):
            queue.put(numpy.full(1000, number))
        time.sleep(3600)
    ctx = NativeJobContext(cpus=2)
    ctx.get(ctx.run(pow, 2, 3))
    fork = multiprocessing.get_context("fork")
    queue = fork.Queue()
    loaders = [fork.Process(target=produce, args=(queue, seed), daemon=True) for seed in range(2)]
    for loader in loaders:
        loader.start()
    total = sum(int(queue.get().sum()) for _ in range(40))
    print(total, flush=True)
"""


def test_data_loader_children_of_the_driver_do_not_disturb_and_do_not_stay() -> None:
    finished = run_driver(LOADER + "    print(ctx.get(ctx.run(pow, 2, 5)))\n")
    assert finished.ok() == "380000\n32\n"


def test_the_death_of_a_driver_whose_children_hold_its_sockets_is_noticed() -> None:
    """Its own children are not the engine's to end; everything else goes."""
    with Driver(LOADER + "    sys.stdin.readline()\n") as driver:
        assert driver.line() == "380000"
        engine_processes = [
            process for process in marked_processes(current_marker()) if driver.pid not in (process.pid, process.parent)
        ]
        assert engine_processes
        children = [process for process in marked_processes(current_marker()) if process.parent == driver.pid]
        driver.signal(signal.SIGKILL)
        try:
            eventually(
                lambda: not any(p.is_alive() for p in engine_processes), PROMPT, "the engine of a dead driver ends"
            )
        finally:
            for child in children:
                child.signal(signal.SIGKILL)


def test_the_death_of_the_node_is_noticed_although_a_forked_child_of_the_driver_lives(ctx: NativeJobContext) -> None:
    ref = ctx.run(sleep_forever)
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    try:
        the_node().signal(signal.SIGKILL)
        with pytest.raises(NodeDiedError):
            ctx.get(ref, timeout=20)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def in_a_child(work: Callable[[], object]) -> str:
    """What `work` returns or raises in a process forked from this one, as text."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, str(work()).encode())
        except BaseException as error:
            os.write(write, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read) as pipe:
        said = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return said


def test_a_forked_child_of_the_driver_gets_a_connection_of_its_own_to_the_same_node(ctx: NativeJobContext) -> None:
    kept = ctx.run(echo, "kept")
    assert in_a_child(lambda: ctx.get(ctx.run(echo, 7), timeout=20)) == "7"
    assert in_a_child(lambda: len(ctx.get([ctx.put(number) for number in range(50)]))) == "50"
    assert in_a_child(lambda: len({process.pid for process in nodes()})) == "1"
    assert ctx.get(kept, timeout=20) == "kept"
    assert ctx.get([ctx.run(echo, number) for number in range(100)], timeout=20) == list(range(100))


def test_a_forked_child_finds_the_context_that_its_parent_had_chosen() -> None:
    finished = run_driver(
        """
        import multiprocessing
        fray.init(cpus=2)
        assert fray.get_job_context().get(fray.get_job_context().run(pow, 2, 3)) == 8
        def child(number):
            ctx = fray.get_job_context()
            return ctx.get(ctx.run(pow, 2, number))
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(pool.map(child, range(6)))
        fray.shutdown()
        """
    )
    assert finished.ok() == "[1, 2, 4, 8, 16, 32]\n"


def test_refs_of_the_parent_are_refused_in_a_forked_child_with_a_way_on(ctx: NativeJobContext) -> None:
    ready, pending = ctx.put([1, 2]), ctx.run(sleep_forever)
    for use in (
        lambda: ctx.get(ready),
        lambda: ready.result(),
        lambda: ctx.get([ready, ready]),
        lambda: ctx.wait([pending], timeout=1),
        lambda: ctx.run(echo, ready),
        lambda: ctx.cancel(pending),
    ):
        assert in_a_child(use).startswith("ForeignRefError: "), use
    assert ctx.get(ready) == [1, 2]
    ctx.cancel(pending, force=True)


def test_closing_an_inherited_context_leaves_the_parents_open(ctx: NativeJobContext) -> None:
    assert in_a_child(lambda: ctx.close()) == "None"
    assert in_a_child(lambda: (ctx.close(), ctx.run(echo, 1))).startswith("ContextClosedError")
    assert ctx.get(ctx.run(echo, 1), timeout=20) == 1


def test_a_process_that_a_task_forks_is_told_to_leave_the_work_to_the_task(ctx: NativeJobContext) -> None:
    def fork() -> str:
        inner = fray.get_job_context()
        return in_a_child(lambda: inner.run(echo, 1))

    assert ctx.get(ctx.run(fork), timeout=20).startswith("UnsupportedError: a process that a task has forked")


def test_a_forked_child_that_ends_normally_leaves_the_parents_engine_running() -> None:
    finished = run_driver(
        """
        ctx = NativeJobContext(cpus=2)
        ref = ctx.put([1, 2])
        child = os.fork()
        if child == 0:
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        print(ctx.get(ref), ctx.get(ctx.run(pow, 2, 3)))
        """
    )
    assert finished.ok() == "[1, 2] 8\n"


def test_a_forked_child_of_a_task_that_ends_normally_does_not_answer_for_it(
    engine: Callable[..., NativeJobContext],
) -> None:
    def fork_and_return() -> int:
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        return os.getpid()

    ctx = engine(cpus=1)
    worker = ctx.get(ctx.run(pid))
    assert ctx.get([ctx.run(fork_and_return) for _ in range(10)], timeout=30) == [worker] * 10


def test_numpys_global_generator_differs_between_workers(
    engine: Callable[..., NativeJobContext], journal: Journal
) -> None:
    def words_and_pid() -> tuple[int, list[int]]:
        inner = fray.get_job_context()
        del inner
        journal.add(os.getpid())
        eventually(lambda: len(set(journal.lines())) == 3)  # so three workers are at it
        return os.getpid(), random_words()

    ctx = engine(cpus=3)
    found = dict(ctx.get([ctx.run(words_and_pid) for _ in range(3)], timeout=30))
    assert len(found) == 3
    assert len({tuple(words) for words in found.values()}) == 3


def test_pythons_global_generator_differs_between_workers(
    engine: Callable[..., NativeJobContext], journal: Journal
) -> None:
    def number_and_pid() -> tuple[int, float]:
        import random

        journal.add(os.getpid())
        eventually(lambda: len(set(journal.lines())) == 3)
        return os.getpid(), random.random()

    ctx = engine(cpus=3)
    found = dict(ctx.get([ctx.run(number_and_pid) for _ in range(3)], timeout=30))
    assert len(set(found.values())) == 3


def test_workers_hand_no_descriptor_of_the_engine_to_programs_that_they_start(ctx: NativeJobContext) -> None:
    def descriptors() -> str:
        return subprocess.check_output(["ls", "-l", "/proc/self/fd"], close_fds=False, text=True)

    listing = ctx.get(ctx.run(descriptors), timeout=20)
    assert "memfd" not in listing
    assert "socket:" not in listing


ENDS = {"sys.exit": 3, "sys.exit with a text": 1, "exception": 1, "return": 0, "KeyboardInterrupt": -signal.SIGINT}


def end_as(how: str) -> str:
    if how == "sys.exit":
        sys.exit(3)
    if how == "sys.exit with a text":
        sys.exit("the child has had enough")
    if how == "exception":
        raise ValueError("the child fails")
    if how == "KeyboardInterrupt":
        raise KeyboardInterrupt
    return "the child goes on"


def code_of(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def fork_in_a_task(how: str) -> object:
    child = os.fork()
    return end_as(how) if child == 0 else code_of(child)


def fork_in_a_generator(how: str) -> Iterator[object]:
    yield "first"
    child = os.fork()
    if child == 0:
        yield end_as(how)
    yield code_of(child)


class Forker:
    """Forks in its calls; a plain or a threaded actor."""

    def fork(self, how: str) -> object:
        return fork_in_a_task(how)

    def stream(self, how: str) -> Iterator[object]:
        yield from fork_in_a_generator(how)

    def ok(self) -> int:
        return 1


class AsyncForker:
    """The same on an event loop."""

    async def fork(self, how: str, wait_first: bool) -> object:
        if wait_first:
            await asyncio.sleep(0)
        return fork_in_a_task(how)

    async def fork_and_wait(self) -> object:
        child = os.fork()
        if child == 0:
            await asyncio.sleep(0)
            return "the child goes on"
        return code_of(child)

    async def stream(self, how: str) -> AsyncIterator[object]:
        for item in fork_in_a_generator(how):
            yield item

    async def ok(self) -> int:
        return 1


@pytest.mark.parametrize("how", list(ENDS))
def test_a_forked_child_of_a_task_ends_as_any_program_does(ctx: NativeJobContext, how: str) -> None:
    assert ctx.get(ctx.run(fork_in_a_task, how), timeout=PATIENCE) == ENDS[how]
    items = [ctx.get(item) for item in ctx.run(fork_in_a_generator, how)]
    assert items == ["first", ENDS[how]]
    assert ctx.get(ctx.run(echo, 1), timeout=PATIENCE) == 1


@pytest.mark.parametrize("places", [1, 3], ids=["plain", "threaded"])
@pytest.mark.parametrize("how", list(ENDS))
def test_a_forked_child_of_an_actor_ends_as_any_program_does(ctx: NativeJobContext, how: str, places: int) -> None:
    actor: Any = ctx.create_actor(Forker, options=ActorOptions(max_concurrency=places))
    assert ctx.get([actor.fork(how) for _ in range(2)], timeout=PATIENCE) == [ENDS[how]] * 2
    assert [ctx.get(item) for item in actor.stream(how)] == ["first", ENDS[how]]
    assert ctx.get(actor.ok(), timeout=PATIENCE) == 1


@pytest.mark.parametrize("how", list(ENDS))
def test_a_forked_child_of_an_async_method_ends_as_any_program_does(ctx: NativeJobContext, how: str) -> None:
    actor: Any = ctx.create_actor(AsyncForker)
    calls = [actor.fork(how, False), actor.fork(how, True), actor.fork(how, False)]
    assert ctx.get(calls, timeout=PATIENCE) == [ENDS[how]] * 3
    assert [ctx.get(item) for item in actor.stream(how)] == ["first", ENDS[how]]
    assert ctx.get(actor.ok(), timeout=PATIENCE) == 1


def test_a_forked_child_that_waits_in_its_parents_event_loop_ends(ctx: NativeJobContext) -> None:
    actor: Any = ctx.create_actor(AsyncForker)
    assert ctx.get(actor.fork_and_wait(), timeout=PATIENCE) == 1
    assert ctx.get(actor.ok(), timeout=PATIENCE) == 1


def test_a_forked_child_runs_what_is_registered_for_the_end_of_a_program(
    ctx: NativeJobContext, journal: Journal
) -> None:
    def fork() -> int:
        child = os.fork()
        if child == 0:
            atexit.register(journal.add, "at exit")
            threading.Thread(target=lambda: journal.add("in a thread")).start()
            print("printed without a newline", end="")
            sys.exit(5)
        return code_of(child)

    assert ctx.get(ctx.run(fork), timeout=PATIENCE) == 5
    assert journal.lines() == ["in a thread", "at exit"]


def test_children_of_multiprocessing_end_with_their_codes(ctx: NativeJobContext) -> None:
    def fork() -> list[int | None]:
        codes: list[int | None] = []
        for how in ("sys.exit", "exception", "return"):
            process = multiprocessing.get_context("fork").Process(target=end_as, args=(how,))
            process.start()
            process.join()
            codes.append(process.exitcode)
        return codes

    assert ctx.get(ctx.run(fork), timeout=PATIENCE) == [3, 1, 0]


def test_a_child_that_is_forked_at_the_drivers_exit_ends() -> None:
    finished = run_driver("""
        import atexit, os, sys
        import fray
        from tests.chaos.tasks import echo

        ctx = fray.init(cpus=1)
        ctx.get(ctx.run(echo, 1))

        @atexit.register
        def fork():
            child = os.fork()
            if child == 0:
                return
            print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    """)
    assert "child 0" in finished.ok()
