"""Mistakes get a clear error on the line that has them, and lose nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import fray
import pytest
from fray import TaskOptions
from fray.backend.native import NativeJobContext


@pytest.fixture(autouse=True)
def nothing_chosen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Start and end without a current context and without settings in the environment."""
    monkeypatch.delenv("FRAY_CLUSTER_SPEC", raising=False)
    monkeypatch.delenv("FRAY_NODE", raising=False)
    fray.set_job_context(None)
    yield
    fray.shutdown()
    fray.set_job_context(None)


@pytest.fixture(scope="module")
def ctx() -> Iterator[NativeJobContext]:
    with NativeJobContext(cpus=2, resources={"TPU": 4}) as context:
        yield context


def test_more_cpus_than_the_node_has_are_refused_with_both_numbers(ctx: NativeJobContext) -> None:
    with pytest.raises(fray.InfeasibleError, match=r"(?s)CPU.*3.*2|3.*CPU.*2"):
        ctx.create_task(pow, (2, 3), options=TaskOptions(resources={"CPU": 3}))


def test_more_of_a_custom_resource_than_declared_is_refused(ctx: NativeJobContext) -> None:
    with pytest.raises(fray.InfeasibleError, match=r"(?s)TPU.*5.*4|5.*TPU.*4"):
        ctx.create_task(pow, (2, 3), options=TaskOptions(resources={"TPU": 5}))


def test_an_undeclared_resource_names_those_that_the_node_has(ctx: NativeJobContext) -> None:
    with pytest.raises(fray.InfeasibleError, match=r"(?s)WIDGET.*TPU"):
        ctx.create_task(pow, (2, 3), options=TaskOptions(resources={"WIDGET": 1}))


def test_more_memory_than_the_machine_has_is_refused(ctx: NativeJobContext) -> None:
    with pytest.raises(fray.InfeasibleError, match="memory"):
        ctx.create_task(pow, (2, 3), options=TaskOptions(resources={"memory": 1 << 60}))


def test_a_refused_task_does_not_consume_anything(ctx: NativeJobContext) -> None:
    for _ in range(20):
        with pytest.raises(fray.InfeasibleError):
            ctx.create_task(pow, (2, 3), options=TaskOptions(resources={"CPU": 3}))
    refs = [ctx.create_task(pow, (2, n), options=TaskOptions(resources={"CPU": 2, "TPU": 4})) for n in range(5)]
    assert ctx.get(refs, timeout=20) == [2**n for n in range(5)]


@pytest.mark.parametrize(
    "resources", [{"CPU": 0}, {"CPU": 0.25}, {"TPU": 0.5}, {"memory": 1 << 20}, {"CPU": 0, "TPU": 4}]
)
def test_zero_and_fractions_are_fine(ctx: NativeJobContext, resources: dict[str, float]) -> None:
    assert ctx.get(ctx.create_task(pow, (2, 3), options=TaskOptions(resources=resources)), timeout=20) == 8


# ---- refs of another engine

USES: dict[str, Callable[[NativeJobContext, Any], object]] = {
    "get": lambda ctx, ref: ctx.get(ref),
    "get with timeout": lambda ctx, ref: ctx.get(ref, timeout=1),
    "get of a list": lambda ctx, ref: ctx.get([ctx.put(1), ref]),
    "get of a list with timeout": lambda ctx, ref: ctx.get([ctx.put(1), ref], timeout=1),
    "wait": lambda ctx, ref: ctx.wait([ref]),
    "wait with timeout": lambda ctx, ref: ctx.wait([ref], timeout=1),
    "cancel": lambda ctx, ref: ctx.cancel(ref),
    "as_completed": lambda ctx, ref: list(ctx.as_completed([ref])),
    "argument of run": lambda ctx, ref: ctx.run(pow, ref, 2),
    "argument of create_task": lambda ctx, ref: ctx.create_task(pow, (ref, 2)),
    "keyword argument": lambda ctx, ref: ctx.run(pow, 2, exp=ref),
    "inside an argument": lambda ctx, ref: ctx.run(len, [ref]),
    "inside a put value": lambda ctx, ref: ctx.put([ref]),
}


@pytest.mark.parametrize("use", USES)
def test_a_ref_of_another_engine_is_refused_everywhere(ctx: NativeJobContext, use: str) -> None:
    with NativeJobContext(cpus=1) as other:
        stranger = other.put(1)
        with pytest.raises(fray.ForeignRefError):
            USES[use](ctx, stranger)
        assert other.get(stranger) == 1
    assert ctx.get(ctx.run(pow, 2, 3), timeout=20) == 8


def test_a_ref_of_an_in_process_context_is_refused(ctx: NativeJobContext) -> None:
    stranger: Any = fray.LocalJobContext().put(1)
    for use in ("get", "wait", "argument of run", "cancel"):
        with pytest.raises(fray.ForeignRefError):
            USES[use](ctx, stranger)


