"""Actors: the rows 12 to 22 of Ray's own benchmark, and how fast actors start, start again and come by the hundred.

Ray's benchmark takes half of the cores for the servers of its n:n rows, which is one on two cores.
"""

from __future__ import annotations

import os
import signal
from functools import partial
from typing import Any

from benchmarks.actors import AsyncServer, Client, Server, call_in_turn, method
from benchmarks.bench import Bench
from benchmarks.engines import CPUS
from benchmarks.groups.limits import pickled_calls, socket_pingpong
from benchmarks.measurement import Measurement, percentile
from benchmarks.row import Round, Row, Workload
from benchmarks.target import AnyOf, AtLeast, AtMost, Target, TimesPeer
from benchmarks.timing import rate_of, seconds_of, synchronous_calls

IN_FLIGHT = 1000
SERVERS = CPUS // 2
TASKS = 4


def one_to_one_sync(bench: Bench, server: type[Any] = Server) -> Round:
    """One call at a time."""
    engine = bench.engine()
    call = method(bench.peer, engine.actor(server), "small_value")
    return lambda: synchronous_calls(call, engine.get, (), bench.seconds)


def one_to_one_async(bench: Bench, server: type[Any] = Server, **options: Any) -> Round:
    """1000 calls, then one get of all results."""
    engine = bench.engine()
    call, get = method(bench.peer, engine.actor(server, **options), "small_value"), engine.get

    def batch() -> None:
        get([call() for _ in range(IN_FLIGHT)])

    return lambda: Measurement(IN_FLIGHT * rate_of(batch, (), bench.seconds))


def one_to_one_with_args(bench: Bench) -> Round:
    """The same with an int as the argument."""
    engine = bench.engine()
    call, get = method(bench.peer, engine.actor(AsyncServer), "small_value_arg"), engine.get

    def batch() -> None:
        get([call(number) for number in range(IN_FLIGHT)])

    return lambda: Measurement(IN_FLIGHT * rate_of(batch, (), bench.seconds))


def one_to_many(bench: Bench, server: type[Any] = Server) -> Round:
    """One actor calls others, 5000 times each."""
    engine, count = bench.engine(), bench.size(5000, 50)
    servers = [engine.actor(server) for _ in range(SERVERS)]
    call = method(bench.peer, engine.actor(Client, bench.peer), "call")
    return lambda: Measurement(count * SERVERS * rate_of(lambda: engine.get(call(servers, count)), (), bench.seconds))


def many_to_many(bench: Bench, server: type[Any] = Server) -> Round:
    """Four tasks call actors, 5000 times each."""
    engine, count = bench.engine(), bench.size(5000, 50)
    servers = [engine.actor(server) for _ in range(SERVERS)]
    submit = engine.bind(call_in_turn)

    def batch() -> None:
        engine.get([submit(bench.peer, servers, count) for _ in range(TASKS)])

    return lambda: Measurement(TASKS * count * rate_of(batch, (), bench.seconds))


def many_to_many_with_refs(bench: Bench) -> Round:
    """Actors call an actor each, 1000 times with the ref of one value."""
    engine, count = bench.engine(), bench.size(1000, 50)
    servers = [engine.actor(Server) for _ in range(SERVERS)]
    calls = [method(bench.peer, engine.actor(Client, bench.peer), "call_with_ref") for _ in range(SERVERS)]

    def batch() -> None:
        engine.get([call(server, count) for call, server in zip(calls, servers, strict=True)])

    return lambda: Measurement(SERVERS * count * rate_of(batch, (), bench.seconds))


# ---- lives of actors


def actor_start(bench: Bench, server: type[Any] = Server) -> Round:
    """Milliseconds from the creation of an actor to its first answer; others have started before."""
    engine = bench.engine()
    starts = bench.size(10, 2)

    def start_one() -> float:
        made: list[Any] = []

        def start() -> None:
            made.append(engine.actor(server))
            engine.get(method(bench.peer, made[0], "small_value")())

        seconds = seconds_of(start)
        engine.kill(made[0])
        return seconds * 1e3

    def one_round() -> Measurement:
        milliseconds = [start_one() for _ in range(starts)]
        return Measurement(percentile(milliseconds, 0.5), {"largest_ms": max(milliseconds)})

    return one_round


