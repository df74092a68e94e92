"""Contexts as arguments, results and captured variables."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from typing import Any

import pytest
from fray import ActorOptions, JobContext, TaskOptions, get_job_context

from tests.conformance.gates import Gate


@dataclass
class Holder:
    context: JobContext
    refs: list[Any]


class Keeper:
    def __init__(self, holder: Holder):
        self.holder = holder

    def is_here(self, other: JobContext) -> bool:
        return self.holder.context is other is get_job_context()

    def read(self) -> list[Any]:
        return self.holder.context.get(self.holder.refs)

    def give(self) -> Holder:
        return self.holder

    def start(self) -> Holder:
        return Holder(self.holder.context, [self.holder.context.run(pow, 2, 7)])


class AsyncKeeper:
    async def read(self, holder: Holder) -> list[Any]:
        assert holder.context is get_job_context()
        return [await ref for ref in holder.refs]


class NoteworthyError(Exception):
    def __init__(self, text: str, context: JobContext):
        super().__init__(text, context)


def is_here(*contexts: JobContext) -> bool:
    return all(context is get_job_context() for context in contexts)


def read(holder: Holder) -> list[Any]:
    assert is_here(holder.context)
    return holder.context.get(holder.refs)


def hold(*values: Any) -> Holder:
    context = get_job_context()
    return Holder(context, [context.put(value) for value in values])


def hold_each(n: int):
    for number in range(n):
        yield hold(number)


@pytest.mark.behaviour("T171")
def test_argument_is_the_context_of_the_task(ctx: JobContext):
    assert ctx.get(ctx.run(is_here, ctx, ctx))
    assert ctx.get(ctx.create_task(lambda *, deep: is_here(*deep["list"]), kwargs={"deep": {"list": [ctx, ctx]}}))
    assert ctx.get(ctx.run(read, Holder(ctx, [ctx.put("a"), ctx.run(pow, 2, 3)]))) == ["a", 8]


@pytest.mark.behaviour("T171")
def test_captured_variable_is_the_context_of_the_task(ctx: JobContext):
    holder = Holder(ctx, [ctx.put("captured")])

    def captures(number=1, *, context=ctx):
        return is_here(ctx, context), ctx.get(holder.refs), ctx.get(ctx.run(pow, number, 2))

    assert ctx.get(ctx.run(captures, 3)) == (True, ["captured"], 9)
    assert ctx.get(ctx.run(ctx.run(lambda: ctx).result().get, 5)) == 5  # a bound method captures its object


@pytest.mark.behaviour("T171")
def test_result_is_the_context_of_the_reader(ctx: JobContext):
    holder = ctx.get(ctx.run(hold, "x", "y"))
    assert holder.context is ctx
    assert holder.context.get(holder.refs) == ["x", "y"]
    assert ctx.get(ctx.create_task(lambda: (get_job_context(),) * 2, options=TaskOptions(num_returns=2))) == [ctx, ctx]


@pytest.mark.behaviour("T171")
def test_items_of_a_generator_hold_it(ctx: JobContext):
    for number, item in enumerate(ctx.run(hold_each, 3)):
        holder = ctx.get(item)
        assert holder.context is ctx
        assert holder.context.get(holder.refs) == [number]


@pytest.mark.behaviour("T171")
def test_object_that_was_put_holds_it(ctx: JobContext):
    inner = ctx.put("inner")
    outer = ctx.put(Holder(ctx, [inner]))
    assert ctx.get(outer).context is ctx
    assert ctx.get(ctx.run(read, outer)) == ["inner"]


@pytest.mark.behaviour("T171")
def test_chain_of_tasks_hands_it_on(ctx: JobContext):
    def deeper(holder: Holder, depth: int) -> list[Any]:
        assert holder.context is get_job_context()
        if depth == 0:
            return holder.context.get(holder.refs)
        return holder.context.get(holder.context.run(deeper, holder, depth - 1))

    assert ctx.get(ctx.run(deeper, Holder(ctx, [ctx.put(1)]), 3)) == [1]


@pytest.mark.behaviour("T171")
def test_actor_holds_it(ctx: JobContext):
    five = ctx.put(5)
    keeper = ctx.create_actor(Keeper, Holder(ctx, [five]), options=ActorOptions(resources={"CPU": 0}))
    assert ctx.get(keeper.is_here(ctx))
    assert ctx.get(keeper.read()) == [5]
    assert ctx.get(keeper.give()).context is ctx
    assert read(ctx.get(keeper.start())) == [128]
    assert ctx.get(ctx.run(lambda handle, context: context.get(handle.read()), keeper, ctx)) == [5]


@pytest.mark.behaviour("T171")
def test_async_actor_gets_it(ctx: JobContext):
    keeper = ctx.create_actor(AsyncKeeper)
    assert ctx.get(keeper.read(Holder(ctx, [ctx.put(1), ctx.run(pow, 2, 2)]))) == [1, 4]


@pytest.mark.behaviour("T171")
def test_exception_holds_it(ctx: JobContext):
    def fail(context: JobContext):
        raise NoteworthyError("with a context", context)

    with pytest.raises(NoteworthyError) as caught:
        ctx.get(ctx.run(fail, ctx))
    assert caught.value.args == ("with a context", ctx)


@pytest.mark.behaviour("T171")
def test_waiting_task_holds_it(ctx: JobContext, gate):
    """Arguments arrive in a task that waits for others of them."""
    opened: Gate = gate()
    late = ctx.run(lambda: opened.wait()) if ctx.engine.parallelism else ctx.put(None)
    found = ctx.run(lambda late, holder: read(holder), late, Holder(ctx, [ctx.put(3)]))
    if ctx.engine.parallelism:
        opened.open()
    assert ctx.get(found) == [3]


@pytest.mark.behaviour("T171")
def test_map_captures_it(ctx: JobContext):
    refs = [ctx.put(n) for n in range(10)]
    assert list(ctx.map(lambda n: ctx.get(refs[n]) if is_here(ctx) else None, range(10))) == list(range(10))


@pytest.mark.behaviour("T171")
def test_methods_of_an_actor_capture_it_with_refs_and_handles(ctx: JobContext):
    class Source:
        def give(self) -> int:
            return 20

    ref, source = ctx.put(1), ctx.create_actor(Source)

    class Asker:
        before = ctx.put(300)

        def ask(self) -> int:
            return ctx.get(ref) + ctx.get(source.give()) + ctx.get(self.before)

    class LoopAsker:
        async def ask(self) -> int:
            return await ref + await source.give()

    assert ctx.get(ctx.create_actor(Asker).ask()) == 321
    assert ctx.get(ctx.create_actor(LoopAsker).ask()) == 21


@pytest.mark.behaviour("T171")
def test_copies_of_an_object_share_it(ctx: JobContext):
    assert copy.copy(ctx) is copy.deepcopy(ctx) is ctx
    assert copy.deepcopy(Holder(ctx, [])).context is ctx
    assert pickle.loads(pickle.dumps({"context": ctx}))["context"] is ctx


@pytest.mark.behaviour("T172")
def test_context_that_is_nobodys_default_comes_back_as_itself(new_context: JobContext):
    holder = new_context.get(new_context.run(hold, 1))
    assert holder.context is new_context
    assert holder.context.get(holder.refs) == [1]
    assert pickle.loads(pickle.dumps(new_context)) is new_context


@pytest.mark.behaviour("T172")
def test_closed_context_arrives_as_the_current_one(ctx: JobContext, new_context: JobContext):
    packed = pickle.dumps(Holder(new_context, []))
    new_context.close()
    assert pickle.loads(packed).context is ctx
    assert pickle.loads(pickle.dumps(new_context)) is ctx
