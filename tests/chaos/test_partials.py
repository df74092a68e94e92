"""Partial objects of functions that workers cannot import: the function travels once, what is bound to it each time."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import fray
import numpy
import pytest
from fray import Executor, SerializationError, TaskOptions
from fray.backend.native import NativeJobContext

from tests.chaos.test_functions import loose_module

SOURCE = """
import numpy
DATA = numpy.arange(2_000_000.0)
CALLS = []

def look(factor, number, *, offset=0, name=""):
    CALLS.append(number)
    return id(DATA), float(DATA[number]) * factor + offset, name

def items(count, number):
    for step in range(count):
        yield number + step
"""


def test_a_function_is_loaded_once_for_all_partial_objects_of_it(ctx: NativeJobContext) -> None:
    names = loose_module(SOURCE)
    places = set()
    for step in range(8):
        mapped = list(ctx.map(partial(names["look"], step, offset=1), range(20)))
        single = ctx.get([ctx.run(partial(names["look"], step, offset=1), number) for number in range(20)])
        expected = [(float(number * step + 1), "") for number in range(20)]
        assert [seen[1:] for seen in mapped] == expected == [seen[1:] for seen in single]
        places |= {seen[0] for seen in mapped + single}
    assert len(places) <= 2, "one array for each worker"


def ways(ctx: NativeJobContext) -> dict[str, Callable[[Any, range], list[Any]]]:
    def with_executor(fn: Any, numbers: range, **settings: Any) -> list[Any]:
        with Executor(context=ctx, initializer=settings.pop("initializer", None)) as pool:
            return list(pool.map(fn, numbers, **settings))

    def submitted(fn: Any, numbers: range) -> list[Any]:
        with Executor(context=ctx) as pool:
            return [future.result() for future in [pool.submit(fn, number) for number in numbers]]

    return {
        "map": lambda fn, numbers: list(ctx.map(fn, numbers)),
        "batches of one": lambda fn, numbers: list(ctx.map(fn, numbers, batch=1)),
        "run": lambda fn, numbers: ctx.get([ctx.run(fn, number) for number in numbers]),
        "retried": lambda fn, numbers: ctx.get(
            [ctx.create_task(fn, (number,), options=TaskOptions(retry_exceptions=True)) for number in numbers]
        ),
        "executor": with_executor,
        "chunks": lambda fn, numbers: with_executor(fn, numbers, chunksize=3),
        "initializer": lambda fn, numbers: with_executor(fn, numbers, chunksize=3, initializer=print),
        "submit": submitted,
    }


@pytest.mark.parametrize(
    "way", ["map", "batches of one", "run", "retried", "executor", "chunks", "initializer", "submit"]
)
def test_what_is_bound_arrives_in_every_way_to_call(ctx: NativeJobContext, way: str) -> None:
    names = loose_module(SOURCE)
    call = ways(ctx)[way]
    large = numpy.full(300_000, 2.0)

    def scaled(table: Any, number: int, *, more: Any = None) -> float:
        return float(table[number]) * number + (0 if more is None else len(more))

    for bound in (
        partial(scaled, large),
        partial(scaled, large.tolist(), more=large),
        partial(scaled, dict.fromkeys(range(9), 2.0)),
    ):
        extra = len(large) if bound.keywords else 0
        assert call(bound, range(9)) == [2.0 * number + extra for number in range(9)]
    named = partial(names["look"], 1, name="of the partial object")
    assert {seen[2] for seen in call(named, range(9))} == {"of the partial object"}


def test_keywords_of_a_call_come_before_those_that_are_bound(ctx: NativeJobContext) -> None:
    look = loose_module(SOURCE)["look"]
    bound = partial(look, 2, offset=5)
    assert ctx.get(ctx.run(bound, 3))[1] == 11 and ctx.get(ctx.run(bound, 3, offset=1))[1] == 7
    assert ctx.get(ctx.run(partial(partial(look, 2), offset=5), 3, name="a label"))[1:] == (11.0, "a label")
    with pytest.raises(TypeError, match="look"):
        ctx.get(ctx.run(bound, 1, 2, 3))


def test_refs_that_are_bound_stay_refs(ctx: NativeJobContext) -> None:
    ref = ctx.put([1, 2])

    def total(held: Any, number: int) -> int:
        return sum(fray.get_job_context().get(held)) + number

    bound = partial(total, ref)
    assert ctx.get(ctx.run(bound, 1)) == 4 and list(ctx.map(bound, range(3))) == [3, 4, 5]
    inside = partial(lambda held, number: fray.get_job_context().get(held[0])[0] + number, [ref])
    assert ctx.get(ctx.run(inside, 1)) == 2 and list(ctx.map(inside, range(3))) == [1, 2, 3]


def test_what_cannot_be_sent_is_named(ctx: NativeJobContext) -> None:
    import threading

    bound = partial(lambda lock, number: number, threading.Lock())
    for call in (lambda: ctx.run(bound, 1), lambda: list(ctx.map(bound, range(3)))):
        with pytest.raises(SerializationError, match="lock"):
            call()


def test_generators_and_changes_are_as_with_plain_functions(ctx: NativeJobContext) -> None:
    names = loose_module(SOURCE)
    assert list(ctx.get(ctx.run(partial(names["items"], 3), 5))) == [5, 6, 7]
    assert list(ctx.map(partial(names["items"], 2), range(2))) == [[0, 1], [1, 2]]
    with Executor(context=ctx) as pool:
        assert [list(each) for each in pool.map(partial(names["items"], 2), range(2))] == [[0, 1], [1, 2]]
    table = [1, 2, 3]
    bound = partial(lambda held, number: held[number] + names["DATA"][0], table)
    for number in range(3):
        table[1] = number
        names["DATA"][0] = number
        assert ctx.get(ctx.run(bound, 1)) == 2 * number and list(ctx.map(bound, [1])) == [2 * number]


def test_large_values_that_are_bound_are_gone_after_the_map(ctx: NativeJobContext) -> None:
    def mapped() -> weakref.ref[Any]:
        array = numpy.zeros(500_000)
        assert list(ctx.map(partial(lambda held, number: len(held) + number, array), range(3))) == [
            500_000 + number for number in range(3)
        ]
        return weakref.ref(array)

    gone = mapped()
    gc.collect()
    assert gone() is None
