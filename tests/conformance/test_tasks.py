"""Arguments, options, nesting, cancelling, timeouts and functions."""

from __future__ import annotations

import asyncio
import functools
import os
import threading
import warnings
from importlib import metadata

import fray
import pytest
from fray import (
    InfeasibleError,
    JobContext,
    RuntimeEnv,
    SerializationError,
    TaskCancelledError,
    TaskOptions,
    TaskTimeoutError,
    get_job_context,
)

from tests.conformance.gates import Journal


def add(a, b=0):
    return a + b


def fail(text):
    raise ValueError(text)


def wait_at(gate, value=None):
    gate.wait()
    return value


def fib(n):
    if n < 2:
        return n
    ctx = get_job_context()
    return sum(ctx.get([ctx.run(fib, n - 1), ctx.run(fib, n - 2)]))


def chain(depth):
    ctx = get_job_context()
    return 0 if depth == 0 else 1 + ctx.get(ctx.run(chain, depth - 1))


@pytest.mark.behaviour("D5")
def test_ref_argument_becomes_its_value(ctx: JobContext):
    ref = ctx.run(add, 1, 2)
    assert ctx.get(ctx.run(add, ref, ref)) == 6


@pytest.mark.behaviour("D5", "T050")
def test_ref_inside_a_value_stays_a_ref(ctx: JobContext):
    def is_ref(values):
        return isinstance(values["here"][0], fray.ObjectRef) and get_job_context().get(values["here"][0])

    assert ctx.get(ctx.run(is_ref, {"here": [ctx.put(7)]})) == 7


@pytest.mark.behaviour("T050")
def test_refs_travel_in_results_and_objects(ctx: JobContext):
    def start_two():
        inner = get_job_context()
        return [inner.run(add, 1, 1), inner.put(5)]

    refs = ctx.get(ctx.run(start_two))
    assert ctx.get(refs) == [2, 5]
    held = ctx.put({"ref": refs[1]})
    assert ctx.get(ctx.get(held)["ref"]) == 5
    del refs
    assert ctx.get(ctx.get(held)["ref"]) == 5


@pytest.mark.behaviour("T051")
def test_keyword_arguments(ctx: JobContext):
    assert ctx.get(ctx.create_task(add, (1,), {"b": ctx.put(4)})) == 5
    assert ctx.get(ctx.run(add, a=ctx.put(1), b=2)) == 3
    assert ctx.get(ctx.run(dict, options=1, args=2)) == {"options": 1, "args": 2}


@pytest.mark.behaviour("T052")
def test_num_returns_gives_that_many_refs(ctx: JobContext):
    first, second = ctx.create_task(divmod, (17, 5), options=TaskOptions(num_returns=2))
    assert ctx.get([second, first]) == [2, 3]


@pytest.mark.behaviour("T052")
@pytest.mark.parametrize("returned", [[1], [1, 2, 3], 7])
def test_wrong_number_of_returns_fails_every_ref(ctx: JobContext, returned):
    refs = ctx.create_task(lambda: returned, options=TaskOptions(num_returns=2))
    assert len(refs) == 2
    for ref in refs:
        with pytest.raises((ValueError, TypeError), match="num_returns=2"):
            ctx.get(ref)


@pytest.mark.behaviour("T053")
def test_failure_of_an_argument_is_the_failure_of_the_task(ctx: JobContext, tmp_path):
    journal = Journal(str(tmp_path / "journal"))
    broken = ctx.run(fail, "the cause")
    options = TaskOptions(retry_exceptions=True)
    ref = ctx.create_task(lambda value: journal.add("ran"), (broken,), options=options)
    with pytest.raises(ValueError, match="the cause"):
        ctx.get(ctx.run(add, ref))
    assert journal.lines() == []


@pytest.mark.behaviour("T001")
def test_nested_tasks_far_deeper_than_workers(ctx: JobContext):
    assert ctx.get(ctx.run(fib, 7)) == 13
    assert ctx.get(ctx.run(chain, 12)) == 12


