"""Arrays outlive everything that helped to bring them; a reader's changes stay its own."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from fray import FrayError, NodeDiedError
from fray.backend.native import NativeJobContext

from tests.chaos.harness import PATIENCE, Driver, eventually, look_at, node_socket, the_node
from tests.chaos.tasks import array, array_and_pid, echo, pid

SIZES = [1_000, 60_000, 1_000_000]
"""Counts of 8-byte numbers: inline or in a slab, in a slab, and in a segment of its own."""


def checksum(values: Any) -> int:
    return int(numpy.asarray(values).astype(numpy.int64).sum())


@pytest.mark.parametrize("count", SIZES)
def test_an_array_outlives_ref_writer_node_and_context(ctx: NativeJobContext, count: int) -> None:
    ref = ctx.run(array_and_pid, count, 7)
    values, worker_pid = ctx.get(ref)
    worker, node = look_at(worker_pid), the_node()
    assert worker is not None
    del ref
    gc.collect()
    assert checksum(values) == 7 * count
    worker.signal(signal.SIGKILL)
    eventually(lambda: not worker.is_alive())
    assert checksum(values) == 7 * count
    node.signal(signal.SIGKILL)
    eventually(lambda: not node.is_alive())
    assert checksum(values) == 7 * count
    ctx.close()
    assert checksum(values) == 7 * count
    assert checksum(values[: count // 2]) == 7 * (count // 2)


@pytest.mark.parametrize("count", SIZES)
def test_an_array_that_was_never_got_outlives_its_writer(ctx: NativeJobContext, count: int) -> None:
    made, worker_pid = ctx.run(array, count, 3), ctx.get(ctx.run(pid))
    ctx.wait([made])
    for _ in range(8):
        worker_pid = ctx.get(ctx.run(pid))
        worker = look_at(worker_pid)
        assert worker is not None
        worker.signal(signal.SIGKILL)
        eventually(lambda worker=worker: not worker.is_alive())
    assert checksum(ctx.get(made, timeout=PATIENCE)) == 3 * count


@pytest.mark.parametrize("count", SIZES)
def test_a_put_array_is_not_changed_by_later_writes_to_the_original(ctx: NativeJobContext, count: int) -> None:
    original = array(count, 1)
    ref = ctx.put(original)
    original[:] = 2
    assert checksum(ctx.get(ref)) == count


def test_new_values_never_overwrite_one_that_is_still_looked_at(ctx: NativeJobContext) -> None:
    """Freed memory is used again; a view keeps its own."""
    kept = [ctx.get(ctx.run(array, count, number)) for number, count in enumerate(SIZES)]
    for round_number in range(60):
        for count in SIZES:
            ctx.get(ctx.run(array, count, 1000 + round_number))
            ctx.get(ctx.put(array(count, 2000 + round_number)))
    assert [checksum(values) for values in kept] == [number * count for number, count in enumerate(SIZES)]


def test_a_slice_keeps_the_memory_of_its_array(ctx: NativeJobContext) -> None:
    slices = [ctx.get(ctx.run(array, 200_000, number))[10:20] for number in range(30)]
    gc.collect()
    for number in range(30):
        ctx.get(ctx.run(array, 200_000, 1000 + number))
    assert [checksum(part) for part in slices] == [10 * number for number in range(30)]


def test_a_received_array_cannot_be_written_to(ctx: NativeJobContext) -> None:
    values = ctx.get(ctx.run(array, SIZES[-1], 1))
    assert not values.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        values[0] = 5


def test_changing_a_got_list_does_not_change_the_next_get(ctx: NativeJobContext) -> None:
    for ref in (ctx.put([1, [2]]), ctx.run(echo, [1, [2]])):
        first = ctx.get(ref)
        first.append(3)
        first[1].append(4)
        assert ctx.get(ref) == [1, [2]]


def test_a_task_that_changes_its_argument_does_not_change_that_of_the_next(ctx: NativeJobContext) -> None:
    def grow(values: list[int]) -> int:
        values.append(0)
        return len(values)

    ref = ctx.put([1])
    assert ctx.get([ctx.run(grow, ref) for _ in range(20)]) == [2] * 20


def test_an_array_passed_from_worker_to_worker_outlives_both(ctx: NativeJobContext) -> None:
    def chain(values: Any) -> Any:
        return values + 1, os.getpid()

    ref = ctx.run(array_and_pid, 500_000, 0)
    pids: set[int] = set()
    for _ in range(6):
        ref = ctx.run(lambda pair: chain(pair[0]), ref)
    values, worker_pid = ctx.get(ref)
    pids.add(worker_pid)
    for number in pids:
        process = look_at(number)
        if process is not None:
            process.signal(signal.SIGKILL)
            eventually(lambda process=process: not process.is_alive())
    assert checksum(values) == 6 * 500_000
    assert checksum(ctx.get(ref, timeout=PATIENCE)[0]) == 6 * 500_000


def test_an_array_from_empty_is_put_without_a_copy_and_outlives_the_context(
    engine: Callable[..., NativeJobContext],
) -> None:
    ctx = engine()
    values = ctx.empty(1_000_000, numpy.int64)
    values[:] = 4
    got = ctx.get(ctx.put(values))
    del values
    ctx.close()
    gc.collect()
    assert checksum(got) == 4_000_000


def test_values_that_arrived_can_be_got_again_after_the_node_died_or_say_why_not(ctx: NativeJobContext) -> None:
    small, large = ctx.run(echo, 5), ctx.run(array, SIZES[-1], 2)
    ctx.wait([small, large], num_returns=2)
    the_node().signal(signal.SIGKILL)
    for ref, expected in ((small, 5), (large, 2 * SIZES[-1])):
        try:
            value = ctx.get(ref, timeout=PATIENCE)
        except NodeDiedError:
            continue
        except FrayError as error:
            raise AssertionError(f"expected NodeDiedError, got {error!r}") from error
        assert (value if isinstance(value, int) else checksum(value)) == expected


LEAVER = """
    from tests.chaos.tasks import array, pid
    count = int(sys.argv[2])
    ctx = NativeJobContext(address=sys.argv[1])
    values = ctx.get(ctx.run(array, count, 1))
    print(ctx.get(ctx.run(pid)), flush=True)
    ctx.close()
    print("left", flush=True)
    sys.stdin.readline()
    print(int(values.sum()) == count, flush=True)