def actor_restart(bench: Bench) -> Round:
    """Milliseconds from SIGKILL of an actor's process to the next answer, which the new process gives.

    Each kill has an actor of its own: one that dies again and again is started later each time.
    """
    engine = bench.engine()
    kills = bench.size(5, 2)

    def next_answer(pid: Any, before: int) -> None:
        while engine.get(pid()) == before:
            pass  # the signal is on its way

    def kill_one() -> float:
        actor = engine.actor(Server, max_restarts=-1, max_task_retries=-1)
        pid = method(bench.peer, actor, "pid")
        before = engine.get(pid())
        if before == os.getpid():
            raise RuntimeError("the actor lives in the driver; there is no process to kill")
        os.kill(before, signal.SIGKILL)
        seconds = seconds_of(next_answer, pid, before)
        engine.kill(actor)
        return seconds * 1e3

    def one_round() -> Measurement:
        milliseconds = [kill_one() for _ in range(kills)]
        return Measurement(percentile(milliseconds, 0.5), {"largest_ms": max(milliseconds)})

    return one_round


def create_100_actors(bench: Bench) -> Round:
    """Seconds until 100 new actors have answered, one call each."""
    engine = bench.engine()
    count = bench.size(100, 2)

    def one_round() -> Measurement:
        actors: list[Any] = []

        def create() -> None:
            actors.extend(engine.actor(Server) for _ in range(count))
            engine.get([method(bench.peer, actor, "small_value")() for actor in actors])

        seconds = seconds_of(create)
        for actor in actors:
            engine.kill(actor)
        return Measurement(seconds)

    return one_round


_SYNC: tuple[Target, ...] = (AnyOf(TimesPeer(60, "ray"), AtLeast(50_000)),)
_ASYNC: tuple[Target, ...] = (AnyOf(TimesPeer(120, "ray"), AtLeast(300_000)),)


def _calls(name: str, payload: str, workload: Workload) -> Row:
    return Row(name, "1/s", "higher", payload, workload, limit=pickled_calls, targets=_ASYNC, timeout_seconds=120)


def _calls_sync(name: str, payload: str, workload: Workload) -> Row:
    return Row(name, "1/s", "higher", payload, workload, limit=socket_pingpong, targets=_SYNC)


ROWS = (
    _calls_sync("actor_sync", "get(actor.small_value())", one_to_one_sync),
    _calls("actor_async", "1000 x actor.small_value(), then one get", one_to_one_async),
    _calls("actor_concurrent", "actor_async with max_concurrency=16", partial(one_to_one_async, max_concurrency=16)),
    _calls("actor_1n", "an actor calls another, 5000 times", one_to_many),
    _calls("actor_nn", "4 tasks call an actor, 5000 times each", many_to_many),
    _calls("actor_nn_arg", "an actor calls another, 1000 times with a ref", many_to_many_with_refs),
    _calls_sync(
        "actor_async_methods_sync", "actor_sync of an async def method", partial(one_to_one_sync, server=AsyncServer)
    ),
    _calls("actor_async_methods", "actor_async of async def methods", partial(one_to_one_async, server=AsyncServer)),
    _calls("actor_async_methods_arg", "the same with an int as argument", one_to_one_with_args),
    _calls("actor_async_methods_1n", "actor_1n of async def methods", partial(one_to_many, server=AsyncServer)),
    _calls("actor_async_methods_nn", "actor_nn of async def methods", partial(many_to_many, server=AsyncServer)),
    Row(
        "actor_start",
        "ms",
        "lower",
        "from create_actor to the first answer, warm",
        actor_start,
        targets=(AtMost(10),),
        timeout_seconds=240,
    ),
    Row(
        "actor_start_async",
        "ms",
        "lower",
        "actor_start of a class with async def methods",
        partial(actor_start, server=AsyncServer),
        targets=(AtMost(10),),
        timeout_seconds=240,
    ),
    Row(
        "actor_restart",
        "ms",
        "lower",
        "from SIGKILL of an actor to its next answer",
        actor_restart,
        targets=(AtMost(50),),
        timeout_seconds=240,
    ),
    Row(
        "create_100_actors",
        "s",
        "lower",
        "100 x create_actor, then an answer of each",
        create_100_actors,
        targets=(AtMost(1),),
        rounds={"ray": 1},
        warm=False,
        timeout_seconds=600,
    ),
)
