"""A pipeline in the manner of data processing libraries: generators whose arguments hold refs and contexts."""

from __future__ import annotations

import pytest
from fray import JobContext, ObjectRef, get_job_context

from tests.conformance.pipeline import Dataset, StageContext


def test_of_the_pipeline_itself_is_none():
    """The library has no state: two plans of the same dataset are apart."""
    numbers = Dataset.of(range(4))
    assert numbers.map(str).steps != numbers.filter(bool).steps
    assert numbers.steps == ()


@pytest.mark.behaviour("T170")
def test_map_flat_map_and_filter_are_one_stage(ctx: JobContext):
    offset = 100
    plan = Dataset.of(range(20)).map(lambda n: n + offset).flat_map(lambda n: [n, -n]).filter(lambda n: n % 3 == 0)
    assert sorted(plan.collect(ctx)) == sorted(m for n in range(100, 120) for m in (n, -n) if m % 3 == 0)


@pytest.mark.behaviour("T170")
def test_empty_shards_stay(ctx: JobContext):
    assert Dataset.of([], shards=3).map(str).collect(ctx) == []
    assert Dataset.of([7], shards=3).map(str).collect(ctx) == ["7"]
    counted = Dataset.of(range(9)).filter(lambda n: n > 99).map_shard(lambda items, stage: iter([len(list(items))]))
    assert counted.collect(ctx) == [0, 0, 0]


@pytest.mark.behaviour("T170")
def test_groups_are_whole_wherever_their_items_were(ctx: JobContext):
    words = ["ant", "bee", "cat", "ox", "eel", "yak", "swan", "crow", "a"] * 3
    plan = Dataset.of(words, shards=4).group_by(len, lambda size, group: (size, sorted(group)))
    assert dict(plan.collect(ctx)) == {
        size: sorted(word for word in words if len(word) == size) for size in {len(word) for word in words}
    }


@pytest.mark.behaviour("T170")
def test_join_meets_the_partner_of_each_item(ctx: JobContext):
    people = Dataset.of([{"id": n, "name": f"p{n}"} for n in range(10)], shards=3)
    ages = Dataset.of([(n, 20 + n) for n in range(0, 10, 2)], shards=2).map(
        lambda pair: {"id": pair[0], "age": pair[1]}
    )
    plan = people.join(ages, lambda row: row["id"], lambda left, right: {**left, **(right or {"age": None})})
    found = sorted(plan.filter(lambda row: row["id"] < 8).collect(ctx), key=lambda row: row["id"])
    assert found == [{"id": n, "name": f"p{n}", "age": None if n % 2 else 20 + n} for n in range(8)]


@pytest.mark.behaviour("T170")
@pytest.mark.parametrize("shards", [1, 2, 7])
def test_reshard_moves_refs_and_loses_nothing(ctx: JobContext, shards: int):
    plan = Dataset.of(range(30), shards=5).map(lambda n: n * n).reshard(shards)
    sizes = plan.map_shard(lambda items, stage: iter([(stage.total, len(list(items)))])).collect(ctx)
    assert [total for total, _ in sizes] == [shards] * shards
    assert sum(size for _, size in sizes) == 30
    assert sorted(plan.collect(ctx)) == sorted(n * n for n in range(30))


@pytest.mark.behaviour("T170")
def test_reduce_gives_one_item_or_none(ctx: JobContext):
    assert Dataset.of(range(101), shards=4).reduce(sum).collect(ctx) == [5050]
    assert Dataset.of([], shards=2).reduce(sum).collect(ctx) == []


@pytest.mark.behaviour("T170")
def test_more_shards_than_tasks_at_once_all_run(ctx: JobContext):
    assert sorted(Dataset.of(range(40), shards=20).map(str).collect(ctx, most_tasks=2)) == sorted(map(str, range(40)))


@pytest.mark.behaviour("T170")
def test_stage_runs_in_the_context_that_travelled_with_it(ctx: JobContext):
    def look(items, stage: StageContext):
        here = get_job_context()
        yield here is stage.context, here is stage.shard.context, sorted(items)

    found = Dataset.of(range(6), shards=2).map_shard(look).collect(ctx)
    assert found == [(True, True, [0, 2, 4]), (True, True, [1, 3, 5])]


@pytest.mark.behaviour("T170")
def test_stage_starts_tasks_of_its_own(ctx: JobContext):
    def fan_out(items, stage: StageContext):
        refs = [stage.context.run(pow, item, 2) for item in items]
        yield from stage.context.get(refs)

    assert sorted(Dataset.of(range(6), shards=2).map_shard(fan_out).collect(ctx)) == [0, 1, 4, 9, 16, 25]


@pytest.mark.behaviour("T170")
def test_error_in_a_stage_reaches_the_caller(ctx: JobContext):
    def fail_at_five(n):
        if n == 5:
            raise LookupError("item 5")
        return n

    with pytest.raises(LookupError, match="item 5"):
        Dataset.of(range(12), shards=3).map(fail_at_five).group_by(lambda n: n, lambda n, group: n).collect(ctx)
    assert sorted(Dataset.of(range(5)).map(fail_at_five).collect(ctx)) == [0, 1, 2, 3, 4]


@pytest.mark.behaviour("T170")
def test_items_may_hold_refs_and_the_context(ctx: JobContext):
    refs = [ctx.put(n * 10) for n in range(4)]

    def hold(n):
        return {"n": n, "ref": refs[n], "context": get_job_context()}

    for item in Dataset.of(range(4), shards=2).map(hold).collect(ctx):
        assert item["context"] is ctx
        assert isinstance(item["ref"], ObjectRef)
        assert item["context"].get(item["ref"]) == item["n"] * 10
