"""Actor classes and handles."""

from __future__ import annotations

import asyncio
import atexit
import gc
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def counter(ray: Any) -> Any:
    """An actor class."""

    @ray.remote
    class Counter:
        STEP = 5

        def __init__(self, start: int = 0, name: str = "") -> None:
            self.value = start
            self.name = name

        def add(self, amount: int = 1) -> int:
            self.value += amount
            return self.value

        def _private(self) -> str:
            return "private"

        def __call__(self, value: int) -> int:
            return 2 * value

        @staticmethod
        def static(value: int) -> int:
            return value

        @classmethod
        def named(cls) -> str:
            return cls.__name__

        @ray.method(num_returns=2)
        def two(self) -> tuple[int, int]:
            return 1, 2

        def items(self, count: int) -> Any:
            for item in range(count):  # noqa: UP028  (Ray cannot do `yield from range(count)`)
                yield item

        def fail(self) -> None:
            raise KeyError("lost")

        def pid(self) -> int:
            return os.getpid()

        def exit(self) -> None:
            ray.actor.exit_actor()

        def end(self) -> None:
            os._exit(1)

    return Counter


def test_calls_run_in_their_order_and_keep_state(ray: Any, counter: Any) -> None:
    actor = counter.remote(3, name="x")
    assert ray.get([actor.add.remote(), actor.add.remote(2), actor.add.remote(amount=3)]) == [4, 6, 9]
    assert ray.get(actor.two.remote()) == [1, 2]
    assert [ray.get(ref) for ref in actor.items.remote(3)] == [0, 1, 2]


def test_methods_that_are_not_plain(ray: Any, counter: Any) -> None:
    actor = counter.remote()
    calls = [actor._private.remote(), actor.__call__.remote(4), actor.static.remote(9), actor.named.remote()]
    assert ray.get(calls) == ["private", 8, 9, "Counter"]
    assert ray.get(actor.__ray_ready__.remote())
    assert ray.get(actor.__ray_call__.remote(lambda self, more: self.value + more, 100)) == 100


def test_methods_may_have_any_name(ray: Any) -> None:
    @ray.remote
    class Named:
        def handle(self) -> str:
            return "handle"

        def facts(self) -> str:
            return "facts"

        def method(self) -> str:
            return "method"

        def _methods(self) -> str:
            return "_methods"

        def construct(self) -> str:
            return self.handle() + self._methods()

    actor = Named.remote()
    calls = [actor.handle, actor.facts, actor.method, actor._methods, actor.construct]
    answers = ["handle", "facts", "method", "_methods", "handle_methods"]
    assert ray.get([call.remote() for call in calls]) == answers


def test_an_attribute_of_the_instance_hides_no_method_of_that_name(ray: Any) -> None:
    @ray.remote
    class Flag:
        def __init__(self) -> None:
            self.raised: Any = False

        def raised(self) -> Any:  # type: ignore[no-redef]
            was, self.raised = self.raised, True
            return was

        @staticmethod
        def sides() -> int:
            return 4

    flag = Flag.remote()
    assert ray.get([flag.raised.remote(), flag.raised.remote(), flag.sides.remote()]) == [False, True, 4]


def test_classes_and_methods_cannot_be_called(ray: Any, counter: Any) -> None:
    with pytest.raises(TypeError, match="cannot be instantiated directly"):
        counter()
    actor = counter.remote()
    with pytest.raises(TypeError, match="cannot be called directly"):
        actor.add()
    with pytest.raises(TypeError):
        actor(4)


def test_actor_classes_cannot_be_derived_from_but_plain_ones_can(ray: Any, counter: Any) -> None:
    with pytest.raises(ray.actor.ActorClassInheritanceException):

        class Derived(counter): ...

    class Base:
        def value(self) -> int:
            return 1

    @ray.remote
    class Further(Base):
        def value(self) -> int:
            return super().value() + 1

    assert ray.get(Further.remote().value.remote()) == 2


def test_what_classes_and_handles_show(ray: Any, counter: Any) -> None:
    assert isinstance(counter, ray.actor.ActorClass) and counter.STEP == 5 and counter.static(1) == 1
    actor = counter.remote()
    assert isinstance(actor, ray.actor.ActorHandle)
    assert (
        repr(actor) == f"Actor(counter.<locals>.Counter, {actor._actor_id.hex()})" and len(actor._actor_id.hex()) == 32
    )
    assert "add" in dir(actor)
    for name in ("value", "STEP", "nothing"):
        with pytest.raises(AttributeError, match=name):
            getattr(actor, name)


