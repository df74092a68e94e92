"""Tasks that stream their items."""

from __future__ import annotations

import gc

import pytest
from fray import JobContext, ObjectRef, get_job_context

from tests.conformance.gates import Journal


def count(n):
    yield from range(n)


def two_then_fail():
    yield 1
    yield 2
    raise ValueError("third")


def first_then_wait(gate):
    yield "first"
    gate.wait()
    yield "second"


def journalled(journal, n, payload):
    for number in range(n):
        journal.add(number)
        yield payload


@pytest.mark.behaviour("D6")
def test_items_come_in_order_then_the_end(ctx: JobContext):
    ref = ctx.run(count, 40)
    assert [ctx.get(next(ref)) for _ in range(40)] == list(range(40))
    with pytest.raises(StopIteration):
        next(ref)
    with pytest.raises(StopIteration):
        next(ref)
    assert ctx.get(list(ctx.run(count, 3))) == [0, 1, 2]
    assert list(ctx.run(count, 0)) == []


@pytest.mark.behaviour("D6")
def test_items_are_refs(ctx: JobContext):
    ref = ctx.run(count, 2)
    item = next(ref)
    assert isinstance(item, ObjectRef)
    assert item.result() == ctx.get(item) == 0
    assert ctx.get(ctx.run(int.__add__, next(ref), 5)) == 6

    def refs():
        yield get_job_context().put("held")

    assert ctx.get(ctx.get(next(ctx.run(refs)))) == "held"


@pytest.mark.behaviour("T010", "T007")
def test_item_is_there_before_the_end(ctx: JobContext, gate):
    door = gate()
    ref = ctx.run(first_then_wait, door)
    assert ctx.get(next(ref)) == "first"
    door.open()
    assert ctx.get(next(ref)) == "second"


@pytest.mark.behaviour("T010")
def test_endless_generator_can_be_read(ctx: JobContext):
    def forever():
        number = 0
        while True:
            yield number
            number += 1

    ref = ctx.run(forever)
    assert [ctx.get(next(ref)) for _ in range(5)] == [0, 1, 2, 3, 4]
    ctx.cancel(ref)


@pytest.mark.behaviour("T011")
def test_producer_waits_for_its_reader(ctx: JobContext, tmp_path):
    journal = Journal(str(tmp_path / "journal"))
    payload = b"x" * (1 << 20)
    ref = ctx.run(journalled, journal, 2000, payload)
    assert ctx.get(next(ref)) == payload
    # The engine is free to do other work while the producer waits, and the producer stays where it is.
    ctx.get([ctx.run(len, "abc") for _ in range(200)])
    ahead = len(journal.lines())
    assert ahead < 1000, f"the producer ran {ahead} items of 1 MiB ahead of a reader that took one"
    ctx.cancel(ref)


@pytest.mark.behaviour("T012")
def test_dropping_the_ref_ends_the_producer(ctx: JobContext, gate, tmp_path):
    ended = Journal(str(tmp_path / "ended"))

    def endless():
        try:
            while True:
                yield b"x" * 100_000
        finally:
            ended.add("closed")

    ref = ctx.run(endless)
    next(ref)
    del ref
    gc.collect()
    while not ended.lines():
        ctx.get(ctx.run(len, "abc"))
    assert ended.lines() == ["closed"]


@pytest.mark.behaviour("T013")
def test_failure_comes_at_its_place(ctx: JobContext):
    ref = ctx.run(two_then_fail)
    assert ctx.get([next(ref), next(ref)]) == [1, 2]
    for _ in range(2):
        with pytest.raises(ValueError, match="third"):
            next(ref)


@pytest.mark.behaviour("T013")
def test_get_of_a_failing_generator_raises(ctx: JobContext):
    with pytest.raises(ValueError, match="third"):
        ctx.get(ctx.run(two_then_fail))


@pytest.mark.behaviour("T014")
def test_get_is_the_list_of_items_not_taken(ctx: JobContext):
    ref = ctx.run(count, 300)
    assert ctx.get(next(ref)) == 0
    assert ctx.get(ref) == list(range(1, 300))
    assert ctx.get(ref) == list(range(1, 300))
    assert ctx.get(next(ref)) == 1
    assert ctx.get([ctx.run(count, 2), ctx.run(count, 3)]) == [[0, 1], [0, 1, 2]]


@pytest.mark.behaviour("T015")
def test_generator_argument_is_the_list_of_its_items(ctx: JobContext):
    assert ctx.get(ctx.run(sum, ctx.run(count, 100))) == 4950


@pytest.mark.behaviour("T016")
def test_wait_counts_the_next_item(ctx: JobContext):
    refs = [ctx.run(count, 3) for _ in range(3)]
    ready, others = ctx.wait(refs, num_returns=3)
    assert (ready, others) == (refs, [])
    assert ctx.get([next(ref) for ref in refs]) == [0, 0, 0]


@pytest.mark.behaviour("T017")
def test_next_of_a_plain_task_says_so(ctx: JobContext):
    with pytest.raises(TypeError, match="generator"):
        next(ctx.run(len, "abc"))