def await_children(depth: int) -> int:
    async def main() -> int:
        inner = get_job_context()
        return sum(await asyncio.gather(*[inner.run(await_children, depth - 1) for _ in range(2)]))

    return 1 if depth == 0 else asyncio.run(main())


@pytest.mark.behaviour("T001B")
def test_a_task_that_awaits_its_own_tasks_gives_its_place_to_them(ctx: JobContext):
    assert ctx.get([ctx.run(await_children, 2) for _ in range(4)]) == [4] * 4


@pytest.mark.behaviour("D10")
def test_tasks_see_the_context_that_they_run_in(ctx: JobContext):
    def inner_result():
        inner = get_job_context()
        return inner.get(inner.run(add, 20, 3))

    assert ctx.get(ctx.run(inner_result)) == 23


@pytest.mark.behaviour("D10", "D9")
def test_threads_of_the_user_see_the_context(ctx: JobContext):
    seen = []
    thread = threading.Thread(target=lambda: seen.append(get_job_context()))
    thread.start()
    thread.join()
    assert seen == [ctx]
    assert get_job_context() is fray.get_default_job_ctx() is ctx


@pytest.mark.behaviour("T002")
def test_task_is_retried_until_it_succeeds(ctx: JobContext, tmp_path):
    journal = Journal(str(tmp_path / "journal"))

    def third_time():
        if journal.add("attempt") < 2:
            raise OSError("not yet")
        return "done"

    options = TaskOptions(max_retries=2, retry_exceptions=(OSError,))
    assert ctx.get(ctx.create_task(third_time, options=options)) == "done"
    assert len(journal.lines()) == 3


@pytest.mark.behaviour("T002")
@pytest.mark.parametrize(
    ("options", "attempts"),
    [
        (TaskOptions(max_retries=2, retry_exceptions=True), 3),
        (TaskOptions(max_retries=0, retry_exceptions=True), 1),
        (TaskOptions(max_retries=2), 1),
        (TaskOptions(max_retries=2, retry_exceptions=(KeyError,)), 1),
    ],
    ids=["all", "none-left", "off", "other-type"],
)
def test_attempts_follow_the_options(ctx: JobContext, tmp_path, options: TaskOptions, attempts: int):
    journal = Journal(str(tmp_path / "journal"))

    def never():
        journal.add("attempt")
        raise OSError("never")

    with pytest.raises(OSError, match="never"):
        ctx.get(ctx.create_task(never, options=options))
    assert len(journal.lines()) == attempts


@pytest.mark.behaviour("T003")
def test_cancelled_queued_task_never_runs(ctx: JobContext, gate, tmp_path):
    journal = Journal(str(tmp_path / "journal"))
    door = gate()
    holder = ctx.run(wait_at, door)
    queued = ctx.create_task(lambda _: journal.add("ran"), (holder,))
    ctx.cancel(queued)
    with pytest.raises(TaskCancelledError):
        ctx.get(queued)
    door.open()
    ctx.get(holder)
    assert ctx.get(ctx.run(add, 1, 1)) == 2
    assert journal.lines() == []


@pytest.mark.behaviour("T004")
def test_cancel_after_the_end_changes_nothing(ctx: JobContext):
    ref, held = ctx.run(add, 1, 2), ctx.put(4)
    ctx.get(ref)
    ctx.cancel(ref)
    ctx.cancel(ref, force=True)
    ctx.cancel(held)
    assert ctx.get([ref, held]) == [3, 4]


@pytest.mark.behaviour("T005")
def test_cancelled_running_task_raises_at_once(ctx: JobContext, gate):
    started, door = gate(), gate()

    def announce_and_wait():
        # Open for both ends, so that reading waits although nobody writes.
        with open(door.path, "r+b", buffering=0) as pipe:
            started.open()
            pipe.read(1)

    ref = ctx.run(announce_and_wait)
    started.wait()
    ctx.cancel(ref, force=True)
    with pytest.raises(TaskCancelledError):
        ctx.get(ref)
    # Let a thread go that nobody can interrupt.
    fd = os.open(door.path, os.O_RDWR | os.O_NONBLOCK)
    os.write(fd, b"x")
    os.close(fd)