def test_handles_travel(ray: Any, counter: Any) -> None:
    @ray.remote
    def use(handle: Any, handles: list[Any]) -> tuple[int, bool]:
        return ray.get(handle.add.remote()), handle == handles[0]

    actor = counter.remote()
    assert ray.get(use.remote(actor, [actor])) == (1, True)
    method = actor.add
    del actor
    gc.collect()
    assert ray.get(method.remote()) == 2  # a method holds the actor


def test_arguments_are_checked_where_the_call_is(ray: Any, counter: Any) -> None:
    with pytest.raises(TypeError, match="too many positional arguments"):
        counter.remote(1, 2, 3)
    actor = counter.remote()
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        actor.add.remote(z=1)


def test_errors_of_methods(ray: Any, counter: Any) -> None:
    actor = counter.remote()
    with pytest.raises(KeyError) as caught:
        ray.get(actor.fail.remote())
    assert isinstance(caught.value, ray.exceptions.RayTaskError)
    assert "ray::Counter.fail()" in str(caught.value)
    assert ray.get(actor.add.remote()) == 1


def test_a_constructor_that_raises(ray: Any) -> None:
    @ray.remote
    class Bad:
        def __init__(self) -> None:
            raise ValueError("at birth")

        def f(self) -> None: ...

    with pytest.raises(ray.exceptions.ActorDiedError, match="at birth") as caught:
        ray.get(Bad.remote().f.remote())
    assert caught.value.actor_init_failed


def test_names_of_actors(ray: Any, counter: Any) -> None:
    actor = counter.options(name="found").remote(7)
    found = ray.get_actor("found")
    assert found == actor and hash(found) == hash(actor)
    assert ray.get(found.add.remote()) == 8
    assert ray.get(found.two.remote()) == [1, 2]
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        found.add.remote(z=1)
    assert "found" in ray.util.list_named_actors()
    with pytest.raises(ray.exceptions.ActorAlreadyExistsError):
        counter.options(name="found").remote()
    assert counter.options(name="found", get_if_exists=True).remote(100) == actor
    ray.kill(actor)
    for name in ("found", "never"):
        with pytest.raises(ValueError, match=name):
            _until_unknown(ray, name)
    with pytest.raises(ValueError):
        ray.get_actor("")


def _until_unknown(ray: Any, name: str) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        ray.get_actor(name)  # Ray forgets a name a moment after its actor


def test_namespaces(ray: Any, counter: Any) -> None:
    actor = counter.options(name="spaced", namespace="other").remote()
    assert ray.get_actor("spaced", namespace="other") == actor
    with pytest.raises(ValueError):
        ray.get_actor("spaced")
    assert {"name": "spaced", "namespace": "other"} in ray.util.list_named_actors(all_namespaces=True)
    ray.kill(actor)


def test_detached_actors(ray: Any, counter: Any) -> None:
    counter.options(name="stays", lifetime="detached").remote(4)
    gc.collect()
    actor = ray.get_actor("stays")
    assert ray.get(actor.add.remote()) == 5
    ray.kill(actor)


def test_killed_actors(ray: Any, counter: Any) -> None:
    actor = counter.remote()
    ray.get(actor.add.remote())
    ray.kill(actor)
    with pytest.raises(ray.exceptions.RayActorError) as caught:
        while True:  # Ray may answer a call that comes right behind
            ray.get(actor.add.remote())
    assert caught.value.actor_id == actor._actor_id.hex()
    ray.kill(actor)
    with pytest.raises(ValueError):
        ray.kill(3)


def test_actors_that_leave(ray: Any, counter: Any) -> None:
    actor = counter.remote()
    ending, after = actor.exit.remote(), actor.add.remote()
    for ref in (ending, after):
        with pytest.raises(ray.exceptions.ActorDiedError):
            ray.get(ref)
    with pytest.raises(TypeError):
        ray.actor.exit_actor()
    other = counter.remote()
    assert ray.get(other.add.remote()) == 1
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(other.__ray_terminate__.remote())


