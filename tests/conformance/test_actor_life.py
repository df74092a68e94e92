"""Names of actors, how long they live, and what is seen of their end."""

from __future__ import annotations

import gc
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from fray import (
    ActorDiedError,
    ActorNotFoundError,
    ActorOptions,
    JobContext,
    Lifetime,
    NameTakenError,
    get_default_job_ctx,
    get_job_context,
)

from tests.conformance.actors import Broken, Counter, Holder, Meeting, Writer
from tests.conformance.gates import Journal

# ---- names


@pytest.mark.behaviour("C024")
def test_get_if_exists_gives_the_actor_of_that_name(ctx: JobContext):
    first = ctx.create_actor(Counter, 100, name="c024", get_if_exists=True)
    assert ctx.get(first.add(10)) == 110
    second = ctx.create_actor(Counter, 999, name="c024", get_if_exists=True)
    assert second == first
    assert ctx.get(second.get()) == 110


@pytest.mark.behaviour("C028")
def test_taken_name_is_a_value_error(ctx: JobContext):
    kept = ctx.create_actor(Counter, name="c028")
    with pytest.raises(ValueError, match="Actor c028 already exists") as caught:
        ctx.create_actor(Counter, name="c028")
    assert isinstance(caught.value, NameTakenError)
    assert ctx.get(kept.add()) == 1


@pytest.mark.behaviour("D13")
def test_name_is_unique_in_its_namespace_only(ctx: JobContext):
    here = ctx.create_actor(Counter, 1, name="d13")
    there = ctx.create_actor(Counter, 2, options=ActorOptions(name="d13", namespace="elsewhere"))
    assert ctx.get([here.get(), there.get()]) == [1, 2]
    assert ctx.get_actor("d13") == here
    assert ctx.get_actor("d13", namespace="elsewhere") == there
    ctx.kill(here)
    assert ctx.get(ctx.create_actor(Counter, 3, name="d13").get()) == 3
    assert ctx.get(there.get()) == 2


@pytest.mark.behaviour("T118")
def test_named_actors_are_listed_and_found(ctx: JobContext):
    assert ctx.list_named_actors() == []
    made = {name: ctx.create_actor(Counter, name=name) for name in ("t118-b", "t118-a")}
    other = ctx.create_actor(Counter, options=ActorOptions(name="t118-c", namespace="elsewhere"))
    ctx.create_actor(Counter)
    assert ctx.list_named_actors() == ["t118-a", "t118-b"]
    assert ctx.list_named_actors(all_namespaces=True) == [
        {"name": "t118-a", "namespace": "default"},
        {"name": "t118-b", "namespace": "default"},
        {"name": "t118-c", "namespace": "elsewhere"},
    ]
    assert ctx.get_actor("t118-b") == made["t118-b"]
    assert ctx.get(ctx.run(lambda: get_job_context().get_actor("t118-a").add(4).result())) == 4
    with pytest.raises(ActorNotFoundError, match="did you mean 't118-a'"):
        ctx.get_actor("t118-aa")
    with pytest.raises(ValueError, match="there is one in namespace 'elsewhere'"):
        ctx.get_actor("t118-c")
    with pytest.raises(TypeError, match="name must be text"):
        ctx.get_actor(3)  # type: ignore[arg-type]
    ctx.kill(other)
    assert ctx.list_named_actors(all_namespaces=True) == ctx.list_named_actors(all_namespaces=True)[:2]


@pytest.mark.behaviour("D15")
def test_racing_threads_meet_one_actor(ctx: JobContext, tmp_path):
    journal = Journal(str(tmp_path / "journal"))
    barrier = threading.Barrier(8)

    def get_it(_: int):
        barrier.wait()
        return ctx.create_actor(Writer, journal, name="d15", get_if_exists=True)

    with ThreadPoolExecutor(8) as pool:
        handles = list(pool.map(get_it, range(8)))
    assert len(set(handles)) == 1
    ctx.get([handle.write("x") for handle in handles])
    assert journal.lines() == ["made"] + ["x"] * 8


# ---- programs of the documents that Fray follows