@pytest.mark.behaviour("T006")
def test_task_over_its_timeout_fails(ctx: JobContext, context_name: str):
    # A thread of this process cannot be interrupted, so its task ends late; another process is, before its task ends.
    seconds = 0.3 if context_name in ("sync", "sync+serialize", "thread") else 5

    def too_long():
        threading.Event().wait(seconds)

    ref = ctx.create_task(too_long, options=TaskOptions(timeout=0.05, max_retries=0))
    with pytest.raises(TaskTimeoutError):
        ctx.get(ref)
    with pytest.raises(TimeoutError):
        ref.result()
    assert ctx.get(ctx.create_task(add, (1,), options=TaskOptions(timeout=30))) == 1


@pytest.mark.behaviour("T008")
def test_waiting_for_an_argument_occupies_no_worker(ctx: JobContext, gate):
    door = gate()
    unready = ctx.run(wait_at, door, 1)
    waiting = [ctx.run(add, unready, n) for n in range(20)]
    assert ctx.get(ctx.run(add, 2, 3), timeout=30) == 5
    door.open()
    assert ctx.get(waiting) == [1 + n for n in range(20)]


@pytest.mark.behaviour("D18A")
def test_undeclared_resources_are_admitted(ctx: JobContext):
    options = TaskOptions(resources={"TPU": 4, "TPU-v4-32-head": 1, "CPU": 0})
    assert ctx.get(ctx.create_task(add, (1,), options=options)) == 1


@pytest.mark.behaviour("D18B")
def test_impossible_resources_are_refused(ctx: JobContext):
    with pytest.raises(InfeasibleError, match="TPU"):
        ctx.create_task(add, (1,), options=TaskOptions(resources={"TPU": 4}))
    with pytest.raises(ValueError, match="CPU"):
        ctx.create_task(add, (1,), options=TaskOptions(resources={"CPU": 10_000}))


@pytest.mark.behaviour("D19")
def test_max_calls_changes_no_result(ctx: JobContext):
    options = TaskOptions(max_calls=1)
    assert ctx.get([ctx.create_task(add, (n,), options=options) for n in range(4)]) == [0, 1, 2, 3]


@pytest.mark.behaviour("D20")
def test_env_is_set_inside_the_task_only(ctx: JobContext):
    def read():
        return os.environ.get("FRAY_TEST_VARIABLE")

    options = TaskOptions(runtime_env=RuntimeEnv(env={"FRAY_TEST_VARIABLE": "here"}))
    assert ctx.get(ctx.create_task(read, options=options)) == "here"
    assert ctx.get(ctx.run(read)) is None
    assert read() is None


@pytest.mark.behaviour("D20")
def test_env_reaches_a_task_that_starts_others(ctx: JobContext):
    options = TaskOptions(runtime_env=RuntimeEnv(env={"FRAY_TEST_VARIABLE": "outer"}))

    def nested():
        before = os.environ["FRAY_TEST_VARIABLE"]
        inner = get_job_context()
        other = TaskOptions(runtime_env=RuntimeEnv(env={"FRAY_TEST_VARIABLE": "inner"}))
        seen = inner.get(inner.create_task(lambda: os.environ["FRAY_TEST_VARIABLE"], options=other))
        return before, seen, os.environ["FRAY_TEST_VARIABLE"]

    assert ctx.get(ctx.create_task(nested, options=options)) == ("outer", "inner", "outer")
    assert "FRAY_TEST_VARIABLE" not in os.environ