# ---- wrong kinds of arguments, on the fast paths too


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda ctx, ref: ctx.get([ref, 5]), TypeError),
        (lambda ctx, ref: ctx.get([5, ref]), TypeError),
        (lambda ctx, ref: ctx.get([ref, None], timeout=1), TypeError),
        (lambda ctx, ref: ctx.wait([ref, ref]), ValueError),
        (lambda ctx, ref: ctx.wait([ref, ref], timeout=1), ValueError),
        (lambda ctx, ref: ctx.wait([ref], num_returns=0), ValueError),
        (lambda ctx, ref: ctx.wait([ref], num_returns=2), ValueError),
        (lambda ctx, ref: ctx.wait([ref], num_returns=True), TypeError),
        (lambda ctx, ref: ctx.wait([ref], num_returns=1.0), TypeError),
        (lambda ctx, ref: ctx.wait([ref, 5]), TypeError),
        (lambda ctx, ref: ctx.wait(ref), TypeError),
        (lambda ctx, ref: ctx.wait([ref], timeout=-1), ValueError),
        (lambda ctx, ref: ctx.wait([ref], timeout=float("nan")), ValueError),
        (lambda ctx, ref: ctx.get(ref, timeout=-1), ValueError),
        (lambda ctx, ref: ctx.get(ref, timeout=float("nan")), ValueError),
        (lambda ctx, ref: ctx.put(ref), TypeError),
        (lambda ctx, ref: ctx.run(5), TypeError),
        (lambda ctx, ref: ctx.create_task(pow, 5), TypeError),
        (lambda ctx, ref: ctx.create_task(pow, (1, 2), options={"name": "x"}), TypeError),
        (lambda ctx, ref: ctx.cancel(5), TypeError),
        (lambda ctx, ref: next(ref), TypeError),
    ],
)
def test_a_wrong_argument_is_refused(
    ctx: NativeJobContext, call: Callable[[Any, Any], object], error: type[Exception]
) -> None:
    ref = ctx.put("kept")
    with pytest.raises(error):
        call(ctx, ref)
    assert ctx.get(ref) == "kept"


def test_an_argument_that_cannot_be_pickled_is_named_with_its_path(ctx: NativeJobContext) -> None:
    import threading

    with pytest.raises(fray.SerializationError, match="lock"):
        ctx.run(len, {"settings": [1, {"lock": threading.Lock()}]})
    with pytest.raises(fray.SerializationError):
        ctx.put(threading.Lock())


# ---- actors


class Tally:
    """Counts what it is given."""

    def __init__(self, start: int = 0) -> None:
        self.total = start

    def add(self, amount: Any = 1) -> int:
        self.total += 1
        return self.total


HANDLE_USES: dict[str, Callable[[NativeJobContext, Any], object]] = {
    "kill": lambda ctx, handle: ctx.kill(handle),
    "argument of a task": lambda ctx, handle: ctx.run(repr, handle),
    "inside an argument of a task": lambda ctx, handle: ctx.run(len, [handle]),
    "method as an argument": lambda ctx, handle: ctx.run(repr, handle.add),
    "argument of a call": lambda ctx, handle: ctx.create_actor(Tally).add(handle),
    "inside an argument of a call": lambda ctx, handle: ctx.create_actor(Tally).add({"actor": handle}),
    "argument of a constructor": lambda ctx, handle: ctx.create_actor(Tally, handle),
    "put": lambda ctx, handle: ctx.put(handle),
}


@pytest.mark.parametrize("use", HANDLE_USES)
def test_a_handle_of_another_engine_is_refused_everywhere(ctx: NativeJobContext, use: str) -> None:
    with NativeJobContext(cpus=1) as other:
        stranger = other.create_actor(Tally)
        with pytest.raises(fray.ForeignRefError, match="another"):
            HANDLE_USES[use](ctx, stranger)
        assert other.get(stranger.add(), timeout=20) == 1
    mine = ctx.create_actor(Tally)
    assert ctx.get(mine.add(), timeout=20) == 1


def test_the_longest_name_of_several_bytes_a_character_is_a_name(ctx: NativeJobContext) -> None:
    name = "ä" * 127 + "n"
    tally = ctx.create_actor(Tally, options=fray.ActorOptions(name=name, namespace=name))
    assert ctx.get_actor(name, namespace=name) == tally
    assert {"name": name, "namespace": name} in ctx.list_named_actors(all_namespaces=True)
    ctx.kill(tally)


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "\x1b[31m", "n" * 256])
def test_what_is_no_name_is_refused_wherever_names_are_given(ctx: NativeJobContext, name: str) -> None:
    for use in (
        lambda: ctx.create_actor(Tally, name=name),
        lambda: ctx.create_actor(Tally, options=fray.ActorOptions(name="n", namespace=name)),
        lambda: ctx.get_actor(name),
        lambda: ctx.get_actor("n", namespace=name),
        lambda: NativeJobContext(cpus=1, namespace=name),
    ):
        with pytest.raises(ValueError, match=r"empty|blank|unprintable|255"):
            use()
    assert ctx.list_named_actors() == []