class Curriculum:
    def __init__(self):
        self.lessons = 0

    def next_lesson(self):
        self.lessons += 1
        return self.lessons


def rollout_worker():
    curriculum = get_default_job_ctx().create_actor(
        Curriculum, name="curriculum", get_if_exists=True, preemptible=False, num_cpus=0
    )
    return get_default_job_ctx().get(curriculum.next_lesson.remote())


@pytest.mark.behaviour("R059")
def test_workers_share_one_curriculum(ctx: JobContext):
    assert sorted(ctx.get([ctx.run(rollout_worker) for _ in range(6)])) == [1, 2, 3, 4, 5, 6]
    assert rollout_worker() == 7


class StatusActor:
    def __init__(self, cache_size: int = 10_000):
        self.cache_size = cache_size
        self.data = {}

    def set_value(self, key: str, value: object):
        self.data[key] = value

    def get_value(self, key: str):
        return self.data.get(key)


def status_actor():
    options = ActorOptions(
        name="status_actor",
        get_if_exists=True,
        lifetime=Lifetime.DETACHED,
        resources={"CPU": 0, "head_node": 0.0001},
    )
    return get_job_context().create_actor(StatusActor, options=options)


def report(key, value):
    get_job_context().get(status_actor().set_value(key, value))


@pytest.mark.behaviour("R101")
def test_status_actor_is_found_by_name(ctx: JobContext):
    ctx.get([ctx.create_task(report, (f"step{number}", number)) for number in range(5)])
    actor = status_actor()
    assert ctx.get([actor.get_value(f"step{number}") for number in range(6)]) == [0, 1, 2, 3, 4, None]


@pytest.mark.behaviour("D17")
def test_head_node_is_there_without_any_set_up(ctx: JobContext):
    spellings = (
        {"options": ActorOptions(resources={"head_node": 0.0001})},
        {"options": ActorOptions(schedule_on_head=True)},
        {"preemptible": False, "num_cpus": 0},
    )
    assert [ctx.get(ctx.create_actor(Counter, 5, **spelling).get()) for spelling in spellings] == [5, 5, 5]


# ---- lifetimes


@pytest.fixture
def lifeline(tmp_path):
    """A pipe that is at its end once the `Holder` that has it open is gone."""
    path = str(tmp_path / "lifeline")
    os.mkfifo(path)
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    class Lifeline:
        def __init__(self) -> None:
            self.path = path

        def is_held(self) -> bool:
            try:
                os.read(fd, 1)
            except BlockingIOError:
                return True
            return False

        def wait_for_end(self) -> None:
            # Again and again: a thread that ran the last call may hold the actor for a moment longer.
            while self.is_held():
                gc.collect()

    yield Lifeline()
    os.close(fd)


@pytest.mark.behaviour("D16A")
def test_unnamed_actor_ends_with_its_last_handle(ctx: JobContext, lifeline):
    holder = ctx.create_actor(Holder, lifeline.path)
    assert ctx.get(holder.ping()) == "pong"
    again, method = ctx.get(ctx.put(holder)), holder.ping
    del holder
    gc.collect()
    assert ctx.get(again.ping()) == "pong"
    del again
    gc.collect()
    assert ctx.get(method()) == "pong"
    assert lifeline.is_held()
    del method
    lifeline.wait_for_end()


@pytest.mark.behaviour("D16A")
def test_calls_made_before_the_last_handle_went_still_run(ctx: JobContext, lifeline, gate):
    refs = [ctx.create_actor(Holder, lifeline.path).ping()]
    refs.append(ctx.create_actor(Counter, 3).add())
    gc.collect()
    assert ctx.get(refs) == ["pong", 4]


@pytest.mark.behaviour("D16B")
def test_named_actor_lives_without_handles(ctx: JobContext, lifeline):
    assert ctx.get(ctx.create_actor(Holder, lifeline.path, name="d16b").ping()) == "pong"
    gc.collect()
    assert lifeline.is_held()
    assert ctx.get(ctx.get_actor("d16b").ping()) == "pong"
    ctx.kill(ctx.get_actor("d16b"))
    lifeline.wait_for_end()


