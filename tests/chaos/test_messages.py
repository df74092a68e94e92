"""What is larger than most messages, and connections that end although both of their processes live."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import fray
import numpy
import pytest
from fray import (
    ActorDiedError,
    ActorOptions,
    Entrypoint,
    FrayError,
    InfeasibleError,
    JobRequest,
    JobStatus,
    LocalCluster,
    TaskOptions,
    WorkerDiedError,
)
from fray.backend.native import NativeJobContext

from tests.chaos.harness import PATIENCE
from tests.conformance.gates import Journal

MIB = 1 << 20
LARGE = 66 * MIB
"""More than the 64 MiB that used to be the most."""
PIECE = b"p" * 8000
PIECES = LARGE // len(PIECE)
ONCE = TaskOptions(max_retries=0)


def still_works(ctx: NativeJobContext) -> bool:
    return ctx.get(ctx.run(pow, 2, 3), timeout=PATIENCE) == 8


# ---- large messages


def large_function() -> Callable[[int], int]:
    captured = bytes(LARGE)

    def measure(i: int) -> int:
        return len(captured) + i

    return measure


class Model:
    def __init__(self) -> None:
        self.weights = numpy.ones(LARGE // 8)

    def predict(self, x: float) -> float:
        self.weights[0] += 1
        return float(self.weights[0]) * x


def count(*values: Any) -> int:
    return len(values)


def pieces() -> list[bytes]:
    return [PIECE] * PIECES


class Counter:
    def __init__(self, *values: Any) -> None:
        self.made_of = len(values)

    def count(self, *values: Any) -> int:
        return self.made_of + len(values)

    def pieces(self) -> list[bytes]:
        return pieces()


@pytest.mark.filterwarnings("ignore:.*when pickled")
def test_a_function_of_more_than_64_mib_runs_and_is_retried(ctx: NativeJobContext, journal: Journal) -> None:
    captured = bytes(LARGE)

    def die_once() -> int:
        if journal.add("run") == 0:
            os._exit(3)
        return len(captured)

    assert ctx.get(ctx.run(die_once), timeout=PATIENCE) == LARGE
    assert still_works(ctx)


@pytest.mark.filterwarnings("ignore:.*when pickled")
def test_a_method_of_a_large_object_may_change_its_copy_of_it(ctx: NativeJobContext) -> None:
    assert ctx.get(ctx.run(Model().predict, 3.0), timeout=PATIENCE) == 6.0
    assert still_works(ctx)


def test_many_small_arguments_may_be_large_together(ctx: NativeJobContext) -> None:
    assert ctx.get(ctx.run(count, *pieces()), timeout=PATIENCE) == PIECES
    pieces_that_are_refs = [ctx.put(PIECE)] * PIECES
    assert ctx.get(ctx.run(count, *pieces_that_are_refs), timeout=PATIENCE) == PIECES


def test_many_small_results_may_be_large_together(ctx: NativeJobContext) -> None:
    refs = ctx.create_task(pieces, options=TaskOptions(num_returns=PIECES))
    assert len(refs) == PIECES
    assert ctx.get(refs[-1], timeout=PATIENCE) == PIECE
    assert still_works(ctx)


@pytest.mark.filterwarnings("ignore:.*when pickled")
def test_actors_take_large_classes_constructors_calls_and_results(ctx: NativeJobContext) -> None:
    captured = bytes(LARGE)

    class Holder:
        def size(self) -> int:
            return len(captured)

    holder = ctx.create_actor(Holder)
    assert ctx.get(holder.size(), timeout=PATIENCE) == LARGE
    del holder
    counter = ctx.create_actor(Counter, *pieces())
    assert ctx.get(counter.count(*pieces()), timeout=PATIENCE) == 2 * PIECES
    refs = counter.pieces.options(num_returns=PIECES)()
    assert ctx.get(refs[-1], timeout=PATIENCE) == PIECE


class TooMuch(Exception):
    pass


def test_a_large_chain_of_causes_arrives(ctx: NativeJobContext) -> None:
    def fail() -> None:
        error: Exception | None = None
        for number in range(9):
            made = TooMuch(number, bytes(LARGE // 9))
            made.__cause__ = error
            error = made
        assert error is not None
        raise error

    with pytest.raises(TooMuch):
        ctx.get(ctx.create_task(fail, options=ONCE), timeout=PATIENCE)
    assert still_works(ctx)


def test_the_call_of_a_job_may_be_large(tmp_path: Path) -> None:
    captured = bytes(LARGE)

    def write() -> None:
        (tmp_path / "size").write_text(str(len(captured)))

    fray.init(cpus=1)
    with LocalCluster() as cluster:
        info = cluster.wait(cluster.launch(JobRequest("large", Entrypoint.from_callable(write))), timeout=2 * PATIENCE)
    assert info.status is JobStatus.SUCCEEDED, info
    assert (tmp_path / "size").read_text() == str(LARGE)


def test_a_list_of_millions_of_refs_can_travel_inside_an_object(ctx: NativeJobContext) -> None:
    refs = [ctx.put(1)] * (LARGE // 16)
    assert ctx.get(ctx.run(len, ctx.put(refs)), timeout=PATIENCE) == len(refs)
    assert still_works(ctx)


@pytest.mark.filterwarnings("ignore:.*when pickled")
def test_what_is_larger_than_the_store_is_refused_before_it_is_sent(engine: Callable[..., NativeJobContext]) -> None:
    ctx = engine(cpus=1, store_memory=65 * MIB)
    kept = ctx.put(numpy.ones(1000))
    amounts = r"6\d\.\d MiB, and at most 65\.0 MiB"
    with pytest.raises(InfeasibleError, match=amounts):
        ctx.run(large_function(), 1)
    with pytest.raises(InfeasibleError, match=amounts):
        ctx.run(count, *pieces())
    counter = ctx.create_actor(Counter)
    with pytest.raises(InfeasibleError, match=amounts):
        counter.count(*pieces())
    with pytest.raises(InfeasibleError, match=amounts):
        ctx.create_actor(Counter, *pieces())
    with pytest.raises(InfeasibleError, match=amounts):
        ctx.get(ctx.run(count, *[ctx.put(PIECE)] * PIECES), timeout=PATIENCE)
    with pytest.raises(InfeasibleError, match=amounts):
        ctx.get(ctx.create_task(pieces, options=TaskOptions(num_returns=PIECES))[0], timeout=PATIENCE)
    with pytest.raises(InfeasibleError, match=amounts):
        ctx.get(counter.pieces.options(num_returns=PIECES)()[0], timeout=PATIENCE)
    assert ctx.get(counter.count(1), timeout=PATIENCE) == 1
    assert ctx.get(kept).sum() == 1000
    assert still_works(ctx)


# ---- descriptors that tasks close


def close_from(first: int, behind: int = 300) -> str:
    os.closerange(first, behind)
    return "done"


def ended(ctx: NativeJobContext, ref: Any) -> None:
    """The task has a result, or its worker is said to have died."""
    with suppress(WorkerDiedError):
        assert ctx.get(ref, timeout=PATIENCE) == "done"


@pytest.mark.parametrize("first", range(3, 12))
def test_a_task_may_close_descriptors_that_it_does_not_own(ctx: NativeJobContext, first: int) -> None:
    ctx.get(ctx.run(pow, 2, 2), timeout=PATIENCE)
    ended(ctx, ctx.create_task(close_from, (first,), options=ONCE))
    ended(ctx, ctx.create_task(close_from, (first, first + 1), options=ONCE))
    assert ctx.get([ctx.run(pow, number, 2) for number in range(20)], timeout=PATIENCE) == [n * n for n in range(20)]


def test_what_waits_behind_a_task_that_closes_descriptors_runs(engine: Callable[..., NativeJobContext]) -> None:
    ctx = engine(cpus=1)
    for _ in range(50):
        ctx.get(ctx.run(pow, 2, 2), timeout=PATIENCE)
    first = ctx.create_task(close_from, (3,), options=ONCE)
    later = [ctx.run(pow, number, 2) for number in range(200)]
    assert ctx.get(later, timeout=PATIENCE) == [number * number for number in range(200)]
    with pytest.raises(WorkerDiedError):
        ctx.get(first, timeout=PATIENCE)


def test_a_task_that_has_lost_its_connection_is_retried(ctx: NativeJobContext, journal: Journal) -> None:
    def close_once() -> str:
        if journal.add("run") == 0:
            os.closerange(3, 300)
        return "done"

    assert ctx.get(ctx.run(close_once), timeout=PATIENCE) == "done"


def test_a_worker_that_lives_on_without_its_connection_is_ended(ctx: NativeJobContext) -> None:
    def close_and_stay() -> None:
        for descriptor in range(5, 300):
            with suppress(OSError):
                os.close(descriptor)
        threading.Event().wait()

    with pytest.raises(WorkerDiedError, match="descriptors"):
        ctx.get(ctx.create_task(close_and_stay, options=ONCE), timeout=PATIENCE)
    assert still_works(ctx)


class Rude:
    def close(self, first: int, behind: int = 300) -> str:
        return close_from(first, behind)

    def echo(self, value: int) -> int:
        return value


class RudeOnLoop:
    async def close(self, first: int, behind: int = 300) -> str:
        return close_from(first, behind)

    async def echo(self, value: int) -> int:
        return value


@pytest.mark.parametrize("cls", [Rude, RudeOnLoop])
@pytest.mark.parametrize("first", range(3, 16, 2))
def test_an_actor_that_closes_descriptors_of_its_process_is_answered_or_dies(
    ctx: NativeJobContext, cls: type[Any], first: int
) -> None:
    for behind in (300, first + 1):
        actor = ctx.create_actor(cls)
        assert ctx.get(actor.echo(1), timeout=PATIENCE) == 1
        calls = [actor.close(first, behind), *(actor.echo(number) for number in range(20))]
        for call in calls:
            with suppress(ActorDiedError):
                ctx.get(call, timeout=PATIENCE)
        with suppress(ActorDiedError):
            assert ctx.get(actor.echo(2), timeout=PATIENCE) == 2
    assert still_works(ctx)


def test_an_actor_that_may_restart_serves_after_it_closed_its_descriptors(ctx: NativeJobContext) -> None:
    actor = ctx.create_actor(Rude, options=ActorOptions(max_restarts=-1))
    assert ctx.get(actor.echo(1), timeout=PATIENCE) == 1
    with pytest.raises(FrayError):
        ctx.get(actor.close(3), timeout=PATIENCE)
    assert ctx.get(actor.echo(2), timeout=PATIENCE) == 2
