"""Order, sharing, names and life of actors, with many callers at once."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import fray
import pytest
from fray import ActorDiedError
from fray.backend.native import NativeJobContext

from tests.chaos import started
from tests.chaos.actors import AsyncRecorder, Coordinator, Echo, Parent, Recorder, increment_often, pass_gate
from tests.chaos.counter import Counter
from tests.chaos.harness import Driver, eventually, look_at, nodes
from tests.conformance.gates import Gate

THREADS = 8


def stop_node() -> None:
    started.stop()
    eventually(lambda: not nodes())


def test_calls_run_in_the_order_of_submission_from_eight_threads(ctx: NativeJobContext) -> None:
    recorder = ctx.create_actor(Recorder)
    order: list[tuple[int, int]] = []
    lock = threading.Lock()

    def call(thread: int) -> None:
        for number in range(500):
            with lock:  # what was submitted first is known, whichever thread did it
                order.append((thread, number))
                recorder.add((thread, number))

    threads = [threading.Thread(target=call, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ctx.get(recorder.all(), timeout=60) == order


def test_async_calls_begin_in_order_while_more_come_than_are_taken_at_once(ctx: NativeJobContext) -> None:
    recorder = ctx.create_actor(AsyncRecorder)
    slow_to_read = {"texts": [str(number) for number in range(60)]}
    for _ in range(20):
        ctx.get([recorder.add(number, slow_to_read) for number in range(900)], timeout=60)
        assert ctx.get(recorder.take()) == list(range(900))


def test_a_call_with_an_unready_argument_holds_back_those_behind_it(
    ctx: NativeJobContext, gate: Callable[[], Gate]
) -> None:
    recorder, closed = ctx.create_actor(Recorder), gate()
    ctx.get(recorder.add("first"))
    late = recorder.add(ctx.run(pass_gate, closed, "second"))
    behind = [recorder.add(number) for number in range(3)]
    assert ctx.wait([late, *behind], num_returns=1, timeout=0.2)[0] == []
    closed.open()
    ctx.get([late, *behind], timeout=30)
    assert ctx.get(recorder.all()) == ["first", "second", 0, 1, 2]


def test_increments_of_ten_processes_add_up(ctx: NativeJobContext) -> None:
    counter = ctx.create_actor(Counter)
    options = fray.TaskOptions(resources={"CPU": 0.1})
    done = [ctx.create_task(increment_often, (counter, 10), options=options) for _ in range(10)]
    ctx.get(done, timeout=60)
    assert ctx.get(counter.increment()) == 101


def test_an_actor_lets_a_hundred_callers_wait_and_still_answers(ctx: NativeJobContext) -> None:
    coordinator = ctx.create_actor(Coordinator)
    callers = [coordinator.enter() for _ in range(100)]
    eventually(lambda: ctx.get(coordinator.waiting()) == 100)
    assert ctx.wait(callers, timeout=0)[0] == []
    ctx.get(coordinator.let_go())
    assert ctx.get(callers, timeout=30) == ["out"] * 100


def test_an_actor_without_a_handle_ends_and_its_last_calls_are_still_answered(ctx: NativeJobContext) -> None:
    counter = ctx.create_actor(Counter)
    pid = ctx.get(counter.pid())
    calls = [counter.increment() for _ in range(50)]
    del counter
    assert ctx.get(calls) == list(range(1, 51))
    eventually(lambda: look_at(pid) is None)


def test_a_handle_inside_a_value_keeps_its_actor(ctx: NativeJobContext) -> None:
    counter = ctx.create_actor(Counter)
    ctx.get(counter.increment())
    kept = ctx.put({"here": [counter]})
    del counter
    assert ctx.get(ctx.get(kept)["here"][0].increment()) == 2


def test_an_actor_outlives_the_worker_that_created_it(ctx: NativeJobContext) -> None:
    parent = ctx.create_actor(Parent)
    counter = ctx.get(parent.child())
    os.kill(ctx.get(parent.pid()), signal.SIGKILL)
    with pytest.raises(ActorDiedError):
        ctx.get(parent.pid(), timeout=20)
    assert ctx.get(counter.increment(), timeout=20) == 2


def test_an_actor_that_keeps_its_own_handle_still_ends(ctx: NativeJobContext) -> None:
    selfish = ctx.create_actor(Selfish)
    pid = ctx.get(selfish.pid())
    del selfish
    eventually(lambda: look_at(pid) is None)


class Selfish:
    def __init__(self) -> None:
        self.me = fray.current_actor().handle

    def pid(self) -> int:
        return os.getpid()


def test_detached_actors_of_a_started_node_live_on_and_others_end_with_their_driver() -> None:
    started.start()
    with Driver(STAYS) as first:
        detached, ours = (int(number) for number in first.line().split())
        with Driver(COMES_BACK) as second:
            assert second.line() == "2"
            second.finish()
        first.say()
        assert first.finish().code == 0
    eventually(lambda: look_at(ours) is None)
    assert look_at(detached) is not None
    with Driver(COMES_BACK) as third:
        assert third.line() == "3"
        third.finish()
    stop_node()


STAYS = """
from tests.chaos.counter import Counter
ctx = fray.init(address="auto")
kept = ctx.create_actor(Counter, name="kept", lifetime="detached")
ours = ctx.create_actor(Counter, name="ours")
ctx.get(kept.increment())
print(ctx.get(kept.pid()), ctx.get(ours.pid()))
sys.stdin.readline()
"""
COMES_BACK = """
ctx = fray.init(address="auto")
print(ctx.get(ctx.get_actor("kept").increment()))
"""


def test_two_drivers_that_race_for_a_name_meet_one_actor() -> None:
    started.start()
    try:
        with Driver(RACES) as one, Driver(RACES) as other:
            for driver in (one, other):
                assert driver.line() == "ready"
            for driver in (one, other):
                driver.say("go")
            met = one.line(60)
            assert met == other.line(60)
            assert len(met.split()) == 20
            for driver in (one, other):
                driver.say("enough")
                assert driver.finish().code == 0
    finally:
        stop_node()


RACES = """
from tests.chaos.counter import Counter
ctx = fray.init(address="auto")
print("ready")
sys.stdin.readline()
kept = [ctx.create_actor(Counter, name=f"race-{number % 20}", get_if_exists=True) for number in range(1000)]
print(" ".join(sorted({handle._fray_link.actor_id for handle in kept})))
sys.stdin.readline()
"""


def test_status_says_what_actors_do_and_why_one_waits(ctx: NativeJobContext, gate: Callable[[], Gate]) -> None:
    closed = gate()
    counter = ctx.create_actor(Counter, name="total")
    waiting = ctx.create_actor(Counter, ctx.run(pass_gate, closed, 5))
    greedy = [ctx.create_actor(Counter, num_cpus=2) for _ in range(2)]
    pid = ctx.get(counter.pid())

    def actors() -> list[dict[str, Any]]:
        return json.loads(ctx._client.status())["actors"]

    def waits_for_cpus(row: dict[str, Any]) -> bool:
        return row["state"] == "pending" and "CPU 2" in row.get("reason", "")

    eventually(lambda: actors()[1].get("reason") and any(waits_for_cpus(row) for row in actors()[2:]))
    rows = actors()
    assert {"class": "Counter", "name": "total", "state": "alive", "pid": pid}.items() <= rows[0].items()
    assert rows[1]["reason"] == "waits for the arguments of its constructor"
    closed.open()
    assert ctx.get(waiting.increment(), timeout=20) == 6
    del greedy


def test_answers_of_an_event_loop_that_do_not_fit_into_the_socket_arrive(ctx: NativeJobContext) -> None:
    echo = ctx.create_actor(Echo)
    for _ in range(5):
        answers = ctx.get([echo.repeat(b"x", 8000) for _ in range(1000)], timeout=20)  # small enough to travel inline
        assert answers == [b"x" * 8000] * 1000


def test_answers_of_an_event_loop_do_not_wait_for_the_calls_behind_them(
    ctx: NativeJobContext, gate: Callable[[], Gate]
) -> None:
    door = gate()
    echo = ctx.create_actor(Echo)
    ctx.get(echo.repeat(b"x", 1))
    first, second, stuck = echo.repeat(b"x", 1), echo.repeat_at_once(b"y", 1), echo.pass_gate(door)
    behind = [echo.repeat(b"z", 1) for _ in range(100)]
    assert ctx.get([first, second], timeout=20) == [b"x", b"y"]
    door.open()
    ctx.get(stuck, timeout=20)
    assert ctx.get(behind, timeout=20) == [b"z"] * 100


LOOPS = """
class Echo:
    async def repeat(self, what):
        return what

class Modules:
    def has_asyncio(self):
        return "asyncio" in sys.modules

def new_worker_has_it():
    return ctx.get(ctx.create_actor(Modules, num_cpus=0).has_asyncio())

with NativeJobContext(cpus=2) as ctx:
    one = ctx.create_actor(Echo, num_cpus=0)
    ctx.get(one.repeat(b"x"))
    print(any(new_worker_has_it() for _ in range(5)))
    two = ctx.create_actor(Echo, num_cpus=0)
    ctx.get(two.repeat(b"x"))
    while not new_worker_has_it():
        pass
    print("shared")
"""


def test_workers_share_asyncio_once_a_second_actor_has_an_event_loop() -> None:
    # A program of its own: what the modules of the tests import, workers would share as well.
    with Driver(LOOPS) as driver:
        assert driver.line() == "False"
        assert driver.line() == "shared"
