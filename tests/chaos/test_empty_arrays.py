"""Arrays of `ctx.empty`: once they are put, nothing that is written through them reaches the object."""

from __future__ import annotations

import ctypes
import gc
import json
import warnings
from typing import Any

import numpy
import pytest
from fray.backend.native import NativeJobContext

COUNT = 300_000


def filled(ctx: NativeJobContext, value: float) -> Any:
    array = ctx.empty(COUNT, "f8")
    array[:] = value
    return array


def total(values: Any) -> float:
    return float(values.sum())


def test_an_array_is_read_only_once_it_was_put(ctx: NativeJobContext) -> None:
    array = filled(ctx, 1)
    ref = ctx.put(array)
    with pytest.raises(ValueError, match="read-only"):
        array[:] = 2
    with pytest.raises(ValueError, match="read-only"):
        array[5:10] += 1
    assert array.sum() == COUNT
    assert ctx.get(ref).sum() == COUNT
    assert ctx.get(ctx.run(total, ref)) == COUNT


def test_a_view_that_was_put_and_has_no_other_is_put_without_a_word(ctx: NativeJobContext) -> None:
    matrix = filled(ctx, 1).reshape(1000, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ref = ctx.put(matrix)
    assert not matrix.flags.writeable
    assert ctx.get(ref).shape == (1000, 300)


@pytest.mark.parametrize("put", ["the array", "a view of it"])
def test_what_other_views_write_after_put_stays_with_them_and_is_told_of(ctx: NativeJobContext, put: str) -> None:
    array = filled(ctx, 1)
    view = array[:]
    first, second = (array, view) if put == "the array" else (view, array)
    with pytest.warns(UserWarning, match="does not reach the object"):
        ref = ctx.put(first)
    second[:] = 2
    assert ctx.get(ref).sum() == COUNT
    assert ctx.get(ctx.run(total, ref)) == COUNT
    assert second.sum() == 2 * COUNT


def writers(array: Any) -> dict[str, Any]:
    pointer = ctypes.cast(array.ctypes.data, ctypes.POINTER(ctypes.c_double))

    def through_pointer() -> None:
        pointer[0] = -1.0
        pointer[COUNT - 1] = -1.0

    view = memoryview(array).cast("B").cast("d")

    def through_memoryview() -> None:
        view[0] = view[COUNT - 1] = -1.0

    other = numpy.frombuffer(array, dtype="f8")

    def through_frombuffer() -> None:
        other[[0, COUNT - 1]] = -1.0

    exported = (ctypes.c_double * COUNT).from_buffer(array)

    def through_ctypes() -> None:
        exported[0] = exported[COUNT - 1] = -1.0

    return {
        "pointer": through_pointer,
        "memoryview": through_memoryview,
        "frombuffer": through_frombuffer,
        "ctypes array": through_ctypes,
    }


@pytest.mark.parametrize("how", ["pointer", "memoryview", "frombuffer", "ctypes array"])
def test_writers_that_numpy_cannot_stop_do_not_reach_the_object(ctx: NativeJobContext, how: str) -> None:
    array = filled(ctx, 1)
    write = writers(array)[how]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy.frombuffer gives an array, which is seen
        ref = ctx.put(array)
    write()
    assert ctx.get(ref).sum() == COUNT
    assert ctx.get(ctx.run(total, ref)) == COUNT
    write()
    assert ctx.get(ref).sum() == COUNT


def test_a_flag_that_is_set_again_makes_the_array_a_copy(ctx: NativeJobContext) -> None:
    array = filled(ctx, 1)
    ref = ctx.put(array)
    array.base.flags.writeable = True
    array.flags.writeable = True
    array[:] = 2
    assert array.sum() == 2 * COUNT
    assert ctx.get(ref).sum() == COUNT


def test_putting_the_same_array_twice_makes_two_objects(ctx: NativeJobContext) -> None:
    array = filled(ctx, 1)
    pointer = ctypes.cast(array.ctypes.data, ctypes.POINTER(ctypes.c_double))
    first = ctx.put(array)
    pointer[0] = pointer[COUNT - 1] = -1.0
    second = ctx.put(array)
    assert ctx.get(first).sum() == COUNT
    assert ctx.get(second).sum() == COUNT - 4


def test_the_array_stays_as_it_was_when_the_object_is_gone(ctx: NativeJobContext) -> None:
    array = filled(ctx, 1)
    ref = ctx.put(array)
    assert ctx.get(ctx.run(total, ref)) == COUNT
    del ref
    gc.collect()
    for number in range(20):
        ctx.get(ctx.run(total, ctx.put(numpy.full(COUNT, float(number)))))
        ctx.put(filled(ctx, number))
    assert array.sum() == COUNT


def test_an_argument_is_put_as_well(ctx: NativeJobContext) -> None:
    array = filled(ctx, 1)
    ref = ctx.run(total, array)
    assert not array.flags.writeable
    assert ctx.get(ref) == COUNT


_kept: list[Any] = []


def make_and_keep() -> Any:
    import fray

    ctx: Any = fray.get_job_context()
    array = ctx.empty(COUNT, "f8")
    array[:] = 1
    _kept.append(memoryview(array).cast("B").cast("d"))
    return array


def write_to_kept() -> int:
    for view in _kept:
        view[0] = view[COUNT - 1] = -1.0
    return len(_kept)


def test_a_task_that_keeps_its_array_does_not_change_its_result(ctx: NativeJobContext) -> None:
    result = ctx.run(make_and_keep)
    values = ctx.get(result)
    assert sum(ctx.get([ctx.run(write_to_kept) for _ in range(20)])) > 0
    assert values.sum() == COUNT
    assert ctx.get(ctx.run(total, result)) == COUNT


class Keeper:
    def __init__(self) -> None:
        import fray

        ctx: Any = fray.get_job_context()
        self.state = ctx.empty(COUNT, "f8")
        self.state[:] = 1

    def snapshot(self) -> Any:
        if not self.state.flags.writeable:
            self.state = self.state.copy()
        self.state += 1
        return self.state


def test_an_actors_snapshots_stay_apart(ctx: NativeJobContext) -> None:
    keeper = ctx.create_actor(Keeper)
    refs = [keeper.snapshot() for _ in range(4)]
    assert [values[0] for values in ctx.get(refs)] == [2, 3, 4, 5]
    assert [ctx.get(ctx.run(total, ref)) for ref in refs] == [number * COUNT for number in (2, 3, 4, 5)]


def test_arrays_in_a_loop_are_put_without_using_up_descriptors_or_memory(ctx: NativeJobContext) -> None:
    refs = [ctx.put(filled(ctx, number)) for number in range(40)]
    assert [values[7] for values in ctx.get(refs)] == list(range(40))
    del refs
    gc.collect()
    for number in range(200):
        assert ctx.get(ctx.put(filled(ctx, number)))[11] == number
    json.loads(ctx._client.status())


def test_a_slice_a_transpose_and_a_member_of_a_value_are_put_as_they_are(ctx: NativeJobContext) -> None:
    array = filled(ctx, 1).reshape(1000, 300)
    array[0] = 5
    half = ctx.put(array[:500])
    with pytest.warns(UserWarning, match="does not reach the object"):
        turned = ctx.put(array.T)
    assert ctx.get(half).shape == (500, 300)
    assert ctx.get(turned).shape == (300, 1000)
    assert (ctx.get(turned)[:, 0] == 5).all()
    other = filled(ctx, 2)
    inside = ctx.put({"one": other, "two": numpy.ones(COUNT)})
    other[:] = 9
    assert ctx.get(inside)["one"].sum() == 2 * COUNT
