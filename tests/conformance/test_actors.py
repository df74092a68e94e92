"""Calling actors: order, concurrency, what travels, what is refused."""

from __future__ import annotations

import asyncio
import gc
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import fray
import pytest
from fray import (
    ActorHandle,
    ActorOptions,
    ContextClosedError,
    DeadlockError,
    ForeignRefError,
    JobContext,
    LocalJobContext,
    ObjectRef,
    PendingCallsLimitError,
    RuntimeEnv,
    TaskCancelledError,
)

from tests.conformance.actors import Clerk, Counter, Introspective, Meeting, Named, Parent, Plain, Writer, ask
from tests.conformance.gates import Journal


def add_twice(counter):
    return [counter.add().result(), counter.add.remote().result()]


def call(method, *args):
    return method(*args).result()


def value_of(values):
    return [counter.get().result() for counter in values]


# ---- refs


@pytest.mark.behaviour("D1")
def test_call_and_remote_return_refs(ctx: JobContext):
    counter = ctx.create_actor(Counter, 10)
    direct, remote = counter.add(5), counter.add.remote(amount=6)
    assert isinstance(direct, ObjectRef)
    assert isinstance(remote, ObjectRef)
    assert ctx.get([direct, remote]) == [15, 21]
    assert counter.get().result(timeout=60) == 21


@pytest.mark.behaviour("C025")
def test_hundred_increments_sum_up(ctx: JobContext):
    counter = ctx.create_actor(Counter)
    refs = [counter.add.remote() for _ in range(100)]
    assert ctx.get(refs) == list(range(1, 101))
    assert ctx.get(counter.get()) == 100


@pytest.mark.behaviour("C027")
def test_actors_without_names_share_nothing(ctx: JobContext):
    first, second = ctx.create_actor(Counter, 10), ctx.create_actor(Counter, start=20)
    assert first != second
    assert ctx.get([first.add(5), second.add(3)]) == [15, 23]


@pytest.mark.behaviour("T129")
def test_await_gives_the_value(ctx: JobContext):
    counter = ctx.create_actor(Counter, 1)

    async def main():
        return [await counter.add(), *await asyncio.gather(*[counter.add() for _ in range(3)])]

    assert asyncio.run(main()) == [2, 3, 4, 5]


# ---- order


@pytest.mark.behaviour("C086")
def test_threads_see_each_number_once(ctx: JobContext):
    counter = ctx.create_actor(Counter)
    with ThreadPoolExecutor(10) as pool:
        seen = list(pool.map(lambda _: counter.add().result(), range(10)))
    assert sorted(seen) == list(range(1, 11))
    assert ctx.get(counter.get()) == 10