"""
WRITER = """
    from tests.chaos.tasks import array, pid
    count = int(sys.argv[2])
    ctx = NativeJobContext(address=sys.argv[1])
    print(ctx.get(ctx.run(pid)), flush=True)
    sys.stdin.readline()
    for number in range(30):
        assert int(ctx.get(ctx.run(array, count, 9)).sum()) == 9 * count
    print(ctx.get(ctx.run(pid)), flush=True)
    ctx.close()
"""


@pytest.mark.parametrize("count", SIZES[1:])
def test_arrays_of_a_driver_that_left_are_not_overwritten_by_the_worker_that_made_them(
    engine: Callable[..., NativeJobContext], count: int
) -> None:
    """The same worker goes on working for another driver and would like its memory back."""
    ctx = engine(cpus=1)
    with Driver(LEAVER, node_socket(), count) as leaver:
        worker = leaver.line()
        assert leaver.line() == "left"
        with Driver(WRITER, node_socket(), count) as writer:
            assert writer.line() == worker
            writer.say()
            assert writer.line() == worker
            writer.finish().ok()
        leaver.say()
        assert leaver.line() == "True"
        leaver.finish().ok()
    assert ctx.get(ctx.run(echo, 1), timeout=20) == 1


def make_arrays() -> list[numpy.ndarray]:
    return [numpy.arange(5.0), numpy.arange(100_000), numpy.zeros((3, 4), "f4", order="F")]


def types_are_numpys_own(*arrays: numpy.ndarray) -> list[bool]:
    return [array.dtype is numpy.dtype(array.dtype.str) for array in arrays]


def test_arrays_arrive_with_numpys_own_types(ctx: NativeJobContext) -> None:
    """numpy.add.at takes four times as long where the types of two arrays are equal and not the same."""
    arrays = make_arrays()
    assert ctx.get(ctx.run(types_are_numpys_own, *arrays)) == [True] * 3
    for made, sent in zip(arrays, ctx.get([ctx.put(each) for each in arrays]), strict=True):
        assert types_are_numpys_own(sent) == [True]
        assert numpy.array_equal(sent, made)
        assert sent.flags.f_contiguous == made.flags.f_contiguous
    assert not ctx.get(ctx.put(arrays[1])).flags.writeable


@pytest.mark.parametrize(
    "type",
    [">f8", "U5", "S3", "M8[ns]", [("a", "f8"), ("b", "i4")], numpy.dtype("f8", metadata={"unit": "m"})],
)
def test_arrays_of_other_types_keep_them(ctx: NativeJobContext, type: Any) -> None:
    made = numpy.ones(4, type) if type != "M8[ns]" else numpy.array(["2026-01-01"] * 4, type)
    sent = ctx.get(ctx.run(echo, made))
    assert sent.dtype == made.dtype
    assert sent.dtype.metadata == made.dtype.metadata
    assert numpy.array_equal(sent, made)


def test_an_array_that_contains_itself_still_does(ctx: NativeJobContext) -> None:
    made = numpy.empty(1, dtype=object)
    made[0] = made
    sent = ctx.get(ctx.run(echo, made))
    assert sent[0] is sent


def test_subclasses_of_arrays_stay_what_they_are(ctx: NativeJobContext) -> None:
    made = numpy.ma.masked_array([1.0, 2.0], mask=[True, False])
    sent = ctx.get(ctx.run(echo, made))
    assert type(sent) is type(made)
    assert sent.mask.tolist() == [True, False]
