"""put, get, wait, as_completed, and the arguments that they refuse."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import fray
import pytest
from fray import GetTimeoutError, JobContext, TaskOptions

from tests.conformance.gates import Journal


def double(x):
    return x * 2


def fail(text):
    raise ValueError(text)


def wait_at(gate, value=None):
    gate.wait()
    return value


@pytest.mark.behaviour("C020")
def test_put_then_get_gives_equal_value(ctx: JobContext):
    value = {"a": [1, 2.5, None, b"x"], "nested": {"t": (1, "é")}}
    assert ctx.get(ctx.put(value)) == value
    assert ctx.get(ctx.put(None)) is None


@pytest.mark.behaviour("C021")
def test_run_calls_lambda(ctx: JobContext):
    assert ctx.get(ctx.run(lambda x: x * 2, 5)) == 10


@pytest.mark.behaviour("C022")
def test_wait_for_two_of_five(ctx: JobContext):
    refs = [ctx.run(double, n) for n in range(5)]
    ready, others = ctx.wait(refs, num_returns=2)
    assert len(ready) == 2
    assert len(others) == 3
    assert set(ready) | set(others) == set(refs)


@pytest.mark.behaviour("C026")
def test_wait_in_two_halves(ctx: JobContext):
    refs = [ctx.run(double, n) for n in range(10)]
    ready, others = ctx.wait(refs, num_returns=5)
    assert (len(ready), len(others)) == (5, 5)
    rest, none = ctx.wait(others, num_returns=5)
    assert (len(rest), none) == (5, [])
    assert sorted(ctx.get(ready + rest)) == [2 * n for n in range(10)]


@pytest.mark.behaviour("D2")
def test_result_is_get(ctx: JobContext):
    ref = ctx.run(double, 4)
    assert ref.result() == ctx.get(ref) == ref.result(timeout=5) == 8
    assert ctx.put("x").result() == "x"
    assert ctx.get(ref, timeout=float("inf")) == 8


@pytest.mark.behaviour("D3")
def test_get_of_sequences_keeps_their_kind(ctx: JobContext):
    refs = [ctx.run(double, n) for n in range(3)]
    assert ctx.get(refs) == [0, 2, 4]
    assert ctx.get(tuple(refs)) == (0, 2, 4)
    assert ctx.get([refs[0], refs[0]]) == [0, 0]


@pytest.mark.behaviour("D3")
def test_get_of_other_values_returns_them(ctx: JobContext):
    inner = [ctx.put(1)]
    for value in (3, "text", None, [], (), [1, 2], {"a": 1}, {"ref": inner[0]}, [inner]):
        assert ctx.get(value) is value


@pytest.mark.behaviour("D3")
def test_get_of_mixed_list_names_the_position(ctx: JobContext):
    with pytest.raises(TypeError, match="position 1"):
        ctx.get([ctx.put(1), 2, ctx.put(3)])


@pytest.mark.behaviour("D3")
def test_get_raises_first_error_in_list_order(ctx: JobContext):
    refs = [ctx.run(double, 1), ctx.run(fail, "first"), ctx.run(fail, "second")]
    ctx.wait(refs, num_returns=3)
    with pytest.raises(ValueError, match="first"):
        ctx.get(refs)


@pytest.mark.behaviour("D4")
def test_wait_keeps_the_order_given(ctx: JobContext):
    refs = [ctx.put(n) for n in range(6)]
    ready, others = ctx.wait(refs, num_returns=4)
    places = [next(place for place, ref in enumerate(refs) if ref is got) for got in ready + others]
    assert places[:4] == sorted(places[:4])
    assert places[4:] == sorted(places[4:])
    assert sorted(places) == list(range(6))


@pytest.mark.behaviour("D4B")
def test_wait_returns_the_first_of_more_ready_refs(ctx: JobContext):
    refs = [ctx.put(n) for n in range(6)]
    assert ctx.wait(refs, num_returns=4) == (refs[:4], refs[4:])


@pytest.mark.behaviour("D4")
def test_wait_counts_failed_tasks_as_ready(ctx: JobContext):
    ref = ctx.run(fail, "no")
    assert ctx.wait([ref]) == ([ref], [])


@pytest.mark.behaviour("D4")
def test_wait_for_nothing_returns_at_once(ctx: JobContext):
    assert ctx.wait([]) == ([], [])


@pytest.mark.behaviour("D4")
@pytest.mark.parametrize("num_returns", [0, -1, 3])
def test_wait_out_of_range_is_refused(ctx: JobContext, num_returns: int):
    with pytest.raises(ValueError, match="from 1 to the 2 refs"):
        ctx.wait([ctx.put(1), ctx.put(2)], num_returns=num_returns)


@pytest.mark.behaviour("D4")
def test_wait_refuses_duplicates_non_lists_and_bad_timeouts(ctx: JobContext):
    ref = ctx.put(1)
    with pytest.raises(ValueError, match="position 1"):
        ctx.wait([ref, ref], num_returns=2)
    with pytest.raises(TypeError, match="list of refs"):
        ctx.wait(ref)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="list of refs"):
        ctx.wait((ref,))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="position 1"):
        ctx.wait([ref, 7])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="timeout"):
        ctx.wait([ref], timeout=-1)
    with pytest.raises(ValueError, match="timeout"):
        ctx.get(ref, timeout=float("nan"))


@pytest.mark.behaviour("T007")
def test_timeouts_leave_the_task_running(ctx: JobContext, gate):
    door = gate()
    ref = ctx.run(wait_at, door, "through")
    with pytest.raises(GetTimeoutError):
        ctx.get(ref, timeout=0)
    with pytest.raises(TimeoutError):
        ref.result(timeout=0.01)
    assert ctx.wait([ref], timeout=0) == ([], [ref])
    assert ctx.wait([ref], timeout=0.01) == ([], [ref])
    with pytest.raises(GetTimeoutError):
        next(ctx.as_completed([ref], timeout=0.01))
    door.open()
    assert ctx.get(ref) == "through"


@pytest.mark.behaviour("T040")
def test_as_completed_gives_every_ref_once(ctx: JobContext):
    refs = [ctx.run(double, n) for n in range(20)] + [ctx.run(fail, "no")]
    seen = list(ctx.as_completed(iter(refs)))
    assert len(seen) == len(refs)
    assert set(seen) == set(refs)
    assert list(ctx.as_completed([])) == []
    with pytest.raises(ValueError, match="position 1"):
        ctx.as_completed([refs[0], refs[0]])


@pytest.mark.behaviour("T040", "T003")
def test_as_completed_gives_ready_ones_first(ctx: JobContext, gate):
    door = gate()
    slow = ctx.run(wait_at, door, "slow")
    quick = ctx.run(double, 1)
    order = ctx.as_completed([slow, quick])
    assert next(order) is quick
    door.open()
    assert next(order) is slow
    assert next(order, None) is None


@pytest.mark.behaviour("T060")
def test_await_gives_value_and_raises(ctx: JobContext):
    import asyncio

    async def main():
        values = await asyncio.gather(*(wrap(ctx.run(double, n)) for n in range(50)))
        with pytest.raises(ValueError, match="no"):
            await ctx.run(fail, "no")
        return values

    async def wrap(ref):
        return await ref

    assert asyncio.run(main()) == [2 * n for n in range(50)]


@pytest.mark.behaviour("T060", "T007")
def test_await_leaves_the_loop_free(ctx: JobContext, gate):
    import asyncio

    door = gate()

    async def main():
        waiting = asyncio.ensure_future(wrap(ctx.run(wait_at, door, "through")))
        await asyncio.to_thread(door.open)
        return await waiting

    async def wrap(ref):
        return await ref

    assert asyncio.run(main()) == "through"


@pytest.mark.behaviour("T061")
def test_get_from_many_threads(ctx: JobContext):
    shared = ctx.run(double, 21)
    barrier = threading.Barrier(16)

    def work(number):
        barrier.wait()
        own = ctx.run(double, number)
        return ctx.get(shared), ctx.get(own)

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(work, range(16))) == [(42, 2 * n) for n in range(16)]


@pytest.mark.behaviour("T009")
def test_work_that_nobody_fetches_runs(ctx: JobContext, tmp_path):
    journal = Journal(str(tmp_path / "journal"))
    for number in range(5):
        ctx.run(journal.add, number)
    # Whatever was submitted before has at least started when this many later tasks have ended.
    while len(journal.lines()) < 5:
        ctx.get([ctx.run(double, n) for n in range(5)])
    assert sorted(journal.lines()) == ["0", "1", "2", "3", "4"]


@pytest.mark.behaviour("T090")
def test_progress_returns_refs_in_order(ctx: JobContext):
    import io

    refs = [ctx.run(double, n) for n in range(10)]
    out = io.StringIO()
    assert fray.progress(refs, label="doubling", stream=out) == refs
    assert "doubling 10/10" in out.getvalue()
    assert "\r" not in out.getvalue()
    assert "\x1b" not in out.getvalue()


@pytest.mark.behaviour("T091")
def test_timeline_lists_tasks(ctx: JobContext, tmp_path):
    import gzip
    import json

    ctx.get(ctx.create_task(double, (1,), options=TaskOptions(name="timed")))
    path = tmp_path / "timeline.json.gz"
    assert fray.timeline(path) >= 1
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    timed = [event for event in events if event["name"] == "timed"]
    assert timed
    assert timed[0]["ph"] == "X"
    assert timed[0]["dur"] >= 0
