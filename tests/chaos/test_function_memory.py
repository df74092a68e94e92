"""What drivers and workers keep for functions and names is bounded by bytes, and nothing that was dropped is missed."""

from __future__ import annotations

import gc
import os
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from fray.backend.native import NativeJobContext

from tests.chaos.harness import PATIENCE, resident_bytes, run_driver
from tests.chaos.tasks import pid
from tests.chaos.test_functions import loose_module
from tests.conformance.gates import Gate

pytestmark = pytest.mark.filterwarnings("ignore:function .* when pickled")

MIB = 1 << 20

GROWTH = """
from tests.chaos.harness import resident_bytes

class Model:
    def __init__(self):
        self.weights = os.urandom(1 << 20)
    def score(self, number):
        return number + len(self.weights)

def another():
    data = os.urandom(1 << 20)
    return lambda: len(data)

with NativeJobContext(cpus=1) as ctx:
    worker = ctx.get(ctx.run(os.getpid))
    model = Model()
    shapes = {
        "method": lambda number: ctx.run(model.score, number),
        "closure": lambda number: ctx.run(another()),
        "named": lambda number: ctx.run(model.score, number, name=f"step {number}"),
    }
    start = shapes[sys.argv[1]]
    for number in range(3):
        ctx.get(start(number))
    before = resident_bytes(os.getpid()), resident_bytes(worker)
    for number in range(300):
        assert ctx.get(start(number)) >= 1 << 20
    assert ctx.get(ctx.run(os.getpid)) == worker
    print(resident_bytes(os.getpid()) - before[0], resident_bytes(worker) - before[1])
"""


def finished(source: str, *arguments: object, within: float = 120.0) -> str:
    """Run a driver, which may warn of large functions, and return what it prints."""
    driver = run_driver(source, *arguments, within=within)
    assert driver.code == 0, driver
    return driver.stdout


@pytest.mark.not_under_asan("keeps freed memory and has shadows of it")
@pytest.mark.parametrize("shape", ["method", "closure", "named"])
def test_functions_of_tasks_that_ended_do_not_fill_the_memory(shape: str) -> None:
    driver, worker = map(int, finished(GROWTH, shape).split())
    assert driver < 120 * MIB, f"{driver / MIB:.0f} MiB more in the driver"
    assert worker < 120 * MIB, f"{worker / MIB:.0f} MiB more in the worker"


class Heavy:
    def __init__(self) -> None:
        self.weights = os.urandom(MIB)

    def size(self, name: str = "") -> int:
        return len(self.weights)


@pytest.mark.not_under_asan("keeps freed memory and has shadows of it")
def test_calls_that_wait_share_the_pickle_of_their_function(
    engine: Callable[..., NativeJobContext], gate: Callable[[], Gate]
) -> None:
    ctx = engine(cpus=1)
    closed, heavy = gate(), Heavy()
    blocker = ctx.run(closed.wait)
    before = resident_bytes(os.getpid())
    refs = [ctx.run(heavy.size) for _ in range(200)]
    grown = resident_bytes(os.getpid()) - before
    closed.open()
    ctx.get(blocker, timeout=PATIENCE)
    assert set(ctx.get(refs, timeout=PATIENCE)) == {MIB}
    assert grown < 60 * MIB, f"{grown / MIB:.0f} MiB for 200 calls of one method"


def test_a_function_that_a_worker_had_to_forget_is_sent_again(engine: Callable[..., NativeJobContext]) -> None:
    ctx = engine(cpus=1)
    worker = ctx.get(ctx.run(pid))

    def measured(data: bytes) -> Callable[[], tuple[int, bytes, int]]:
        return lambda: (len(data), data[:8], os.getpid())

    parts = [os.urandom(3 * MIB) for _ in range(40)]
    functions = [measured(part) for part in parts]
    for _ in range(3):
        answers = ctx.get([ctx.run(fn) for fn in functions], timeout=PATIENCE)
        assert answers == [(len(part), part[:8], worker) for part in parts]


def test_a_function_in_use_keeps_its_state_while_others_are_forgotten(engine: Callable[..., NativeJobContext]) -> None:
    ctx = engine(cpus=1)
    count: Any = loose_module("COUNT = 0\ndef count():\n    global COUNT\n    COUNT += 1\n    return COUNT\n")["count"]

    def large() -> Callable[[], int]:
        data = os.urandom(4 * MIB)
        return lambda: len(data)

    for expected in range(1, 31):
        assert ctx.get(ctx.run(count), timeout=PATIENCE) == expected
        assert ctx.get(ctx.run(large()), timeout=PATIENCE) == 4 * MIB