@pytest.mark.behaviour("D12A")
def test_calls_of_eight_threads_run_in_the_order_of_submission(ctx: JobContext, tmp_path):
    journal = Journal(str(tmp_path / "journal"))
    writer = ctx.create_actor(Writer, journal)
    lock = threading.Lock()
    submitted = ["made"]
    refs = []

    def submit(thread: int) -> None:
        for number in range(25):
            with lock:
                submitted.append(f"{thread}.{number}")
                refs.append(writer.write(submitted[-1]))

    threads = [threading.Thread(target=submit, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ctx.get(refs) == submitted[1:]
    assert journal.lines() == submitted


@pytest.mark.behaviour("T102")
def test_unready_argument_holds_back_later_calls(ctx: JobContext, gate, tmp_path):
    journal, door = Journal(str(tmp_path / "journal")), gate()
    writer = ctx.create_actor(Writer, journal)
    unready = ctx.run(door.wait)
    refs = [writer.write("first"), writer.write("second", unready), writer.write("third")]
    assert ctx.get(refs[0]) == "first"
    # Enough other work for the third call to have run if nothing held it back.
    ctx.get([ctx.create_actor(Counter).add() for _ in range(3)])
    assert ctx.wait(refs[1:], num_returns=2, timeout=0) == ([], refs[1:])
    assert journal.lines() == ["made", "first"]
    door.open()
    assert ctx.get(refs) == ["first", "second", "third"]
    assert journal.lines() == ["made", "first", "second", "third"]


@pytest.mark.behaviour("T103")
def test_calls_made_while_the_constructor_runs_are_kept(ctx: JobContext, gate, tmp_path):
    journal, door = Journal(str(tmp_path / "journal")), gate()
    writer = ctx.create_actor(Writer, journal, door)
    refs = [writer.write(number) for number in range(3)]
    assert ctx.wait(refs, timeout=0) == ([], refs)
    assert journal.lines() == []
    door.open()
    assert ctx.get(refs) == [0, 1, 2]
    assert journal.lines() == ["made", "0", "1", "2"]


@pytest.mark.behaviour("T111")
def test_threaded_actor_runs_calls_side_by_side(ctx: JobContext, gate):
    door = gate()
    counter = ctx.create_actor(Counter, options=ActorOptions(max_concurrency=2))
    # Each of the two ends only while the other runs.
    assert ctx.get([counter.wait_at(door), counter.open(door)]) == ["passed", "opened"]


# ---- async


@pytest.mark.behaviour("T109")
def test_async_methods_run_side_by_side(ctx: JobContext):
    meeting = ctx.create_actor(Meeting)
    waiting = [meeting.wait() for _ in range(50)]
    while ctx.get(meeting.read_log()) != ["waiting"] * 50:
        pass
    assert ctx.wait(waiting, timeout=0) == ([], waiting)
    assert ctx.get(meeting.open()) == "open"
    assert ctx.get(waiting) == ["met"] * 50
    with pytest.raises(ValueError, match="async"):
        ctx.get(meeting.fail())


@pytest.mark.behaviour("T134")
def test_async_methods_start_in_the_order_of_submission(ctx: JobContext):
    meeting = ctx.create_actor(Meeting)
    waiting = [meeting.wait() for _ in range(50)]
    assert ctx.get(meeting.read_log()) == ["waiting"] * 50
    ctx.get([meeting.open(), *waiting])


@pytest.mark.behaviour("T109")
def test_max_concurrency_bounds_async_calls(ctx: JobContext):
    meeting = ctx.create_actor(Meeting, options=ActorOptions(max_concurrency=2))
    waiting = meeting.wait()
    stuck = meeting.wait()
    behind = meeting.open()
    assert ctx.wait([behind], timeout=0) == ([], [behind])
    ctx.cancel(stuck)
    assert ctx.get([behind, waiting]) == ["open", "met"]


@pytest.mark.behaviour("T110")
def test_async_method_awaits_calls(ctx: JobContext):
    meeting, counter = ctx.create_actor(Meeting), ctx.create_actor(Counter, 2)
    assert ctx.get(meeting.add_three(1, 2, 3)) == 6
    assert ctx.get(meeting.ask_counter(counter)) == 7


@pytest.mark.behaviour("T120")
def test_cancelled_async_call_is_interrupted(ctx: JobContext):
    meeting = ctx.create_actor(Meeting)
    ref = meeting.stay()
    while ctx.get(meeting.read_log()) != ["staying"]:
        pass
    ctx.cancel(ref)
    with pytest.raises(TaskCancelledError):
        ctx.get(ref)
    while ctx.get(meeting.read_log()) != ["staying", "interrupted"]:
        pass


@pytest.mark.behaviour("T135")
@pytest.mark.parametrize("method", ["serve", "serve_slowly"])
def test_async_methods_do_not_see_each_others_context_variables(ctx: JobContext, method: str):
    clerk = ctx.create_actor(Clerk)
    served = [getattr(clerk, method)(name) for name in ("Ada", "Grace", "Edsger")]
    assert ctx.get(served) == [("nobody", "Ada"), ("nobody", "Grace"), ("nobody", "Edsger")]


@pytest.mark.behaviour("T136")
def test_async_method_is_one_asyncio_task_from_its_first_line_to_its_last(ctx: JobContext):
    clerk = ctx.create_actor(Clerk)
    assert ctx.get([clerk.stays_one_task() for _ in range(20)]) == [True] * 20
    assert ctx.get([clerk.gives_up() for _ in range(3)]) == ["gave up"] * 3
    assert ctx.get([clerk.adds_in_a_group() for _ in range(3)]) == [45] * 3


@pytest.mark.behaviour("T136")
def test_async_method_that_cancels_its_own_task_concerns_no_other(ctx: JobContext):
    clerk = ctx.create_actor(Clerk)
    for _ in range(3):
        first, waits, second, returns, third = (
            clerk.serve("Ada"),
            clerk.cancels_itself(True),
            clerk.serve("Grace"),
            clerk.cancels_itself(False),
            clerk.serve_slowly("Edsger"),
        )
        assert ctx.get([first, second, third]) == [("nobody", name) for name in ("Ada", "Grace", "Edsger")]
        assert ctx.wait([returns], timeout=30) == ([returns], [])
        with pytest.raises(TaskCancelledError):
            ctx.get(waits)


@pytest.mark.behaviour("T109")
def test_async_methods_that_wait_for_one_future_all_hear_of_it(ctx: JobContext):
    for _ in range(5):
        meeting = ctx.create_actor(Meeting)
        early = [meeting.wait_for_shared() for _ in range(3)]
        while ctx.get(meeting.read_log()) != ["shared"] * 3:
            pass
        late = [meeting.wait_for_shared() for _ in range(3)]
        assert ctx.get(meeting.share("news")) is None
        assert ctx.get([*early, *late]) == ["news"] * 6


# ---- generators


@pytest.mark.behaviour("T112")
def test_generator_methods_stream(ctx: JobContext):
    counter, meeting = ctx.create_actor(Counter), ctx.create_actor(Meeting)
    stream = counter.count_to(40)
    assert ctx.get(next(stream)) == 0
    assert ctx.get(list(stream)) == list(range(1, 40))
    assert ctx.get(counter.get()) == 40
    for method in (meeting.squares, meeting.plain_squares):
        squares = method(40)
        assert ctx.get(next(squares)) == 0
        assert ctx.get(squares) == [number * number for number in range(1, 40)]


@pytest.mark.behaviour("T112")
def test_dropping_the_stream_of_an_async_method_ends_it(ctx: JobContext, tmp_path):
    ended = Journal(str(tmp_path / "ended"))
    meeting = ctx.create_actor(Meeting)
    stream = meeting.endless(ended)
    assert ctx.get([next(stream) for _ in range(3)]) == [0, 1, 2]
    assert ended.lines() == []
    del stream
    gc.collect()
    while not ended.lines():
        ctx.get(meeting.add(1, 2))
    assert ended.lines() == ["closed"]


@pytest.mark.behaviour("T113")
def test_generator_method_holds_its_actor(ctx: JobContext):
    counter = ctx.create_actor(Counter)
    stream, behind = counter.count_to(100), counter.get()
    assert ctx.get(stream) == list(range(100))
    assert ctx.get(behind) == 100


# ---- options of a call


@pytest.mark.behaviour("T114")
def test_num_returns_gives_so_many_refs(ctx: JobContext):
    counter = ctx.create_actor(Counter, 42)
    tens, ones = counter.split.options(num_returns=2)()
    assert ctx.get([tens, ones]) == [4, 2]
    for ref in counter.split.options(num_returns=3).remote():
        with pytest.raises(ValueError, match="num_returns=3"):
            ctx.get(ref)
    for wrong in ({"num_returns": 0}, {"num_returns": 1.5}, {"name": ""}, {"timeout": 1}):
        with pytest.raises((TypeError, ValueError), match=r"num_returns|name"):
            counter.split.options(**wrong)


@pytest.mark.behaviour("T130")
def test_calls_stand_in_the_timeline(ctx: JobContext):
    counter = ctx.create_actor(Counter)
    ctx.get([counter.add(), counter.add.options(name="second add")()])
    names = [event["name"] for event in ctx.engine.timeline_events()]
    assert "Counter.add" in names
    assert "second add" in names


# ---- what travels


@pytest.mark.behaviour("T100")
def test_handles_and_methods_are_equal_by_their_actor(ctx: JobContext):
    counter, other = ctx.create_actor(Counter, name="t100"), ctx.create_actor(Counter)
    again = ctx.get_actor("t100")
    assert again == counter
    assert hash(again) == hash(counter)
    assert counter != other
    assert {counter: 1}[again] == 1
    assert again.add == counter.add
    assert len({counter.add, again.add, other.add, counter.get}) == 3
    assert "Counter" in repr(counter)
    assert "t100" in repr(counter)
    assert "'add'" in repr(counter.add)
    assert "add" in dir(counter)


@pytest.mark.behaviour("T101")
def test_handles_travel(ctx: JobContext):
    counter, meeting = ctx.create_actor(Counter), ctx.create_actor(Meeting)
    assert ctx.get(ctx.run(add_twice, counter)) == [1, 2]
    assert ctx.get(ctx.run(lambda: counter.add().result())) == 3
    assert ctx.get(ctx.run(call, counter.add, 10)) == 13
    assert ctx.get(ctx.run(value_of, [counter])) == [13]
    assert ctx.get(meeting.ask_counter(counter)) == 18
    kept = ctx.put({"counter": counter, "add": counter.add})
    found = ctx.get(kept)
    assert isinstance(found["counter"], ActorHandle)
    assert found["counter"] == counter
    assert ctx.get(found["add"](2)) == 20
    assert ctx.get(ctx.get(ctx.run(lambda held: held["counter"], kept)).add()) == 21


class KeepsRefs:
    def __init__(self, refs):
        self.refs = refs

    def read(self):
        return fray.get_job_context().get(self.refs)


@pytest.mark.behaviour("T137")
def test_refs_inside_the_arguments_of_a_constructor_outlive_those_of_its_creator(ctx: JobContext):
    actor = ctx.create_actor(KeepsRefs, [ctx.put(5), ctx.run(pow, 2, 3)])
    for _ in range(3):
        assert ctx.get(actor.read()) == [5, 8]


@pytest.mark.behaviour("T121")
def test_refs_are_arguments_as_values(ctx: JobContext):
    start, amount = ctx.run(abs, -5), ctx.put(2)
    counter = ctx.create_actor(Counter, start)
    assert ctx.get(counter.add(amount)) == 7
    assert ctx.get(counter.add(amount=counter.add(1))) == 16
    with pytest.raises(ValueError, match="invalid literal"):
        ctx.get(counter.add(ctx.run(int, "three")))
    assert ctx.get(counter.get()) == 16
    orphan = ctx.create_actor(Counter, ctx.run(int, "three"))
    with pytest.raises(fray.ActorDiedError) as caught:
        ctx.get(orphan.add())
    assert isinstance(caught.value.__cause__, ValueError)
    assert "no worker" not in str(caught.value)


@pytest.mark.behaviour("T131")
def test_arguments_and_results_are_copies(ctx: JobContext):
    counter, values = ctx.create_actor(Counter, 3), [1]
    assert ctx.get(counter.append_to(values)) == [1, 3]
    assert values == [1]


@pytest.mark.behaviour("T126")
def test_actors_create_actors_and_tasks_call_them(ctx: JobContext):
    parent = ctx.create_actor(Parent, 10)
    assert ctx.get(parent.child_add()) == 11
    child = ctx.get(parent.give_child())
    assert ctx.get(child.add()) == 12
    assert ctx.get(ctx.run(add_twice, child)) == [13, 14]
    assert ctx.get(ctx.run(lambda: ctx_create_and_add(7))) == 8


def ctx_create_and_add(start):
    return fray.get_job_context().create_actor(Counter, start).add().result()


# ---- inside


@pytest.mark.behaviour("T116")
def test_current_actor_is_the_one_whose_code_runs(ctx: JobContext):
    actor = ctx.create_actor(Introspective, name="t116")
    at_birth, now, group, index = ctx.get(actor.who())
    assert at_birth == now == actor
    assert (group, index) == ("t116", 0)
    assert "outside of an actor" in ctx.get(actor.in_a_task())
    assert "outside of an actor" in ask()
    with pytest.raises(RuntimeError, match="outside of an actor"):
        ctx.current_actor()


@pytest.mark.behaviour("D12B")
def test_waiting_for_a_later_call_of_the_same_actor_is_a_deadlock_error(ctx: JobContext):
    actor = ctx.create_actor(Introspective)
    with pytest.raises(DeadlockError):
        ctx.get(actor.wait_for_myself())
    (later,) = ctx.get(actor.call_myself())
    assert ctx.get(later)[0] == actor


@pytest.mark.behaviour("D12C")
@pytest.mark.parametrize("length", [2, 3])
def test_actors_that_wait_for_each_other_in_a_circle_get_a_deadlock_error(ctx: JobContext, length: int):
    ring = [ctx.create_actor(Introspective) for _ in range(length)]
    with pytest.raises(DeadlockError):
        ctx.get(ring[0].follow([*ring[1:], ring[0]]))
    assert ctx.get(ring[0].follow(ring[1:]))[0] == ring[-1]


@pytest.mark.behaviour("T127")
def test_environment_is_seen_by_every_call(ctx: JobContext):
    options = ActorOptions(runtime_env=RuntimeEnv(env={"FRAY_CONFORMANCE": "seen"}))
    counter = ctx.create_actor(Counter, options=options)
    assert ctx.get([counter.environment("FRAY_CONFORMANCE") for _ in range(2)]) == ["seen", "seen"]
    assert ctx.get(ctx.create_actor(Counter).environment("FRAY_CONFORMANCE")) is None


@pytest.mark.behaviour("D20B")
def test_packages_that_an_actor_lacks_are_named(ctx: JobContext, context_name: str):
    lacking = f"fray-actors-lack-this-on-{context_name}"
    options = ActorOptions(runtime_env=RuntimeEnv(package_requirements=["pytest", lacking]))
    with pytest.warns(UserWarning, match=re.escape(lacking)):
        counter = ctx.create_actor(Counter, options=options)
    assert ctx.get(counter.add(1)) == 1


# ---- failures and refusals


@pytest.mark.behaviour("T115")
def test_exception_of_a_method_leaves_the_actor_alive(ctx: JobContext):
    counter = ctx.create_actor(Counter)
    with pytest.raises(ValueError, match="wrong"):
        ctx.get(counter.fail("wrong"))
    with pytest.raises(TypeError, match="unexpected keyword"):
        ctx.get(counter.add(colour="red"))
    assert ctx.get(counter.get()) == 100


@pytest.mark.behaviour("T107")
def test_missing_method_names_near_ones(ctx: JobContext):
    counter = ctx.create_actor(Counter)
    with pytest.raises(AttributeError, match=r"Counter has no method 'ad'; did you mean 'add'"):
        counter.ad()
    with pytest.raises(AttributeError, match="has no method 'zzz'; it has add, append_to"):
        counter.zzz.remote()
    assert not hasattr(counter, "ad")


@pytest.mark.behaviour("T128")
def test_which_names_are_methods(ctx: JobContext):
    named, plain = ctx.create_actor(Named, 1), ctx.create_actor(Plain)
    assert ctx.get([named.add(), named.double(4), named.title(), plain.get()]) == [2, 8, "Named", 3]
    with pytest.raises(AttributeError, match="'field'"):
        plain.field()
    with pytest.raises(AttributeError, match="private"):
        named._secret()
    with pytest.raises(AttributeError, match="__len__"):
        named.__len__()
    with pytest.raises(AttributeError, match="cannot be set"):
        named.value = 5


@pytest.mark.behaviour("T108")
def test_wrong_requests_are_refused(ctx: JobContext):
    with pytest.raises(TypeError, match="needs a class, got 3"):
        ctx.create_actor(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="needs a class"):
        ctx.create_actor(len)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="options must be an ActorOptions"):
        ctx.create_actor(Counter, options={"name": "a"})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="options and the keywords name, num_cpus are both given"):
        ctx.create_actor(Counter, options=ActorOptions(), name="a", num_cpus=0)
    with pytest.raises(TypeError, match=r"Counter.*too many positional arguments"):
        ctx.create_actor(Counter, 1, 2)
    with pytest.raises(TypeError, match=r"write options=ActorOptions\(max_restarts=...\)"):
        ctx.create_actor(Counter, max_restarts=3)
    with pytest.raises(ValueError, match="a detached actor needs a name"):
        ctx.create_actor(Counter, lifetime="detached")
    with pytest.raises(ValueError, match="unprintable"):
        ctx.create_actor(Counter, name="a\nb")
    with pytest.raises(ValueError, match="get_if_exists needs a name"):
        ctx.create_actor(Counter, get_if_exists=True)
    with pytest.raises(TypeError, match="preemptible must be True or False"):
        ctx.create_actor(Counter, preemptible="no")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="kill needs an actor's handle, got"):
        ctx.kill(ctx.put(1))  # type: ignore[arg-type]


