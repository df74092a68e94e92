from __future__ import annotations

import contextlib
import gc
import pickle
import random
import threading
import weakref

import fray
import pytest
from fray import (
    ActorDiedError,
    ActorOptions,
    ContextClosedError,
    ForeignRefError,
    LocalJobContext,
    TaskCancelledError,
    ThreadContext,
)

from tests.waiting import eventually

CONTEXTS = [LocalJobContext, ThreadContext]


class Bag:
    def __init__(self):
        self.values = []
        self.myself = fray.current_actor().handle

    def add(self, value):
        self.values.append(value)
        return len(self.values)

    def self(self):
        return self

    def end(self):
        fray.get_job_context().kill(self.myself)
        return "unseen"

    def close(self):
        fray.get_job_context().close()
        return "unseen"


class AsyncBag(Bag):
    async def add_async(self, value):
        return self.add(value)


def collect(reference):
    """Collect garbage until the object is gone: the thread that ran a call may hold it for a moment longer."""
    while reference() is not None:
        gc.collect()


@pytest.fixture(params=CONTEXTS)
def ctx(request):
    with request.param() as context:
        yield context


@pytest.mark.parametrize("kind", [Bag, AsyncBag])
def test_instance_is_collected_after_the_last_handle(ctx, kind):
    bag = ctx.create_actor(kind)
    instance = weakref.ref(ctx.get(bag.self()))
    assert instance() is not None
    del bag
    collect(instance)


def test_instance_is_dropped_when_the_actor_is_killed(ctx):
    bag = ctx.create_actor(Bag, name="bag")
    instance = weakref.ref(ctx.get(bag.self()))
    ctx.kill(bag)
    collect(instance)


def test_actor_can_kill_itself(ctx):
    bag = ctx.create_actor(Bag)
    with pytest.raises(ActorDiedError) as caught:
        ctx.get(bag.end())
    assert caught.value.executed == "unknown"
    with pytest.raises(ActorDiedError):
        ctx.get(bag.add(1))


def test_actor_can_close_its_context(ctx):
    bag = ctx.create_actor(Bag)
    ref = bag.close()
    with pytest.raises(ContextClosedError):
        ctx.get(ref)


def test_finalizer_may_use_the_context(ctx):
    class Last:
        def __init__(self):
            self.ctx = fray.get_job_context()

        def ping(self):
            return "pong"

        def __del__(self):
            seen.append(self.ctx.get(self.ctx.run(len, "abc")))

    seen = []
    actor = ctx.create_actor(Last)
    assert ctx.get(actor.ping()) == "pong"
    ctx.kill(actor)
    while not seen:
        gc.collect()
    assert seen == [3]


def test_handle_pickled_by_hand_means_the_same_actor_while_it_lives(ctx):
    bag = ctx.create_actor(Bag)
    data = pickle.dumps(bag)
    assert ctx.get(pickle.loads(data).add(1)) == 1
    instance = weakref.ref(ctx.get(bag.self()))
    del bag
    collect(instance)
    with pytest.raises(ForeignRefError, match="pickled outside Fray"):
        pickle.loads(data)


def test_two_contexts_have_names_of_their_own():
    with LocalJobContext() as first, ThreadContext() as second:
        one, other = first.create_actor(Bag, name="bag"), second.create_actor(Bag, name="bag")
        assert one != other
        assert second.get_actor("bag") == other


def test_environment_is_refused_where_calls_would_share_it(ctx):
    options = ActorOptions(runtime_env=fray.RuntimeEnv(env={"A": "b"}))
    with pytest.raises(fray.UnsupportedError, match="async methods"):
        ctx.create_actor(AsyncBag, options=options)


def test_coroutine_hidden_by_a_decorator_is_explained(ctx):
    def hide(fn):
        return lambda self: fn(self)

    class Hidden:
        @hide
        async def go(self): ...

    with pytest.raises(TypeError, match="a decorator may hide it"):
        ctx.get(ctx.create_actor(Hidden).go())


def test_interrupt_in_a_threaded_actor_leaves_it_alive():
    class Interrupted(Bag):
        def interrupt(self):
            raise KeyboardInterrupt

    with ThreadContext() as ctx:
        actor = ctx.create_actor(Interrupted)
        with pytest.raises(fray.TaskError, match="KeyboardInterrupt"):
            ctx.get(actor.interrupt())
        assert ctx.get(actor.add(1)) == 1


