"""Numpy arrays as arguments, results and objects."""

from __future__ import annotations

import numpy
import pytest
from fray import JobContext


def make(n):
    return numpy.arange(n, dtype="f8")


@pytest.mark.behaviour("T054")
@pytest.mark.parametrize("n", [0, 10, 1 << 20])
def test_arrays_arrive_equal(ctx: JobContext, n: int):
    array = make(n)
    assert numpy.array_equal(ctx.get(ctx.put(array)), array)
    assert numpy.array_equal(ctx.get(ctx.run(make, n)), array)
    assert ctx.get(ctx.run(numpy.sum, ctx.put(array))) == array.sum()
    assert numpy.array_equal(ctx.get(ctx.put({"a": array[::2]}))["a"], array[::2])


@pytest.mark.behaviour("T055")
def test_large_arrays_are_read_only(ctx: JobContext):
    got = ctx.get(ctx.put(make(1 << 20)))
    assert not got.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        got[0] = 1
    copy = got.copy()
    copy[0] = 1
    assert ctx.get(ctx.run(lambda array: array.flags.writeable, ctx.put(make(1 << 20)))) is False


@pytest.mark.behaviour("T056")
def test_empty_array_can_be_filled_and_put(ctx: JobContext):
    array = ctx.empty((1000, 300), "f4")
    assert array.shape == (1000, 300)
    assert array.dtype == numpy.float32
    array[:] = 3
    assert (ctx.get(ctx.put(array)) == 3).all()
    assert ctx.empty(5, numpy.int64).shape == (5,)


@pytest.mark.behaviour("T056")
@pytest.mark.parametrize(
    ("shape", "error"),
    [(-1, ValueError), ((2, -1), ValueError), (2.5, TypeError), (True, TypeError), ("3", TypeError), (None, TypeError)],
)
def test_a_shape_that_is_none_is_refused(ctx: JobContext, shape: object, error: type[Exception]):
    with pytest.raises(error, match="empty: shape must"):
        ctx.empty(shape, "f8")  # type: ignore[arg-type]


@pytest.mark.behaviour("T056")
def test_shapes_are_of_whole_numbers_of_any_type(ctx: JobContext):
    assert ctx.empty(numpy.int64(3), "f8").shape == (3,)
    assert ctx.empty([2, numpy.int8(3)], "f8").shape == (2, 3)
    with pytest.raises(ValueError, match=r"too big|maximum|Maximum"):
        ctx.empty((274177, 67280421310721), "f8")  # the product is 1 in 64 bits