def test_a_function_of_an_earlier_lease_is_still_loaded(engine: Callable[..., NativeJobContext]) -> None:
    ctx = engine(cpus=1)
    count: Any = loose_module("COUNT = 0\ndef count():\n    global COUNT\n    COUNT += 1\n    return COUNT\n")["count"]
    assert ctx.get(ctx.run(count), timeout=PATIENCE) == 1
    # Another amount of CPU is another lease; the one worker that may exist goes over to it and back.
    from fray import TaskOptions

    half = TaskOptions(resources={"CPU": 0.5})
    worker = ctx.get(ctx.run(pid), timeout=PATIENCE)
    assert isinstance(ctx.get(ctx.create_task(pid, options=half), timeout=PATIENCE), int)
    if ctx.get(ctx.run(pid), timeout=PATIENCE) == worker:
        assert ctx.get(ctx.run(count), timeout=PATIENCE) == 2


def beginning(data: bytes) -> Callable[[], bytes]:
    return lambda: data[:2]


def test_large_functions_of_threads_cross_without_a_loss(ctx: NativeJobContext) -> None:
    import threading

    wrong: list[object] = []

    def go_on(seed: int) -> None:
        data = [bytes([seed, number]) * MIB for number in range(12)]
        functions = [beginning(part) for part in data]
        for _ in range(3):
            for fn, part in zip(functions, data, strict=True):
                if (answer := ctx.get(ctx.run(fn), timeout=PATIENCE)) != part[:2]:
                    wrong.append(answer)

    threads = [threading.Thread(target=go_on, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("length", [10, 2_000])
def test_names_of_tasks_that_ended_do_not_stay(engine: Callable[..., NativeJobContext], length: int) -> None:
    ctx = engine(cpus=1)

    def run(first: int, count: int) -> None:
        for start in range(first, first + count, 500):
            ctx.get([ctx.run(abs, -1, name=f"{number}".rjust(length, "x")) for number in range(start, start + 500)])
        gc.collect()

    run(0, 3_000)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        run(3_000, 6_000)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 2 * MIB, f"{grown / MIB:.1f} MiB for 6,000 names of {length} characters"


def test_names_of_calls_of_an_actor_do_not_stay(ctx: NativeJobContext) -> None:
    actor = ctx.create_actor(Heavy)

    def run(first: int, count: int) -> None:
        for number in range(first, first + count):
            ctx.get(actor.size.options(name=f"{number}".rjust(1_000, "x")).remote())
        gc.collect()

    run(0, 1_000)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        run(1_000, 2_000)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 2 * MIB, f"{grown / MIB:.1f} MiB for 2,000 names"


SOAK = """
import random
from tests.chaos.harness import resident_bytes

TASKS, WARM = int(sys.argv[1]), int(sys.argv[2])
DIFFERENT, LARGE, BATCH = 2_000, 100, 1_000

def closure(number):
    data = random.Random(number).randbytes(1 << 20 if number < LARGE else 2_000)
    return lambda x: (x, number, len(data))

with NativeJobContext(cpus=2) as ctx:
    kept = [closure(number) for number in range(DIFFERENT)]
    workers = set()
    choose = random.Random(1)
    done, seconds, warm = 0, time.monotonic(), None
    while done < TASKS:
        picked = []
        for _ in range(BATCH):
            # A large one now and then: together they are more than a worker keeps.
            number = choose.randrange(LARGE) if choose.random() < 0.002 else choose.randrange(LARGE, DIFFERENT)
            # Half of the small ones are made anew, with the same content.
            picked.append((closure(number) if number >= LARGE and choose.random() < 0.5 else kept[number], number))
        refs = [ctx.run(fn, x) for x, (fn, _) in enumerate(picked)]
        for x, ((_, number), answer) in enumerate(zip(picked, ctx.get(refs))):
            assert answer == (x, number, 1 << 20 if number < LARGE else 2_000), answer
        done += BATCH
        if warm is None and done >= WARM:
            workers = {ctx.get(ref) for ref in [ctx.run(os.getpid) for _ in range(500)]}
            warm = [resident_bytes(process) for process in (os.getpid(), *sorted(workers))]
    end = [resident_bytes(process) for process in (os.getpid(), *sorted(workers))]
    print(TASKS / (time.monotonic() - seconds))
    print(*warm)
    print(*end)
"""


def soak(tasks: int, warm: int) -> str:
    """Run so many tasks of 2,000 closures; return what driver and workers held after `warm` of them and at the end."""
    rate, first, last = finished(SOAK, tasks, warm, within=3_000).splitlines()
    pairs = list(zip(map(int, first.split()), map(int, last.split()), strict=True))
    figures = ", ".join(f"{before / MIB:.0f} -> {after / MIB:.0f} MiB" for before, after in pairs)
    line = f"{tasks} tasks, {float(rate):.0f} each second; driver and workers {figures}"
    assert all(after < 1.1 * before for before, after in pairs), line
    return line


@pytest.mark.long
@pytest.mark.timeout(3_600)
@pytest.mark.not_under_asan("keeps freed memory and has shadows of it")
def test_five_million_tasks_of_two_thousand_closures_leave_driver_and_workers_as_they_were(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = soak(5_000_000, 500_000)
    with capsys.disabled():
        print(f"\n{line}")
