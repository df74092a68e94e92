"""What happens when a driver dies: everything of its engine is gone within a second."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import pytest
from fray import FrayError
from fray.backend.native import NativeJobContext

from tests.chaos.harness import PROMPT, Driver, current_marker, eventually, marked_processes, node_socket, the_node
from tests.chaos.tasks import echo, pid
from tests.conformance.gates import Journal

THREE_DEEP = """
    def nest(path, depth):
        with open(path, "a") as file:
            file.write(f"{os.getpid()}\\n")
        if depth == 0:
            child = os.fork()
            if child == 0:
                os.setsid()
            while True:
                time.sleep(3600)
        ctx = fray.get_job_context()
        return ctx.get([ctx.run(nest, path, depth - 1), ctx.run(nest, path, depth - 1)])
    ctx = NativeJobContext(cpus=2, max_workers=16)
    ref = ctx.run(nest, sys.argv[1], 2)
    ENDING
"""


@pytest.mark.parametrize(
    "ending",
    [
        "ctx.get(ref)",
        "time.sleep(3600)",
        "print('here'); sys.stdin.readline(); os._exit(3)",
        "ctx.wait([ref]); ctx.get(ref)",
    ],
    ids=["in get", "elsewhere", "os._exit", "in wait"],
)
def test_nothing_is_left_of_a_driver_killed_three_levels_deep_in_nested_tasks(journal: Journal, ending: str) -> None:
    with Driver(THREE_DEEP.replace("ENDING", ending), journal.path) as driver:
        # A root, one of its children at least, and on two CPUs two of the four leaves, which may leave no room for the
        # other child: owners take turns.
        eventually(lambda: len(journal.lines()) >= 4, what="tasks run three levels deep")
        everything = marked_processes(current_marker())
        assert len(everything) > 6
        if "_exit" in ending:
            driver.say()
        else:
            driver.signal(signal.SIGKILL)
        driver.process.wait(20)
        eventually(lambda: not marked_processes(current_marker()), PROMPT, "no process is left of a dead driver")


def test_nothing_is_left_of_a_driver_killed_while_it_submits() -> None:
    with Driver(
        """
        ctx = NativeJobContext(cpus=2)
        print("going", flush=True)
        refs = []
        while True:
            refs.append(ctx.run(pow, len(refs), 2))
            if len(refs) > 10_000:
                refs.clear()
        """
    ) as driver:
        driver.line()
        driver.signal(signal.SIGKILL)
        driver.process.wait(20)
        eventually(lambda: not marked_processes(current_marker()), PROMPT)


def test_nothing_is_left_of_a_driver_killed_while_it_starts() -> None:
    """At ten moments of `NativeJobContext()`."""
    for step in range(10):
        with Driver(
            "print('going', flush=True)\nctx = NativeJobContext(cpus=2)\nctx.get(ctx.run(pow, 2, 3))\n"
        ) as driver:
            driver.line()
            time.sleep(step * 0.02)  # the moment is what varies; nothing waits for it
            driver.signal(signal.SIGKILL)
            driver.process.wait(20)
            eventually(lambda: not marked_processes(current_marker()), PROMPT)


def test_a_stopped_driver_can_still_be_killed_with_nothing_left() -> None:
    with Driver(
        """
        ctx = NativeJobContext(cpus=2)
        print(ctx.get(ctx.run(pow, 2, 3)), flush=True)
        ctx.get(ctx.run(time.sleep, 3600))
        """
    ) as driver:
        assert driver.line() == "8"
        driver.signal(signal.SIGSTOP)
        driver.signal(signal.SIGKILL)
        driver.process.wait(20)
        eventually(lambda: not marked_processes(current_marker()), PROMPT)


ATTACHED = """
    ctx = NativeJobContext(address=sys.argv[1])
    def hang(path):
        with open(path, "a") as file:
            file.write(f"{os.getpid()}\\n")
        time.sleep(3600)
    refs = [ctx.run(hang, sys.argv[2]) for _ in range(4)]
    ctx.get(refs)
"""


def test_the_death_of_one_driver_leaves_the_other_drivers_of_a_node_at_work(
    ctx: NativeJobContext, journal: Journal
) -> None:
    mine = ctx.put({"kept": True})
    assert ctx.get(ctx.run(pid)) > 0
    with Driver(ATTACHED, node_socket(), journal.path) as driver:
        eventually(lambda: len(journal.lines()) >= 1, what="the other driver's task runs")
        driver.signal(signal.SIGKILL)
        driver.process.wait(20)
    assert ctx.get([ctx.run(echo, number) for number in range(200)], timeout=20) == list(range(200))
    assert ctx.get(mine) == {"kept": True}
    other_workers = {int(line) for line in journal.lines()}
    eventually(lambda: not {process.pid for process in marked_processes(current_marker())} & other_workers)


def test_the_node_lives_as_long_as_its_last_driver(engine: Callable[..., NativeJobContext]) -> None:
    first = engine()
    node = the_node()
    with Driver(
        """
        ctx = NativeJobContext(address=sys.argv[1])
        print(ctx.get(ctx.run(pow, 2, 3)), flush=True)
        sys.stdin.readline()
        print(ctx.get(ctx.run(pow, 2, 4)), flush=True)
        """,
        node_socket(),
    ) as driver:
        assert driver.line() == "8"
        first.close()
        assert node.is_alive()
        driver.say()
        assert driver.line() == "16"
        driver.finish().ok()
    eventually(lambda: not node.is_alive(), PROMPT)


def test_attaching_where_no_node_is_says_so(tmp_path: object) -> None:
    with pytest.raises(FrayError, match="no node"):
        NativeJobContext(address=f"{tmp_path}/nothing")