def test_restarted_actors_begin_anew(ray: Any, counter: Any) -> None:
    actor = counter.options(max_restarts=1).remote(1)
    assert ray.get(actor.add.remote()) == 2
    with pytest.raises(ray.exceptions.ActorUnavailableError):
        ray.get(actor.end.remote())
    assert _answer(ray, actor) == 2
    with pytest.raises(ray.exceptions.RayActorError):
        ray.get(actor.end.remote())
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(actor.add.remote())


def _answer(ray: Any, actor: Any) -> Any:
    while True:
        try:
            return ray.get(actor.add.remote())
        except ray.exceptions.ActorUnavailableError:
            time.sleep(0.05)


def test_calls_that_were_running_are_made_again(ray: Any, tmp_path: Path) -> None:
    @ray.remote(max_restarts=1, max_task_retries=1)
    class Fragile:
        def once(self, mark: str) -> bool:
            if not os.path.exists(mark):
                Path(mark).touch()
                os._exit(1)
            return ray.get_runtime_context().was_current_actor_reconstructed

    assert ray.get(Fragile.remote().once.remote(str(tmp_path / "mark"))) is True


def test_methods_are_tried_again_on_the_same_instance(ray: Any) -> None:
    @ray.remote
    class Flaky:
        def __init__(self) -> None:
            self.calls = 0

        @ray.method(max_task_retries=2, retry_exceptions=[ValueError])
        def third(self) -> int:
            self.calls += 1
            if self.calls < 3:
                raise ValueError
            return self.calls

    assert ray.get(Flaky.remote().third.remote()) == 3


def test_coroutines_and_generators_are_tried_again_and_give_each_item_once(ray: Any) -> None:
    @ray.remote(num_cpus=0, max_task_retries=2)
    class Fragile:
        def __init__(self) -> None:
            self.failures = 0

        def fail_twice(self) -> None:
            self.failures += 1
            if self.failures % 3:
                raise OSError(self.failures)

        async def value(self) -> int:
            await asyncio.sleep(0)
            self.fail_twice()
            return self.failures

        def items(self) -> Iterator[int]:
            yield 1
            self.fail_twice()
            yield 2

        async def items_async(self) -> AsyncIterator[int]:
            yield 1
            await asyncio.sleep(0)
            self.fail_twice()
            yield 2

    fragile = Fragile.remote()
    again = {"retry_exceptions": [OSError]}
    assert ray.get(fragile.value.options(**again).remote()) == 3
    for method in (fragile.items, fragile.items_async):
        assert [ray.get(ref) for ref in method.options(**again).remote()] == [1, 2]
    with pytest.raises(OSError):
        ray.get(fragile.value.options(max_task_retries=1, **again).remote())


