"""Functions with large arrays lie in shared memory: workers load them from there, and write to pages of their own."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fray
import numpy
import pytest
from fray import TaskOptions
from fray.backend.native import NativeJobContext

from tests.chaos.harness import PATIENCE, run_driver
from tests.chaos.test_functions import loose_module
from tests.conformance.gates import Gate

pytestmark = pytest.mark.filterwarnings("ignore:function .* when pickled")

MIB = 1 << 20

SHARED = """
import numpy
DATA = numpy.arange(4_000_000.0)
COUNT = []

def own_bytes():
    # Of the pages of the array, those that this process has for itself.
    address, found = DATA.ctypes.data, 0
    for line in open("/proc/self/smaps"):
        name, *values = line.split()
        if not name.endswith(":"):  # a map, about which the next lines are
            begin, end = (int(part, 16) for part in name.split("-"))
        elif name == "Anonymous:" and begin <= address + 16_000_000 < end:
            found += int(values[0]) << 10
    return found

def look(_=None):
    return own_bytes(), float(DATA.sum())

def write(place):
    DATA[place] = -1
    COUNT.append(place)
    return own_bytes(), float(DATA.sum()), len(COUNT)
"""


def test_workers_share_a_large_array_until_they_write_to_it(ctx: NativeJobContext) -> None:
    names = loose_module(SHARED)
    total = float(names["DATA"].sum())
    seen = [*ctx.map(names["look"], range(8), batch=1), *ctx.get([ctx.run(names["look"]) for _ in range(8)])]
    assert {value for _, value in seen} == {total}
    assert max(own for own, _ in seen) < MIB
    own, value, count = ctx.get(ctx.run(names["write"], 2_000_000))
    assert 0 < own < MIB and value == total - 2_000_001 and count == 1
    # What a task has written its worker keeps, for this function, and nobody else sees it.
    again = ctx.get([ctx.run(names["write"], 2_000_000) for _ in range(20)])
    assert all(value == total - 2_000_001 for _, value, _ in again)
    assert {value for _, value in ctx.get([ctx.run(names["look"]) for _ in range(20)])} == {total}
    assert names["DATA"].sum() == total


def digest(value: object) -> str:
    for _ in range(2):  # an array with steps arrives without, and what was one string may be two
        value = pickle.loads(pickle.dumps(value, 5))
    return hashlib.sha256(pickle.dumps(value, 5)).hexdigest()


@pytest.mark.parametrize(
    "make",
    [
        lambda: numpy.asfortranarray(numpy.arange(400_000.0).reshape(800, 500)),
        lambda: numpy.arange(400_000).reshape(400, 1000)[:, ::2],
        lambda: numpy.zeros(90_000, [("name", "S8"), ("value", "f8")]),
        lambda: numpy.ma.masked_array(numpy.arange(300_000), numpy.arange(300_000) % 2),
        lambda: numpy.arange("2000-01-01", "2600-01-01", dtype="datetime64[D]"),
        lambda: numpy.array([None, "a"] * 100_000, dtype=object),
        lambda: bytearray(range(256)) * 8000,
        lambda: bytes(range(256)) * 10_000,
        lambda: [numpy.full(10_000, float(number)) for number in range(30)],
        lambda: {"a": numpy.zeros((0, 5)), "b": numpy.ones(300_000)},
    ],
    ids=["fortran", "strided", "records", "masked", "dates", "objects", "bytearray", "bytes", "many", "empty"],
)
def test_any_large_value_arrives_as_it_was(ctx: NativeJobContext, make: Callable[[], Any]) -> None:
    value = make()
    expected = digest(value)

    def read(_: int) -> bool:
        return digest(value) == expected

    assert ctx.get(ctx.run(read, 0)) and all(ctx.map(read, range(3)))


def test_a_read_only_array_stays_read_only(ctx: NativeJobContext) -> None:
    frozen, free = numpy.ones(300_000), numpy.ones(300_000)
    frozen.flags.writeable = False
    assert ctx.get(ctx.run(lambda: (frozen.flags.writeable, free.flags.writeable))) == (False, True)


def test_an_array_that_lies_in_the_store_can_still_be_written_to(ctx: NativeJobContext) -> None:
    array = ctx.empty(500_000, "float64")
    for number in range(3):
        array[:] = number
        assert ctx.get(ctx.run(lambda: float(array.sum()))) == number * 500_000
        assert list(ctx.map(lambda _: float(array.sum()), range(2))) == [number * 500_000] * 2


def test_functions_that_the_program_drops_before_their_tasks_run_are_there(
    engine: Callable[..., NativeJobContext], gate: Callable[[], Gate]
) -> None:
    ctx = engine(cpus=1)
    closed = gate()
    blocker = ctx.run(closed.wait)

    def submitted(number: int) -> Any:
        array = numpy.full(2_000_000, float(number))
        return ctx.run(lambda: float(array[-1]))

    refs = [submitted(number) for number in range(12)]
    gc.collect()
    closed.open()
    assert ctx.get(refs, timeout=PATIENCE) == [float(number) for number in range(12)]
    assert ctx.get(blocker) is not NotImplemented


def test_objects_of_functions_end_with_them(engine: Callable[..., NativeJobContext]) -> None:
    ctx = engine(cpus=1, store_memory=256 * MIB)

    def total(number: int) -> float:
        array = numpy.full(1_000_000, float(number))
        return ctx.get(ctx.run(lambda: float(array[0])), timeout=PATIENCE)

    for number in range(120):  # four times what the store has room for
        assert total(number) == number
    store = json.loads(ctx._client.status())["store"]
    assert store["used_bytes"] < 128 * MIB, store


def test_a_function_that_the_store_has_no_room_for_comes_in_messages(engine: Callable[..., NativeJobContext]) -> None:
    ctx = engine(cpus=1, store_memory=16 * MIB)
    array = numpy.arange(1_000_000.0)
    whole = ctx.empty(1_500_000, "float64")
    whole[:] = 1
    kept = ctx.put(whole)
    for number in range(3):
        array[7] = number
        assert ctx.get(ctx.run(lambda: (float(array[7]), len(array))), timeout=PATIENCE) == (number, 1_000_000)
    assert ctx.get(kept).sum() == 1_500_000


def test_a_worker_that_takes_the_place_of_a_dead_one_loads_the_function(
    engine: Callable[..., NativeJobContext], tmp_path: Path
) -> None:
    ctx = engine(cpus=1)
    array = numpy.arange(1_000_000.0)
    flag = tmp_path / "once"

    def dies_once() -> float:
        if not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return float(array[-1])

    assert ctx.get(ctx.run(dies_once), timeout=PATIENCE) == 999_999
    assert ctx.get(ctx.run(dies_once), timeout=PATIENCE) == 999_999


def test_a_task_sends_functions_with_arrays_of_its_own(ctx: NativeJobContext) -> None:
    def outer(number: int) -> tuple[float, list[float]]:
        inside = fray.get_job_context()
        array = numpy.full(300_000, float(number))

        def inner(factor: int) -> float:
            return float(array.sum()) * factor

        return inside.get(inside.run(inner, 2)), list(inside.map(inner, range(3)))

    expected = [(600_000.0 * n, [0, 300_000.0 * n, 600_000.0 * n]) for n in range(6)]
    assert ctx.get([ctx.run(outer, number) for number in range(6)], timeout=PATIENCE) == expected


def test_generators_retries_and_limits_of_calls_go_with_large_arrays(ctx: NativeJobContext, tmp_path: Path) -> None:
    array = numpy.arange(500_000.0)
    flag = tmp_path / "once"

    def items() -> Any:
        yield from map(float, array[:3])

    def fails_once() -> float:
        if not flag.exists():
            flag.touch()
            raise ValueError("the first time")
        return float(array[1])

    assert list(ctx.get(ctx.run(items))) == [0.0, 1.0, 2.0]
    assert ctx.get(ctx.create_task(fails_once, options=TaskOptions(retry_exceptions=True))) == 1.0
    pids = [
        ctx.get(ctx.create_task(lambda: (os.getpid(), float(array[2])), options=TaskOptions(max_calls=1)))
        for _ in range(3)
    ]
    assert len({pid for pid, _ in pids}) == 3 and {value for _, value in pids} == {2.0}


def test_a_child_of_the_program_and_children_of_tasks_have_the_array(ctx: NativeJobContext) -> None:
    array = numpy.arange(500_000.0)

    def read() -> float:
        child = os.fork()
        if child == 0:
            array[3] = 7
            os._exit(0 if array.sum() > 0 else 1)
        return float(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])) + float(array[3])

    assert ctx.get(ctx.run(read)) == 3.0 == read()
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if ctx.get(ctx.run(read), timeout=PATIENCE) == 3.0 else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert ctx.get(ctx.run(read)) == 3.0


def test_a_cancelled_call_leaves_the_function_to_others(
    engine: Callable[..., NativeJobContext], gate: Callable[[], Gate]
) -> None:
    ctx = engine(cpus=1)
    array = numpy.arange(500_000.0)
    closed = gate()
    blocker = ctx.run(closed.wait)

    def read(number: int) -> float:
        return float(array[number])

    refs = [ctx.run(read, number) for number in range(50)]
    for ref in refs[::2]:
        ctx.cancel(ref)
    closed.open()
    ctx.get(blocker)
    assert ctx.get(refs[1::2], timeout=PATIENCE) == [float(number) for number in range(50)][1::2]


OF_CLASSES = """
import numpy
DATA = numpy.zeros(300_000)
TABLE = {"a": 1}

