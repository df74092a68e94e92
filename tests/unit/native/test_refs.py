"""Refs in lists: waited for one at a time, and travelling inside values."""

from __future__ import annotations

import gc
import json
import pickle
import time
from collections.abc import Iterator
from typing import Any

import fray
import pytest
from fray._ref_outside import RefOutsideError
from fray.backend.native import NativeJobContext

from tests.waiting import eventually


@pytest.fixture(scope="module")
def ctx() -> Iterator[NativeJobContext]:
    with NativeJobContext(cpus=2) as context:
        yield context


def make_refs(count: int) -> list[Any]:
    context = fray.get_job_context()
    return [context.put(number) for number in range(count)]


def make_dict_of_refs(count: int) -> dict[int, Any]:
    return dict(enumerate(make_refs(count)))


def known_objects(ctx: NativeJobContext) -> int:
    return int(json.loads(ctx._client.status())["objects"]["count"])


def wait_until_known(ctx: NativeJobContext, count: int) -> None:
    gc.collect()
    eventually(lambda: known_objects(ctx) == count)


def test_others_of_a_wait_changed_into_duplicates_are_refused(ctx: NativeJobContext) -> None:
    _, others = ctx.wait([ctx.put(number) for number in range(5)])
    others[2] = others[0]
    with pytest.raises(ValueError, match="given before"):
        ctx.wait(others)


def test_others_of_a_wait_with_an_equal_ref_made_since_are_refused(ctx: NativeJobContext) -> None:
    holder = ctx.put([first := ctx.put(1)])
    _, others = ctx.wait([ctx.put(0), first, ctx.put(2)])
    others[1] = None
    others[1] = ctx.get(holder)[0]  # lies where the dead one lay
    with pytest.raises(ValueError, match="given before"):
        ctx.wait(others)


def test_others_of_a_wait_with_something_else_in_them_are_refused(ctx: NativeJobContext) -> None:
    _, others = ctx.wait([ctx.put(number) for number in range(3)])
    others[1] = 7
    with pytest.raises(TypeError):
        ctx.wait(others)


def test_waiting_takes_each_ref_once_whatever_is_ready_first(ctx: NativeJobContext) -> None:
    left = [ctx.run(time.sleep, 0.02 if number % 3 == 0 else 0) for number in range(30)]
    expected, taken = set(left), []
    while left:
        ready, left = ctx.wait(left, num_returns=min(2, len(left)))
        taken += ready
    assert len(taken) == len(expected)
    assert set(taken) == expected


@pytest.mark.parametrize("maker", [make_refs, make_dict_of_refs])
def test_refs_in_a_value_outlive_it_however_often_it_was_read(ctx: NativeJobContext, maker: Any) -> None:
    wait_until_known(ctx, 0)
    holder = ctx.run(maker, 20)
    reads = [ctx.get(holder) for _ in range(4)]
    assert reads[0] == reads[3]
    assert all(type(read) is type(reads[0]) for read in reads)
    last = list(reads[3].values()) if isinstance(reads[3], dict) else reads[3]
    del holder, reads
    assert ctx.get(last) == list(range(20))
    del last
    wait_until_known(ctx, 0)


def test_refs_of_a_value_read_twice_live_as_long_as_it(ctx: NativeJobContext) -> None:
    holder = ctx.run(make_refs, 20)
    for _ in range(3):
        ctx.get(ctx.get(holder))
    assert ctx.get(ctx.get(holder)) == list(range(20))


def test_lists_of_refs_nest_and_keep_their_order(ctx: NativeJobContext) -> None:
    refs = [ctx.put(number) for number in range(10)]
    again = ctx.get(ctx.run(reversed_list, refs))
    assert again == refs[::-1]
    assert ctx.get(ctx.put([refs, again, []])) == [refs, again, []]
    assert ctx.get(ctx.put([refs[0], refs[0]])) == [refs[0], refs[0]]


def reversed_list(refs: list[Any]) -> list[Any]:
    return refs[::-1]


def test_an_object_that_was_published_is_found_by_its_id_in_other_processes(ctx: NativeJobContext) -> None:
    ref = ctx.put([1, 2])
    object_id = ctx.engine.publish(ref)
    assert ctx.engine.find_object(object_id) == ref
    assert ctx.get(ctx.run(value_of, object_id)) == [1, 2]


def value_of(object_id: str) -> Any:
    context: Any = fray.get_job_context()
    return context.get(context.engine.find_object(object_id))


def test_an_object_that_nobody_holds_is_lost_when_it_is_looked_for(ctx: NativeJobContext) -> None:
    epoch, owner, sequence = ctx.engine.publish(ctx.put(1)).split(".")
    with pytest.raises(fray.ObjectLostError):
        ctx.get(ctx.engine.find_object(f"{epoch}.{owner}.{int(sequence) + 1_000_000}"), timeout=60)
    assert ctx.engine.find_object(f"{int(epoch, 16) ^ 1:x}.{owner}.{sequence}") is None  # of another engine


def test_a_ref_outside_of_fray_says_that_it_cannot_be_pickled(ctx: NativeJobContext) -> None:
    ref = ctx.put(1)
    with pytest.raises(RefOutsideError, match="can only be pickled by Fray"):
        pickle.dumps(ref)
    assert issubclass(RefOutsideError, TypeError)