def test_an_actor_that_can_never_run_is_refused_and_leaves_its_name(ctx: NativeJobContext) -> None:
    for resources in ({"CPU": 3}, {"WIDGET": 1}):
        with pytest.raises(fray.InfeasibleError, match="this node has"):
            ctx.create_actor(Tally, options=fray.ActorOptions(name="big", resources=resources))
    tally = ctx.create_actor(Tally, name="big")
    assert ctx.get(tally.add(), timeout=20) == 1
    ctx.kill(tally)


@pytest.mark.parametrize("concurrency", [0, -1, 1.5, True])
def test_a_concurrency_that_is_no_number_of_calls_is_refused(ctx: NativeJobContext, concurrency: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="max_concurrency"):
        ctx.create_actor(Tally, options=fray.ActorOptions(max_concurrency=concurrency))


def test_a_call_whose_argument_cannot_be_pickled_never_was(ctx: NativeJobContext) -> None:
    import threading

    tally = ctx.create_actor(Tally)
    first = tally.add()
    with pytest.raises(fray.SerializationError, match="lock"):
        tally.add({"lock": threading.Lock()})
    assert ctx.get([first, tally.add()], timeout=20) == [1, 2]
    with pytest.raises(fray.SerializationError, match="lock"):
        ctx.create_actor(Tally, threading.Lock())


def test_a_call_on_an_actor_that_ended_is_refused_by_whoever_makes_it(ctx: NativeJobContext) -> None:
    tally = ctx.create_actor(Tally)
    ctx.kill(tally)
    for ref in (tally.add(), ctx.run(lambda handle: handle.add().result(), tally)):
        with pytest.raises(fray.ActorDiedError, match="killed") as caught:
            ctx.get(ref, timeout=20)
        assert caught.value.executed == "no"


# ---- a context after its end


@pytest.mark.parametrize("use", ["run", "create_task", "put", "get", "get timeout", "wait", "cancel", "empty", "map"])
def test_a_context_that_was_closed_says_so(use: str) -> None:
    context = NativeJobContext(cpus=1)
    ref = context.put(1)
    context.close()
    context.close()
    uses: dict[str, Callable[[], object]] = {
        "run": lambda: context.run(pow, 2, 3),
        "create_task": lambda: context.create_task(pow, (2, 3)),
        "put": lambda: context.put(1),
        "get": lambda: context.get(ref),
        "get timeout": lambda: context.get(ref, timeout=1),
        "wait": lambda: context.wait([ref]),
        "cancel": lambda: context.cancel(ref),
        "empty": lambda: context.empty(10, "int64"),
        "map": lambda: list(context.map(abs, [1])),
    }
    with pytest.raises(fray.ContextClosedError):
        uses[use]()


def test_a_get_in_another_thread_ends_when_the_context_is_closed() -> None:
    import threading
    import time

    context = NativeJobContext(cpus=1)
    hanging = context.run(time.sleep, 3600)
    caught: list[BaseException] = []
    inside = threading.Event()

    def wait() -> None:
        inside.set()
        try:
            context.get(hanging)
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    inside.wait()
    context.close()
    thread.join(20)
    assert not thread.is_alive()
    assert isinstance(caught[0], (fray.ContextClosedError, fray.TaskCancelledError))


# ---- init


def test_init_again_with_the_same_settings_is_the_same_context() -> None:
    first = fray.init(cpus=2, max_workers=8)
    assert fray.init(cpus=2, max_workers=8) is first
    assert fray.init() is first
    assert fray.get_job_context() is first


@pytest.mark.parametrize(
    "other", [{"cpus": 1}, {"max_workers": 9}, {"resources": {"TPU": 1}}, {"store_memory": "1GiB"}]
)
def test_a_second_init_with_other_settings_names_what_differs(other: dict[str, Any]) -> None:
    first = fray.init(cpus=2, max_workers=8)
    with pytest.raises(fray.AlreadyInitializedError, match=next(iter(other))):
        fray.init(**other)
    assert first.get(first.run(pow, 2, 3), timeout=20) == 8


def test_init_after_a_shutdown_may_have_other_settings() -> None:
    fray.init(cpus=2)
    fray.shutdown()
    second = fray.init(cpus=1)
    assert second.get(second.run(pow, 2, 3), timeout=20) == 8


@pytest.mark.parametrize(
    "settings", [{"cpus": 0}, {"cpus": -1}, {"cpus": float("nan")}, {"memory": -5}, {"max_workers": 0}]
)
def test_settings_that_make_no_sense_are_refused_before_anything_starts(settings: dict[str, Any]) -> None:
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises((ValueError, TypeError)):
        fray.init(**settings)
    assert set(os.listdir("/proc/self/fd")) == before


def test_a_spill_folder_that_cannot_be_used_is_named_when_it_is_given() -> None:
    with pytest.raises((fray.FrayError, OSError, ValueError), match="no/such/folder"):
        NativeJobContext(cpus=1, spill_dir="/proc/no/such/folder")
    with pytest.raises(ValueError, match="UTF-8"):
        NativeJobContext(cpus=1, spill_dir=os.fsdecode(b"/tmp/\xff"))