@pytest.mark.behaviour("D20B")
def test_packages_that_are_installed_are_given_and_others_are_named_once(ctx: JobContext, context_name: str):
    version = metadata.version("pytest")
    lacking = f"fray-lacks-this-on-{context_name}>=2"
    env = RuntimeEnv(package_requirements=[f"pytest=={version}", lacking], env={"FRAY_TEST_VARIABLE": "here"})
    options = TaskOptions(runtime_env=env)
    with pytest.warns(UserWarning) as caught:
        assert ctx.get(ctx.create_task(lambda: os.environ.get("FRAY_TEST_VARIABLE"), options=options)) == "here"
    (warning,) = caught
    assert lacking in str(warning.message)
    assert "pytest" not in str(warning.message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ctx.get(ctx.create_task(add, (1, 1), options=options)) == 2
        given = RuntimeEnv(package_requirements=["pytest>=1"])
        assert ctx.get(ctx.create_task(add, (1, 1), options=TaskOptions(runtime_env=given))) == 2


@pytest.mark.behaviour("D20B")
def test_what_cannot_apply_is_named_once(ctx: JobContext, context_name: str):
    image = f"debian-{context_name}".replace("+", "-")
    env = RuntimeEnv(container_image=image, working_dir="somewhere")
    with pytest.warns(UserWarning, match=f"container_image='{image}', RuntimeEnv.working_dir='somewhere'"):
        assert ctx.get(ctx.create_task(add, (1, 1), options=TaskOptions(runtime_env=env))) == 2
    conda = RuntimeEnv(conda=[f"fray-lacks-{context_name}=2"])
    with pytest.warns(UserWarning, match="conda"):
        assert ctx.get(ctx.create_task(add, (1, 1), options=TaskOptions(runtime_env=conda))) == 2


@pytest.mark.behaviour("T070")
def test_wrong_arguments_of_create_task(ctx: JobContext):
    with pytest.raises(TypeError, match="needs a function"):
        ctx.create_task(add(1))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="TaskOptions"):
        ctx.create_task(add, (1,), options={"num_cpus": 1})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="tuple"):
        ctx.create_task(add, 1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="put of a ref"):
        ctx.put(ctx.put(1))
    with pytest.raises(TypeError, match="needs refs"):
        ctx.cancel(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="missing 1 required"):
        ctx.get(ctx.run(add))


@pytest.mark.behaviour("T070")
def test_keywords_of_create_task_that_are_none_are_refused(ctx: JobContext):
    for kwargs, given in (([1], "got list"), ({1: 2}, "got 1")):
        with pytest.raises(TypeError, match=f"create_task: kwargs must be .*{given}"):
            ctx.create_task(add, (1,), kwargs)  # type: ignore[arg-type]


@pytest.mark.behaviour("T071")
def test_refs_of_another_context_are_refused(ctx: JobContext):
    with fray.LocalJobContext() as other:
        foreign = other.put(1)
        for use in (
            lambda: ctx.get(foreign),
            lambda: ctx.get([foreign]),
            lambda: ctx.wait([foreign]),
            lambda: ctx.cancel(foreign),
            lambda: ctx.run(add, foreign),
            lambda: ctx.run(add, a=foreign),
        ):
            with pytest.raises(fray.ForeignRefError, match="another context"):
                use()


@pytest.mark.behaviour("T072")
def test_ref_cannot_be_pickled_outside(ctx: JobContext):
    import copy
    import pickle

    ref = ctx.put(1)
    with pytest.raises(TypeError, match="ref"):
        pickle.dumps(ref)
    with pytest.raises(TypeError, match="ref"):
        copy.deepcopy([ref])


@pytest.mark.behaviour("T073")
def test_closed_context_refuses_every_use(new_context: JobContext):
    ref = new_context.put(1)
    new_context.close()
    new_context.close()
    assert new_context.closed
    for use in (
        lambda: new_context.run(add, 1),
        lambda: new_context.put(1),
        lambda: new_context.get(ref),
        lambda: new_context.wait([ref]),
        lambda: new_context.map(add, [1]),
        lambda: new_context.empty(3, "f8"),
        ref.result,
        new_context.__enter__,
    ):
        with pytest.raises(fray.ContextClosedError, match="closed"):
            use()