def test_an_actor_makes_actors_of_its_own_class(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Tree:
        def __init__(self, depth: int) -> None:
            self.below = [Tree.remote(depth - 1) for _ in range(2)] if depth else []

        def size(self) -> int:
            return 1 + sum(ray.get([tree.size.remote() for tree in self.below]))

        def other(self) -> str:
            with pytest.raises(TypeError):
                Tree.remote()
            return type(Tree.options(num_cpus=0).remote(0)).__name__

    tree = Tree.remote(2)
    assert ray.get(tree.size.remote()) == 7
    assert ray.get(tree.other.remote()) == "ActorHandle"


def test_a_call_says_itself_how_often_it_is_made_again_when_the_process_dies(ray: Any, tmp_path: Path) -> None:
    @ray.remote(num_cpus=0, max_restarts=2)
    class Mortal:
        def die_once(self, path: str) -> str:
            if not Path(path).exists():
                Path(path).touch()
                os._exit(1)
            return "alive"

    mortal = Mortal.remote()
    assert ray.get(mortal.die_once.options(max_task_retries=-1).remote(str(tmp_path / "a")), timeout=60) == "alive"


def test_an_asynchronous_actor_leaves_from_a_task_of_its_own(ray: Any, tmp_path: Path) -> None:
    @ray.remote(num_cpus=0)
    class Leaving:
        async def start(self, path: str) -> None:
            atexit.register(Path(path).touch)
            self.leaving = asyncio.create_task(self.leave(path))

        async def leave(self, path: str) -> None:
            await asyncio.sleep(0)
            ray.actor.exit_actor()
            Path(path + ".behind").touch()

    actor = Leaving.remote()
    mark = tmp_path / "mark"
    ray.wait([actor.start.remote(str(mark))])  # it may have left before it answers
    end = time.monotonic() + 30
    while not mark.exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    with pytest.raises(ray.exceptions.RayActorError):
        ray.get(actor.__ray_ready__.remote(), timeout=30)
    assert not (tmp_path / "mark.behind").exists()


def test_limits_of_pending_calls(ray: Any, tmp_path: Path) -> None:
    door = tmp_path / "door"

    @ray.remote(max_pending_calls=1)
    class Slow:
        def wait(self) -> None:
            while not door.exists():
                time.sleep(0.01)

    actor = Slow.remote()
    first = actor.wait.remote()
    with pytest.raises(ray.exceptions.PendingCallsLimitExceeded):
        actor.wait.remote()
    door.touch()
    ray.get(first)


def test_asynchronous_actors(ray: Any) -> None:
    @ray.remote
    class Async:
        def __init__(self) -> None:
            self.event = asyncio.Event()

        async def wait(self) -> str:
            await self.event.wait()
            return "woken"

        async def wake(self) -> None:
            self.event.set()

        async def items(self) -> Any:
            for item in range(3):
                yield item

        async def nested(self, refs: list[Any]) -> int:
            return await refs[0]

    actor = Async.remote()
    waiting = [actor.wait.remote() for _ in range(5)]
    ray.get(actor.wake.remote())
    assert ray.get(waiting) == ["woken"] * 5
    assert ray.get(actor.nested.remote([ray.put(3)])) == 3

    async def items() -> list[int]:
        return [ray.get(ref) async for ref in actor.items.remote()]

    assert asyncio.run(items()) == [0, 1, 2]


def test_constructors_of_asynchronous_actors_run_on_the_event_loop(ray: Any) -> None:
    @ray.remote
    class Started:
        def __init__(self) -> None:
            self.loop = asyncio.get_running_loop()
            self.ticks = 0
            self.task = self.loop.create_task(self.tick())

        async def tick(self) -> None:
            self.ticks += 1

        async def result(self) -> tuple[int, bool]:
            await self.task
            return self.ticks, self.loop is asyncio.get_running_loop()

    @ray.remote
    class Opened:
        async def __init__(self, value: int, *, fails: bool = False) -> None:
            await asyncio.sleep(0.01)
            self.value = value
            if fails:
                raise ValueError("it cannot be opened")

        def result(self) -> int:
            return self.value

    assert ray.get(Started.remote().result.remote()) == (1, True)
    assert ray.get(Opened.remote(3).result.remote()) == 3
    with pytest.raises(ray.exceptions.ActorDiedError, match="it cannot be opened"):
        ray.get(Opened.remote(3, fails=True).result.remote())


def test_a_cancelled_coroutine_is_told(ray: Any, tmp_path: Path) -> None:
    @ray.remote
    class Async:
        async def wait(self, mark: str) -> None:
            try:
                Path(mark).touch()
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                Path(mark + ".told").touch()
                raise

    actor = Async.remote()
    ref = actor.wait.remote(str(tmp_path / "mark"))
    while not (tmp_path / "mark").exists():
        time.sleep(0.01)
    ray.cancel(ref)
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(ref, timeout=30)
    assert (tmp_path / "mark.told").exists()
    with pytest.raises(ValueError, match="force"):
        ray.cancel(actor.wait.remote(str(tmp_path / "mark")), force=True)


@pytest.mark.parametrize(("code", "restarts"), [(1, True), (None, True), ("a text", True), (0, False)])
def test_an_actor_that_leaves_by_an_error_is_restarted(ray: Any, tmp_path: Path, code: Any, restarts: bool) -> None:
    @ray.remote(num_cpus=0, max_restarts=1, max_task_retries=1)
    class Leaving:
        def leave_once(self, mark: str) -> str:
            if not Path(mark).exists():
                Path(mark).touch()
                sys.exit(code)
            return "again"

    ref = Leaving.remote().leave_once.remote(str(tmp_path / "mark"))
    if restarts:
        assert ray.get(ref, timeout=60) == "again"
        return
    with pytest.raises(ray.exceptions.RayActorError):
        ray.get(ref, timeout=60)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_cancelled_method_of_a_plain_actor_may_ask_for_it_and_its_value_is_dropped(
    ray: Any, tmp_path: Path, threads: int
) -> None:
    @ray.remote(max_concurrency=threads)
    class Plain:
        def poll(self, mark: str) -> str:
            context = ray.get_runtime_context()
            Path(mark).touch()
            while not context.is_canceled():
                time.sleep(0.01)
            Path(mark + ".told").touch()
            return "dropped"

        def other(self) -> bool:
            return ray.get_runtime_context().is_canceled()

    actor = Plain.remote()
    ref = actor.poll.remote(str(tmp_path / "mark"))
    while not (tmp_path / "mark").exists():
        time.sleep(0.01)
    ray.cancel(ref)
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(ref, timeout=30)
    assert (tmp_path / "mark.told").exists()
    assert ray.get(actor.other.remote()) is False  # the call after it is another one


def test_threaded_actors(ray: Any) -> None:
    @ray.remote(max_concurrency=2)
    class Threaded:
        def __init__(self) -> None:
            import threading

            self.barrier = threading.Barrier(2)

        def meet(self) -> bool:
            self.barrier.wait(30)
            return True

    actor = Threaded.remote()
    assert ray.get([actor.meet.remote(), actor.meet.remote()]) == [True, True]


def test_concurrency_groups(ray: Any) -> None:
    @ray.remote(concurrency_groups={"io": 2})
    class Grouped:
        def __init__(self) -> None:
            import threading

            self.barrier = threading.Barrier(2)

        @ray.method(concurrency_group="io")
        def meet(self) -> bool:
            self.barrier.wait(30)
            return True

        def alone(self) -> str:
            import threading

            return threading.current_thread().name

    actor = Grouped.remote()
    meeting = actor.meet.remote()
    ray.get(actor.alone.remote())  # of another group: does not wait for the one that meets
    assert ray.get([meeting, actor.meet.remote()]) == [True, True]
    assert ray.get(actor.alone.options(concurrency_group="io").remote())


def test_a_group_of_an_asynchronous_actor_that_is_blocked_holds_up_no_other(ray: Any, tmp_path: Path) -> None:
    @ray.remote(num_cpus=0, concurrency_groups={"io": 2, "work": 1})
    class Groups:
        @ray.method(concurrency_group="work")
        async def blocks(self, path: str) -> int:
            Path(path).touch()
            while not Path(path + ".door").exists():
                time.sleep(0.01)  # not a moment for the event loop
            return threading.get_ident()

        async def blocks_the_rest(self, path: str) -> int:
            return await self.blocks(path)

        @ray.method(concurrency_group="io")
        async def thread(self) -> int:
            await asyncio.sleep(0)
            return threading.get_ident()

        @ray.method(concurrency_group="io")
        def thread_too(self) -> int:
            return threading.get_ident()

    actor = Groups.remote()
    marks = [tmp_path / "work", tmp_path / "rest"]
    held = [actor.blocks.remote(str(marks[0])), actor.blocks_the_rest.remote(str(marks[1]))]
    end = time.monotonic() + 30
    while not all(mark.exists() for mark in marks):
        assert time.monotonic() < end
        time.sleep(0.01)
    one, same = ray.get([actor.thread.remote(), actor.thread_too.remote()], timeout=30)
    for mark in marks:
        Path(f"{mark}.door").touch()
    assert one == same
    assert len({one, *ray.get(held, timeout=30)}) == 3


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"max_calls": 1}, ValueError),
        ({"num_returns": 2}, ValueError),
        ({"name": ""}, ValueError),
        ({"lifetime": "for ever"}, ValueError),
        ({"max_restarts": -2}, ValueError),
        ({"max_concurrency": -1}, ValueError),
        ({"get_if_exists": True}, ValueError),
        ({"max_concurrency": "2"}, TypeError),
        ({"concurrency_groups": {"io": 1}}, ValueError),
    ],
)
def test_options_of_classes_that_are_refused(
    ray: Any, counter: Any, options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        counter.options(**options).remote()


def test_options_of_methods(ray: Any, counter: Any) -> None:
    actor = counter.remote()
    first, second = actor.two.options(num_returns=2, name="pair").remote()
    assert ray.get([first, second]) == [1, 2]
    with pytest.raises(TypeError):
        actor.add.options(foo=1).remote()
    with pytest.raises(AssertionError):
        ray.method(foo=1)


def test_an_actor_ends_when_nobody_holds_it(ray: Any, counter: Any) -> None:
    actor = counter.remote()
    pid = ray.get(actor.pid.remote())
    del actor
    gc.collect()
    end = time.monotonic() + 30
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < end:
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{pid}")
    assert ray.get(counter.remote().add.remote()) == 1  # the handle is gone before the call has run
