"""What a Ctrl-C that comes at the worst moment leaves of a context inside the process."""

from __future__ import annotations

import _thread
import asyncio
import os
import threading
from asyncio import events

import pytest
from fray import ActorOptions, LocalJobContext, RuntimeEnv, TaskOptions, ThreadContext
from fray.backend.local import environment
from fray.backend.local.environment import outside_event_loops
from fray.backend.local.mailbox import Mailbox
from fray.backend.local.results import Cell, Waits
from fray.backend.local.sync import SyncEngine

WITHIN = 60.0


class Counter:
    def __init__(self):
        self.count = 0

    def add(self):
        self.count += 1
        return self.count

    def items(self):
        yield self.add()

    def wait(self, begun, go):
        begun.set()
        return go.wait(WITHIN)


def interrupted(function=None):
    """Return a function that calls `function` and is interrupted then, the first time."""
    interrupts = [KeyboardInterrupt]

    def call(*args):
        result = None if function is None else function(*args)
        if interrupts:
            raise interrupts.pop()
        return result

    return call


@pytest.mark.parametrize("starts", [False, True])
def test_tasks_run_though_the_start_of_their_thread_was_interrupted(monkeypatch, starts):
    with ThreadContext(max_workers=1) as context:
        start = _thread.start_new_thread
        with monkeypatch.context() as patched:
            patched.setattr(_thread, "start_new_thread", interrupted(start if starts else None))
            with pytest.raises(KeyboardInterrupt):
                context.run(pow, 2, 3)
        assert context.get(context.run(pow, 2, 4), timeout=WITHIN) == 16


@pytest.mark.parametrize("starts", [False, True])
def test_calls_run_though_the_start_of_their_thread_was_interrupted(monkeypatch, starts):
    with ThreadContext(max_workers=1) as context:
        start = _thread.start_new_thread
        counter = context.create_actor(Counter, options=ActorOptions(max_concurrency=2))
        begun, go = threading.Event(), threading.Event()
        waits = counter.wait(begun, go)
        assert begun.wait(WITHIN), "the first thread is occupied"
        with monkeypatch.context() as patched:
            patched.setattr(_thread, "start_new_thread", interrupted(start if starts else None))
            with pytest.raises(KeyboardInterrupt):
                counter.add()
        assert context.get(counter.add(), timeout=WITHIN) == 1
        go.set()
        assert context.get(waits, timeout=WITHIN)


def test_an_actor_takes_calls_after_one_that_was_interrupted_as_it_began(monkeypatch):
    with LocalJobContext() as context:
        counter = context.create_actor(Counter)
        with monkeypatch.context() as patched:
            start = interrupted(Mailbox.start)
            patched.setattr(Mailbox, "start", lambda mailbox, call: start(mailbox, call))
            with pytest.raises(KeyboardInterrupt):
                counter.add()
        assert context.get(counter.add(), timeout=WITHIN) == 1


def test_an_actor_takes_calls_after_one_that_was_interrupted_before_it_began(monkeypatch):
    with LocalJobContext() as context:
        counter = context.create_actor(Counter)
        with monkeypatch.context() as patched:
            start = interrupted()
            patched.setattr(SyncEngine, "_start_call", lambda engine, call: start(engine, call))
            with pytest.raises(KeyboardInterrupt):
                counter.add()
        assert context.get(counter.add(), timeout=WITHIN) == 1


def test_an_actor_takes_calls_after_an_item_that_was_interrupted_as_it_began(monkeypatch):
    with LocalJobContext() as context:
        counter = context.create_actor(Counter)
        items = counter.items()
        with monkeypatch.context() as patched:
            resume = interrupted(Mailbox.resume)
            patched.setattr(Mailbox, "resume", lambda mailbox, call: resume(mailbox, call))
            with pytest.raises(KeyboardInterrupt):
                next(items)
        assert context.get(counter.add(), timeout=WITHIN) == 1
        assert context.get(next(items), timeout=WITHIN) == 2


def test_a_task_that_was_interrupted_as_it_began_leaves_no_variables(monkeypatch):
    monkeypatch.delenv("FRAY_TEST_VARIABLE", raising=False)
    set_variables = interrupted(environment._Layer.set)
    monkeypatch.setattr(environment._Layer, "set", lambda layer: set_variables(layer))
    options = TaskOptions(runtime_env=RuntimeEnv(env={"FRAY_TEST_VARIABLE": "1"}))
    with LocalJobContext() as context:
        with pytest.raises(KeyboardInterrupt):
            context.create_task(pow, (2, 3), options=options)
        assert "FRAY_TEST_VARIABLE" not in os.environ
        assert context.get(context.create_task(os.environ.get, ("FRAY_TEST_VARIABLE",), options=options)) == "1"
    assert not environment._layers()


def test_an_event_loop_runs_on_after_a_task_that_was_interrupted_as_it_began(monkeypatch):
    async def main():
        loop = asyncio.get_running_loop()
        with monkeypatch.context() as patched:
            patched.setattr(events, "_set_running_loop", interrupted(events._set_running_loop))
            with pytest.raises(KeyboardInterrupt), outside_event_loops():
                pass
        return asyncio.get_running_loop() is loop

    assert asyncio.run(main())


def test_a_wait_that_was_interrupted_as_it_began_belongs_to_no_circle(monkeypatch):
    class Cells(dict):
        def __setitem__(self, thread, cell):
            super().__setitem__(thread, cell)
            raise KeyboardInterrupt

    lock = threading.RLock()
    waits = Waits(lock)
    monkeypatch.setattr(waits, "_cells", Cells())
    with pytest.raises(KeyboardInterrupt), waits.of_this_thread(Cell(threading.Condition(lock), "result")):
        pass
    assert not waits._cells
