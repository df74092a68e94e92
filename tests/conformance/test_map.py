"""map: order, laziness, batches, failures."""

from __future__ import annotations

import itertools

import pytest
from fray import JobContext, TaskOptions

from tests.conformance.gates import Journal


def square(x):
    return x * x


def fail_at_seven(x):
    if x == 7:
        raise ValueError("seven")
    return x


@pytest.mark.behaviour("T030")
@pytest.mark.parametrize("n", [0, 1, 5, 3000])
def test_results_in_the_order_of_the_items(ctx: JobContext, n: int):
    assert list(ctx.map(square, range(n))) == [x * x for x in range(n)]


@pytest.mark.behaviour("T031")
def test_unordered_gives_every_result_once(ctx: JobContext):
    assert sorted(ctx.map(square, range(500), ordered=False)) == [x * x for x in range(500)]


@pytest.mark.behaviour("T032")
def test_endless_items(ctx: JobContext):
    results = ctx.map(square, itertools.count())
    assert list(itertools.islice(results, 200)) == [x * x for x in range(200)]


@pytest.mark.behaviour("T033")
@pytest.mark.parametrize("batch", ["auto", 1, 4, 100])
def test_first_exception_at_its_place(ctx: JobContext, batch):
    results = ctx.map(fail_at_seven, range(20), batch=batch)
    assert [next(results) for _ in range(7)] == list(range(7))
    with pytest.raises(ValueError, match="seven"):
        next(results)
    with pytest.raises(StopIteration):
        next(results)


@pytest.mark.behaviour("T034")
@pytest.mark.parametrize("ordered", [True, False])
def test_no_more_items_taken_than_max_in_flight(ctx: JobContext, ordered: bool):
    taken = 0

    def items():
        nonlocal taken
        for number in range(300):
            taken += 1
            yield number

    got = []
    for result in ctx.map(square, items(), max_in_flight=5, ordered=ordered):
        got.append(result)
        assert taken - len(got) <= 5
    assert sorted(got) == [x * x for x in range(300)]


@pytest.mark.behaviour("T035")
@pytest.mark.parametrize("batch", ["auto", 10])
def test_single_items_are_retried(ctx: JobContext, tmp_path, batch):
    def flaky(number):
        if Journal(str(tmp_path / f"item{number}")).add("attempt") == 0:
            raise OSError("first attempt")
        return number

    options = TaskOptions(retry_exceptions=(OSError,), max_retries=1)
    assert list(ctx.map(flaky, range(25), batch=batch, options=options)) == list(range(25))
    assert all(len(Journal(str(tmp_path / f"item{n}")).lines()) == 2 for n in range(25))


@pytest.mark.behaviour("T036")
@pytest.mark.parametrize("batch", ["auto", 4])
def test_refs_among_the_items(ctx: JobContext, batch):
    items = [ctx.put(n) if n % 3 == 0 else n for n in range(20)]
    assert list(ctx.map(square, items, batch=batch)) == [n * n for n in range(20)]


@pytest.mark.behaviour("T041")
@pytest.mark.parametrize("retries", [False, (OSError,)])
def test_lists_of_generators_beside_other_values(ctx: JobContext, retries):
    def value_or_items(number):
        return (each for each in range(number)) if number % 3 == 0 else str(number) if number % 3 == 1 else number

    options = TaskOptions(retry_exceptions=retries)
    expected = [[*range(n)] if n % 3 == 0 else str(n) if n % 3 == 1 else n for n in range(40)]
    assert list(ctx.map(value_or_items, range(40), options=options)) == expected


@pytest.mark.behaviour("T037")
@pytest.mark.parametrize("batch", [1, 7, 1000, 10**30])
def test_fixed_batches(ctx: JobContext, batch: int):
    assert list(ctx.map(square, range(50), batch=batch)) == [x * x for x in range(50)]


@pytest.mark.behaviour("T038")
def test_nothing_runs_before_the_first_step(ctx: JobContext):
    items = iter([1, 2, 3])
    results = ctx.map(square, items)
    assert next(items) == 1
    assert list(results) == [4, 9]


@pytest.mark.behaviour("T070")
def test_wrong_arguments_of_map(ctx: JobContext):
    with pytest.raises(TypeError, match="function"):
        ctx.map(3, [1])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="batch"):
        ctx.map(square, [1], batch=0)
    with pytest.raises(TypeError, match="batch"):
        ctx.map(square, [1], batch="big")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_in_flight"):
        ctx.map(square, [1], max_in_flight=0)
    with pytest.raises(ValueError, match="num_returns"):
        ctx.map(square, [1], options=TaskOptions(num_returns=2))
    with pytest.raises(TypeError):
        ctx.map(square, 5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"one iterable .* zip\(first, second\)"):
        ctx.map(pow, [1, 2], [3, 4])  # type: ignore[arg-type]