def test_interrupt_at_once_leaves_the_actor_alive():
    class Interrupted(Bag):
        def interrupt(self):
            raise KeyboardInterrupt

    with LocalJobContext() as ctx:
        actor = ctx.create_actor(Interrupted)
        with pytest.raises(KeyboardInterrupt):
            actor.interrupt()
        assert ctx.get(actor.add(1)) == 1


def test_constructor_failure_frees_the_racing_name_for_the_next():
    tries = []

    class Moody:
        def __init__(self):
            tries.append(1)
            if len(tries) < 3:
                raise OSError("not yet")

        def ping(self):
            return "pong"

    with ThreadContext() as ctx:
        for _ in range(2):
            with pytest.raises(ActorDiedError, match="not yet"):
                ctx.get(ctx.create_actor(Moody, name="moody", get_if_exists=True).ping())
        assert ctx.get(ctx.create_actor(Moody, name="moody", get_if_exists=True).ping()) == "pong"


def test_constructor_failure_without_a_text_is_told(ctx):
    class Mute(Exception):
        def __str__(self):
            raise OSError("no text")

    class Broken:
        def __init__(self):
            raise Mute

        def ping(self): ...

    with pytest.raises(ActorDiedError, match=r"its constructor raised .*Mute: <str"):
        ctx.get(ctx.create_actor(Broken).ping())


def test_closing_ends_actors_whose_calls_wait_and_leaves_no_thread():
    inside, stop = threading.Event(), threading.Event()

    class Stuck:
        def work(self):
            inside.set()
            stop.wait()

        def later(self): ...

    ctx = ThreadContext()
    actor = ctx.create_actor(Stuck)
    refs = [actor.work(), actor.later()]
    inside.wait()
    threading.Thread(target=lambda: (eventually(lambda: refs[0].cell.done), stop.set())).start()
    codec = ctx.engine.codec
    ctx.close()
    assert [type(codec.open_failure(ref.cell.failure)) for ref in refs] == [ContextClosedError] * 2
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("fray-actor")]


def test_restart_in_the_middle_of_a_call_shows_nothing_of_the_old_run():
    inside, stop = threading.Event(), threading.Event()
    made = []

    class Slow:
        def __init__(self):
            made.append(self)

        def work(self):
            if len(made) == 1:
                inside.set()
                stop.wait()
                return "old"
            return "new"

    with ThreadContext() as ctx:
        actor = ctx.create_actor(Slow, options=ActorOptions(max_restarts=-1, max_task_retries=-1))
        ref = actor.work()
        inside.wait()
        ctx.kill(actor, no_restart=False)
        assert ctx.get(ref) == "new"
        stop.set()
        assert ctx.get(actor.work()) == "new"
    assert len(made) == 2


def test_restart_in_the_middle_of_the_constructor_keeps_the_new_instance():
    inside, stop = threading.Event(), threading.Event()
    made = []

    class Slow:
        def __init__(self):
            made.append(self)
            self.number = len(made)
            if self.number == 1:
                inside.set()
                stop.wait()

        def get(self):
            return self.number

    with ThreadContext() as ctx:
        actor = ctx.create_actor(Slow, options=ActorOptions(max_restarts=1))
        ref = actor.get()
        inside.wait()
        ctx.kill(actor, no_restart=False)
        assert ctx.get(ref) == 2
        before = [thread for thread in threading.enumerate() if thread.name == "fray-actor " + Slow.__qualname__]
        stop.set()
        while len([thread for thread in before if thread.is_alive()]) > 1:
            pass
        assert ctx.get(actor.get()) == 2


@pytest.mark.parametrize("seed", range(3))
def test_callers_killers_and_droppers_at_once(ctx, seed):
    """Whatever happens to actors under their callers, each ref gets its value or ActorDiedError, and nothing hangs."""
    errors = []

    def use(number):
        choice = random.Random(10 * seed + number)
        try:
            for _ in range(60):
                options = ActorOptions(name=choice.choice("ab"), get_if_exists=True, max_restarts=1, max_task_retries=1)
                bag = ctx.create_actor(choice.choice([Bag, AsyncBag]), options=options)
                refs = [bag.add(0) for _ in range(choice.randrange(6))]
                what = choice.randrange(4)
                if what == 0:
                    ctx.kill(bag, no_restart=choice.random() < 0.5)
                elif what == 1 and refs:
                    ctx.cancel(refs[-1])
                elif what == 2:
                    refs.append(ctx.run(lambda bag=bag: bag.add(1).result()))
                for ref in refs:
                    with contextlib.suppress(ActorDiedError, TaskCancelledError):
                        assert ctx.get(ref) > 0
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