@pytest.mark.behaviour("T117")
def test_one_pending_call_too_many_is_refused(ctx: JobContext, gate):
    door, started = gate(), gate()
    counter = ctx.create_actor(Counter, options=ActorOptions(max_pending_calls=3))
    running = counter.stop_at(door, started)
    waiting = [counter.add(), counter.add()]
    started.wait()
    with pytest.raises(PendingCallsLimitError, match="max_pending_calls"):
        counter.add()
    door.open_if_waited_for()
    assert ctx.get([running, *waiting]) == [1, 2, 3]
    assert ctx.get(counter.add()) == 4


@pytest.mark.behaviour("T119")
def test_cancelled_waiting_call_never_runs(ctx: JobContext, gate):
    door, started = gate(), gate()
    counter = ctx.create_actor(Counter)
    running = counter.stop_at(door, started)
    started.wait()
    cancelled, last = counter.add(100), counter.add()
    ctx.cancel(cancelled)
    with pytest.raises(TaskCancelledError):
        ctx.get(cancelled)
    with pytest.raises(ValueError, match="kill the actor"):
        ctx.cancel(last, force=True)
    door.open_if_waited_for()
    assert ctx.get([running, last]) == [1, 2]


@pytest.mark.behaviour("T133")
def test_cancelled_waiting_call_holds_nothing_back(ctx: JobContext, gate):
    door, started = gate(), gate()
    counter = ctx.create_actor(Counter)
    running = counter.stop_at(door, started)
    started.wait()
    cancelled, last = counter.double(100), counter.add()
    ctx.cancel(cancelled)
    assert ctx.wait([cancelled, last]) == ([cancelled], [last])
    with pytest.raises(TaskCancelledError):
        ctx.get(cancelled)
    with pytest.raises(TaskCancelledError):
        cancelled.result()
    door.open_if_waited_for()
    assert ctx.get([running, last]) == [1, 2]


@pytest.mark.behaviour("T122")
def test_handles_of_another_context_are_refused(ctx: JobContext):
    with LocalJobContext() as other:
        stranger = other.create_actor(Counter)
        with pytest.raises(ForeignRefError, match="another context"):
            ctx.run(add_twice, stranger)
        with pytest.raises(ForeignRefError, match="another context"):
            ctx.kill(stranger)
        with pytest.raises(ForeignRefError, match="another context"):
            ctx.create_actor(Counter).add(stranger)
        with pytest.raises(ForeignRefError, match="another context"):
            ctx.create_actor(Counter, stranger)


@pytest.mark.behaviour("T123")
def test_closed_context_says_so(new_context: JobContext):
    counter = new_context.create_actor(Counter, name="t123")
    assert new_context.get(counter.add()) == 1
    new_context.close()
    for use in (
        counter.add,
        lambda: new_context.create_actor(Counter),
        lambda: new_context.get_actor("t123"),
        new_context.list_named_actors,
        lambda: new_context.kill(counter),
    ):
        with pytest.raises(ContextClosedError):
            use()