# ---- ends


@pytest.mark.behaviour("T104")
def test_constructor_that_raises_ends_the_actor(ctx: JobContext):
    broken = ctx.create_actor(Broken, "no luck", name="t104")
    for _ in range(2):
        with pytest.raises(ActorDiedError, match="no luck") as caught:
            ctx.get(broken.get())
        assert (caught.value.executed, caught.value.fate) == ("no", "constructor_failed")
        assert (caught.value.class_name, caught.value.actor_name) == ("Broken", "t104")
        assert isinstance(caught.value.__cause__, RuntimeError)
    assert ctx.list_named_actors() == []
    assert ctx.get(ctx.create_actor(Counter, 1, name="t104").get()) == 1


@pytest.mark.behaviour("T105")
@pytest.mark.parametrize("kind", [Counter, Meeting])
def test_call_on_a_killed_actor_fails_at_once(ctx: JobContext, kind):
    actor = ctx.create_actor(kind, name="t105")
    ctx.get(actor.add(1, 2) if kind is Meeting else actor.add(1))
    ctx.kill(actor)
    ctx.kill(actor)
    ref = actor.open(None) if kind is Counter else actor.open()
    with pytest.raises(ActorDiedError, match="killed") as caught:
        ctx.get(ref, timeout=60)
    assert (caught.value.actor_name, caught.value.fate) == ("t105", "ended")
    with pytest.raises(ActorNotFoundError):
        ctx.get_actor("t105")


@pytest.mark.behaviour("T132")
def test_call_on_a_killed_actor_was_not_executed(ctx: JobContext):
    counter = ctx.create_actor(Counter)
    ctx.get(counter.add(1))
    ctx.kill(counter)
    with pytest.raises(ActorDiedError) as caught:
        ctx.get(counter.add(1), timeout=60)
    assert caught.value.executed == "no"


@pytest.mark.behaviour("T106")
def test_kill_says_what_was_executed(ctx: JobContext, gate):
    door, started = gate(), gate()
    counter = ctx.create_actor(Counter)
    running, waiting = counter.stop_at(door, started), counter.add()
    started.wait()
    ctx.kill(counter)
    with pytest.raises(ActorDiedError) as caught:
        ctx.get(running)
    assert caught.value.executed == "unknown"
    with pytest.raises(ActorDiedError) as caught:
        ctx.get(waiting)
    assert caught.value.executed == "no"
    door.open_if_waited_for()


@pytest.mark.behaviour("T124")
def test_restart_gives_a_new_state(ctx: JobContext):
    counter = ctx.create_actor(Counter, ctx.put(5), options=ActorOptions(name="t124", max_restarts=2))
    for _ in range(2):
        assert ctx.get(counter.add(10)) == 15
        ctx.kill(counter, no_restart=False)
        assert ctx.get(counter.get()) == 5
        assert ctx.get_actor("t124") == counter
    ctx.kill(counter, no_restart=False)
    with pytest.raises(ActorDiedError):
        ctx.get(counter.get())


@pytest.mark.behaviour("T125")
@pytest.mark.parametrize("retries", [0, 1])
def test_calls_over_a_restart(ctx: JobContext, gate, tmp_path, retries: int):
    door, started = gate(), gate()
    journal = Journal(str(tmp_path / "journal"))
    options = ActorOptions(max_restarts=1, max_task_retries=retries)
    writer = ctx.create_actor(Writer, journal, options=options)
    running, waiting = writer.write_and_stop("running", door, started), writer.write("waiting")
    started.wait()
    ctx.kill(writer, no_restart=False)
    door.open_if_waited_for()
    if retries:
        started.wait()
        door.open_if_waited_for()
        assert ctx.get(running) == "running"
    else:
        with pytest.raises(ActorDiedError) as caught:
            ctx.get(running)
        assert (caught.value.executed, caught.value.fate) == ("unknown", "lives_on")
    assert ctx.get(waiting) == "waiting"
    assert journal.lines() == ["made", "running", "made", *["running"] * retries, "waiting"]
