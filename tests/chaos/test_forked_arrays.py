"""What a child of fork() may do with its parent's arrays: read them, and nothing that anybody else would see."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from fray import ForeignRefError
from fray.backend.native import NativeJobContext

from tests.chaos.harness import PATIENCE
from tests.chaos.tasks import array

pytestmark = pytest.mark.not_under_asan("hangs a forked child whose parent was allocating in another thread")

SIZES = [10_000, 1_000_000]
"""Counts of 8-byte numbers: in a slab, and in a segment of its own."""


def in_child(check: Callable[[], None]) -> int:
    """Return the exit code of a forked child that runs `check`; below 0: the signal that ended it."""
    child = os.fork()
    if child == 0:
        try:
            check()
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def expect_sum(values: Any, total: float) -> Callable[[], None]:
    def check() -> None:
        assert values.sum() == total

    return check


@pytest.mark.parametrize("count", SIZES)
def test_a_child_reads_an_array_that_its_parent_put_and_got(ctx: NativeJobContext, count: int) -> None:
    values = ctx.get(ctx.put(numpy.ones(count)))
    assert in_child(expect_sum(values, count)) == 0
    assert values.sum() == count


@pytest.mark.parametrize("count", SIZES)
def test_a_child_reads_arrays_of_tasks_and_slices_and_values_that_hold_arrays(
    ctx: NativeJobContext, count: int
) -> None:
    made = ctx.get(ctx.run(array, count, 3))
    inside = ctx.get(ctx.put({"values": [numpy.full(count, 2.0)]}))["values"][0][10:]

    def check() -> None:
        assert made.sum() == 3 * count
        assert inside.sum() == 2 * (count - 10)

    assert in_child(check) == 0


def test_a_child_reads_an_empty_array_before_and_after_it_is_put(ctx: NativeJobContext) -> None:
    before, after = ctx.empty(300_000, "f8"), ctx.empty(300_000, "f8")
    before[:], after[:] = 4, 5
    got = ctx.get(ctx.put(after))

    def check() -> None:
        assert (before.sum(), after.sum(), got.sum()) == (1_200_000, 1_500_000, 1_500_000)

    assert in_child(check) == 0


def test_a_child_of_a_child_reads_as_well(ctx: NativeJobContext) -> None:
    values = ctx.get(ctx.put(numpy.ones(500_000)))

    def check() -> None:
        assert in_child(expect_sum(values, 500_000)) == 0

    assert in_child(check) == 0


def test_an_array_stays_as_it_is_in_a_child_while_its_parent_puts_others(ctx: NativeJobContext) -> None:
    ours, theirs = os.pipe(), os.pipe()
    values = ctx.get(ctx.put(numpy.full(500_000, 7.0)))
    child = os.fork()
    if child == 0:
        os.write(ours[1], b"x")
        os.read(theirs[0], 1)
        os._exit(0 if values.min() == values.max() == 7 else 1)
    os.read(ours[0], 1)
    for number in range(20):
        other = ctx.put(numpy.full(500_000, float(number)))
        del other
    os.write(theirs[1], b"x")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    for end in (*ours, *theirs):
        os.close(end)


def test_a_child_cannot_write_into_an_object(ctx: NativeJobContext) -> None:
    ref = ctx.put(numpy.ones(500_000))
    values = ctx.get(ref)

    def write_past_the_flag() -> None:
        import ctypes

        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        ctypes.memset(values.ctypes.data, 0, values.nbytes)

    assert in_child(write_past_the_flag) == -signal.SIGSEGV
    assert ctx.get(ref).sum() == 500_000


def _sum_of_slice(bounds: tuple[int, int]) -> float:
    return float(_shared[bounds[0] : bounds[1]].sum())


_shared: Any = None


def test_a_pool_of_forked_processes_shares_an_array(ctx: NativeJobContext) -> None:
    global _shared
    _shared = ctx.get(ctx.put(numpy.ones(800_000)))
    try:
        with multiprocessing.get_context("fork").Pool(2) as pool:
            parts = pool.map(_sum_of_slice, [(at, at + 100_000) for at in range(0, 800_000, 100_000)])
        assert parts == [100_000.0] * 8
    finally:
        _shared = None


def test_a_child_leaves_the_context_and_makes_its_own_with_arrays_of_its_parent(ctx: NativeJobContext) -> None:
    values = ctx.get(ctx.put(numpy.ones(500_000)))

    def check() -> None:
        assert ctx.get(ctx.run(numpy.sum, values), timeout=PATIENCE) == 500_000
        assert ctx.get(ctx.put(values)).sum() == 500_000
        ctx.close()

    assert in_child(check) == 0
    assert ctx.get(ctx.run(numpy.sum, values)) == 500_000


class Counter:
    def count(self) -> int:
        return 1


@pytest.mark.parametrize(
    "use",
    [
        lambda ctx, ref, actor: actor.count(),
        lambda ctx, ref, actor: ctx.kill(actor),
        lambda ctx, ref, actor: ctx.get(ref),
        lambda ctx, ref, actor: ref.result(),
        lambda ctx, ref, actor: ctx.wait([ref]),
        lambda ctx, ref, actor: ctx.cancel(ref),
        lambda ctx, ref, actor: ctx.run(pow, ref, 2),
        lambda ctx, ref, actor: ctx.put([ref]),
        lambda ctx, ref, actor: list(ctx.as_completed([ref])),
    ],
    ids=["call", "kill", "get", "result", "wait", "cancel", "argument", "inside", "as_completed"],
)
def test_what_was_made_before_the_fork_is_refused_in_the_child_by_name(
    ctx: NativeJobContext, use: Callable[[Any, Any, Any], object]
) -> None:
    ref, actor = ctx.put(3), ctx.create_actor(Counter)
    ctx.get(actor.count())

    def check() -> None:
        with pytest.raises(ForeignRefError) as raised:
            use(ctx, ref, actor)
        assert len(str(raised.value)) > 20

    assert in_child(check) == 0
    assert ctx.get(actor.count()) == 1