class Row:
    def __init__(self):
        self.value = TABLE["a"]
    def put(self):
        TABLE["b"] = TABLE.get("b", 0) + 1
        return TABLE["b"]

def use(number):
    DATA[0] += 1
    return Row().value, Row().put() == TABLE["b"], float(DATA[0]) >= 1, len(DATA)

if __name__ == "__main__":
    with NativeJobContext(cpus=2) as ctx:
        for step in range(4):
            assert set(ctx.get([ctx.run(use, n) for n in range(30)])) == {(TABLE["a"], True, True, 300_000)}
            assert set(ctx.map(use, range(30))) == {(TABLE["a"], True, True, 300_000)}
            assert DATA[0] == 0
            if step % 2:
                Row.extra = step
            else:
                TABLE["a"] += 1
"""


def test_large_arrays_go_with_classes_that_have_contents_in_common_with_the_function() -> None:
    run_driver('import warnings\nwarnings.simplefilter("ignore")\n' + OF_CLASSES).ok()


def test_a_program_without_numpy_sends_large_functions() -> None:
    program = """
import sys
sys.modules["numpy"] = None
import fray
TEXTS = [f"text {number}" for number in range(200_000)]
def read(number):
    return TEXTS[number], len(TEXTS)
if __name__ == "__main__":
    with fray.init(cpus=2) as ctx:
        assert ctx.get(ctx.run(read, 7)) == ("text 7", 200_000)
        assert list(ctx.map(read, range(3)))[2] == ("text 2", 200_000)
        TEXTS.append("last")
        assert ctx.get(ctx.run(read, 200_000)) == ("last", 200_001)
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