def traced(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        return ("traced", fn(*args, **kwargs))

    return wrapper


@traced
def decorated(x):
    return x + 1


class Account:
    def __init__(self, balance):
        self.balance = balance

    def plus(self, amount):
        return self.balance + amount

    @classmethod
    def opened(cls):
        return cls(0).balance

    def __call__(self, amount):
        return self.balance - amount


@pytest.mark.behaviour("T080")
def test_callables_of_every_kind_run(ctx: JobContext):
    base = 10
    assert ctx.get(ctx.run(lambda x: base + x, 5)) == 15
    assert ctx.get(ctx.run(decorated, 1)) == ("traced", 2)
    assert ctx.get(ctx.run(Account(5).plus, 2)) == 7
    assert ctx.get(ctx.run(Account.opened)) == 0
    assert ctx.get(ctx.run(Account(5), 2)) == 3
    assert ctx.get(ctx.run(functools.partial(add, b=3), 2)) == 5
    assert ctx.get(ctx.run(Account, 9)).balance == 9
    assert ctx.get(ctx.run(len, "four")) == 4

    def factorial(n):
        return 1 if n == 0 else n * factorial(n - 1)

    assert ctx.get(ctx.run(factorial, 10)) == 3628800


@pytest.mark.behaviour("T081")
def test_changed_closure_runs_changed(ctx: JobContext):
    factor = 1
    settings = {"offset": 0}

    def scaled(x):
        return x * factor + settings["offset"]

    seen = []
    for factor, settings["offset"] in ((1, 0), (2, 0), (2, 5), (3, 5)):  # noqa: B007
        seen.append(ctx.get(ctx.run(scaled, 10)))
    assert seen == [10, 20, 25, 35]


@pytest.mark.behaviour("T082")
def test_unpicklable_part_is_named_with_its_path(ctx: JobContext):
    lock = threading.Lock()

    def guarded():
        return lock

    with pytest.raises(SerializationError, match="closure 'lock'"):
        ctx.run(guarded)
    with pytest.raises(TypeError, match=r"\['deep'\]"):
        ctx.run(add, {"deep": [lock]})
    with pytest.raises(SerializationError):
        ctx.put(lock)
    with pytest.raises(SerializationError, match="result"):
        ctx.get(ctx.run(threading.Lock))


@pytest.mark.behaviour("T083")
def test_async_function_is_refused(ctx: JobContext):
    async def later():
        return 1

    with pytest.raises(TypeError, match=r"async|coroutine"):
        ctx.get(ctx.run(later))


@pytest.mark.behaviour("D41A")
def test_values_keep_their_identity(ctx: JobContext):
    value = [1]
    assert ctx.get(ctx.put(value)) is value
    assert ctx.get(ctx.run(lambda x: x, value)) is value


@pytest.mark.behaviour("D41B")
def test_values_are_copies(ctx: JobContext):
    value = [1]
    ref = ctx.put(value)
    value.append(2)
    assert ctx.get(ref) == [1]
    ctx.get(ref).append(3)
    assert ctx.get(ref) == [1]
    ctx.get(ctx.run(list.append, ref, 4))
    assert ctx.get(ref) == [1]
    argument = [1]
    assert ctx.get(ctx.run(lambda x: x.append(2) or x, argument)) == [1, 2]
    assert argument == [1]


@pytest.mark.behaviour("T084")
def test_snippet_of_the_migration_guide(ctx: JobContext):
    def process_file(input_path: str, output_path: str):
        return input_path + output_path

    options = TaskOptions(max_calls=1, name="fn:step", runtime_env=RuntimeEnv(env={"FOO": "bar"}))
    ref = ctx.create_task(process_file, ("a", "b"), options=options)
    assert ctx.get(ref) == "ab"
    refs = [ctx.create_task(process_file, (str(x), "")) for x in range(4)]
    done, pending = ctx.wait(refs, num_returns=3, timeout=100.0)
    assert len(done) == 3
    assert len(pending) == 1
    assert sorted(ctx.get(done + pending)) == ["0", "1", "2", "3"]


@pytest.mark.behaviour("T085")
def test_a_name_goes_to_the_function_that_has_such_a_parameter(ctx: JobContext):
    def greet(greeting, name="world"):
        return f"{greeting} {name}"

    assert ctx.get(ctx.run(greet, "hello", name="Bob")) == "hello Bob"
    assert ctx.get(ctx.run(greet, "hello", name=ctx.put("Al"))) == "hello Al"
    assert ctx.get(ctx.run(greet, "hello", "Al", name="greeting")) == "hello Al"
    assert ctx.get(ctx.run(lambda **keywords: keywords, a=1, name="odd")) == {"a": 1}
    assert ctx.get(ctx.run(pow, 2, 3, name="power")) == 8


def slotted_classes():
    """Return classes that no other process can import, so that they travel by value."""
    import collections
    import dataclasses
    import enum
    import typing

    @dataclasses.dataclass(slots=True)
    class Point:
        x: int
        y: int = 7

        def moved(self, by):
            return dataclasses.replace(self, x=self.x + by)

    @dataclasses.dataclass(slots=True, frozen=True, order=True)
    class Frozen:
        x: int

    class Private:
        __slots__ = ("__secret", "open")

        def __init__(self, x):
            self.__secret, self.open = x, [x]

        def secret(self):
            return self.__secret

        def __eq__(self, other):
            return type(self) is type(other) and (self.secret(), self.open) == (other.secret(), other.open)

    class Child(Private):
        __slots__ = ("more",)

    class Loose(Private):
        """Has a dictionary too."""

    class OneName:
        __slots__ = "__only"

        def __init__(self, x):
            self.__only = x

        def __eq__(self, other):
            return type(self) is type(other) and self.__only == other.__only

    class Pair(typing.NamedTuple):
        left: int
        right: int = 2

    class Colour(enum.Enum):
        RED = 1

    class Bits(enum.IntFlag):
        A = 1
        B = 2

    kind = typing.TypeVar("kind")

    class Box(typing.Generic[kind]):
        __slots__ = ("__weakref__", "value")

        def __init__(self, value):
            self.value = value

        def __eq__(self, other):
            return type(self) is type(other) and self.value == other.value

    class Outer:
        @dataclasses.dataclass(slots=True)
        class Inner:
            x: int

    child, loose = Child(3), Loose(4)
    child.more, loose.anything = 5, 6
    plain_tuple = collections.namedtuple("plain_tuple", "a b")
    return [
        *(Point(1), Frozen(1), Private(1), child, loose, OneName(1), Pair(1), plain_tuple(1, 2)),
        *(Colour.RED, Bits.A | Bits.B, Box[int](1), Box([Point(1)]), Outer.Inner(1)),
    ]


@pytest.mark.behaviour("T086")
@pytest.mark.parametrize("value", slotted_classes(), ids=lambda value: type(value).__name__)
def test_objects_with_slots_keep_their_class(ctx: JobContext, value):
    kind = type(value)
    for _ in range(2):
        back = ctx.get(ctx.run(lambda given: given, value))
        assert type(back) is kind
        assert back == value
        assert hasattr(back, "__dict__") is hasattr(value, "__dict__")
    assert ctx.get(ctx.put([value, value])) == [value, value]
    assert ctx.get(ctx.run(lambda: (kind, value))) == (kind, value)


@pytest.mark.behaviour("T086")
def test_objects_with_slots_are_made_and_changed_in_tasks(ctx: JobContext):
    point, *_ = slotted_classes()
    kind = type(point)
    assert ctx.get(ctx.run(kind, 3)) == kind(3)
    assert ctx.get([ctx.run(point.moved, n) for n in range(3)]) == [kind(1), kind(2), kind(3)]
    assert ctx.get(ctx.run(lambda: kind(1).moved(4))).y == 7

    def with_another_attribute(given):
        given.another = 1

    with pytest.raises(AttributeError):
        ctx.get(ctx.run(with_another_attribute, point))


@pytest.mark.behaviour("T138")
def test_higher_priority_starts_first_and_equal_ones_in_order(ctx: JobContext, gate, tmp_path):
    journal = Journal(str(tmp_path / "order"))
    started = [gate(), gate()]
    doors = [gate(), gate()]
    # Of a priority of their own: a worker that ends a task goes on with what waits for the like of it.
    first = TaskOptions(priority=1000)
    blockers = [
        ctx.create_task(door.announce_and_wait, (begun,), options=first)
        for door, begun in zip(doors, started, strict=True)
    ]
    for begun in started:
        begun.wait()
    wanted = [(-500, "c1"), (500, "a1"), (0, "b1"), (-500, "c2"), (500, "a2"), (0, "b2"), (500, "a3")]
    refs = [ctx.create_task(journal.add, (name,), options=TaskOptions(priority=priority)) for priority, name in wanted]
    assert ctx.wait(refs, num_returns=len(refs), timeout=1.0)[0] == []  # they are all known now
    doors[0].open_if_waited_for()  # one place for all of them
    ctx.get(refs)
    doors[1].open_if_waited_for()
    ctx.get(blockers)
    assert journal.lines() == ["a1", "a2", "a3", "b1", "b2", "c1", "c2"]


@pytest.mark.behaviour("T139")
def test_priority_outside_of_its_range_is_refused(ctx: JobContext):
    for least_or_most in (-1000, 1000):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Ray says that it has none
            assert ctx.get(ctx.create_task(add, (1, 2), options=TaskOptions(priority=least_or_most))) == 3
    for options in (TaskOptions, fray.ActorOptions):
        for wrong in (-1001, 1001, 2**40):
            with pytest.raises(ValueError, match=f"priority must be from -1000 to 1000, got {wrong}"):
                options(priority=wrong)
        for wrong in (True, 1.0, "high", None):
            with pytest.raises(TypeError, match="priority must be a whole number from -1000 to 1000, got "):
                options(priority=wrong)


@pytest.mark.behaviour("T092")
def test_tasks_know_their_job(ctx: JobContext):
    names = ["FRAY_JOB_ID", "FRAY_JOB_NAME", "FRAY_JOB_ATTEMPT", "FRAY_REPLICA_ID", "FRAY_REPLICA_COUNT"]
    job, *others = ctx.get(ctx.run(lambda: [os.environ.get(name) for name in names]))
    assert (job, others) == (os.environ["FRAY_JOB_ID"], ["conformance", "1", "0", "1"])


def cached_things():
    """Return functions that no other process can import, and that use what pickle refuses or knows by name only."""
    import contextvars
    import functools
    import struct
    import threading
    import weakref

    @functools.cache
    def fibonacci(n):
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    @functools.singledispatch
    def kind_of(thing):
        return "anything"

    @kind_of.register
    def _(thing: int):
        return "int"

    class Table:
        def __init__(self, size):
            self.size = size

        @functools.cached_property
        def double(self):
            return 2 * self.size

        @functools.lru_cache  # noqa: B019
        def times(self, factor):
            return self.size * factor

    pair = struct.Struct("<hh")
    here = threading.local()
    level = contextvars.ContextVar("level", default=3)
    unset = contextvars.ContextVar("unset")
    known = weakref.WeakKeyDictionary({Table: "table"})

    def uses(table, number):
        here.number = number
        assert unset.get(None) is None
        values = fibonacci(number), fibonacci.__wrapped__.__name__, kind_of(number), kind_of("text"), level.get()
        return (
            *values,
            pair.unpack(pair.pack(1, 2)),
            table.double,
            table.times(3),
            known.get(type(table)),
            here.number,
        )

    return fibonacci, uses, Table


@pytest.mark.behaviour("T087")
def test_what_pickle_refuses_travels_where_a_copy_means_the_same(ctx: JobContext) -> None:
    fibonacci, uses, table = cached_things()
    expected = (55, "fibonacci", "int", "anything", 3, (1, 2), 8, 12, "table", 10)
    assert uses(table(4), 10) == expected
    assert ctx.get([ctx.run(uses, table(4), 10) for _ in range(3)]) == [expected] * 3
    assert ctx.get(ctx.run(fibonacci, 400)) == fibonacci(400)
    assert list(ctx.map(fibonacci, range(5))) == [0, 1, 1, 2, 3]
    assert ctx.get(ctx.run(lambda: fibonacci))(10) == 55
    assert ctx.get(ctx.create_actor(table, 5).times(3)) == 15
