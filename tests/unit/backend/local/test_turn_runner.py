"""Actors of `LocalJobContext`: calls of calls, and circles among them."""

from __future__ import annotations

import threading

import fray
import pytest
from fray import DeadlockError, LocalJobContext


class Node:
    def __init__(self, name, log):
        self.name = name
        self.log = log

    def visit(self, *others):
        """Call the next one, which calls the one after it, and so on."""
        self.log.append(f"{self.name} in")
        ref = others[0].visit(*others[1:]) if others else None
        self.log.append(f"{self.name} out")
        return [ref]

    def visit_and_wait(self, *others):
        if others:
            fray.get_job_context().get(others[0].visit_and_wait(*others[1:]))
        return self.name

    def items(self, n):
        yield from range(n)

    def read_own_items(self):
        return fray.current_actor().handle.items(3).result()

    def first_of(self, streams):
        return next(streams[0]).result()


@pytest.fixture
def ctx():
    with LocalJobContext() as context:
        yield context


def test_call_of_the_own_actor_runs_after_the_one_that_made_it(ctx):
    log = []
    a = ctx.create_actor(Node, "a", log)
    ctx.get(a.visit(a, a))
    assert log == ["a in", "a out"] * 3


def test_call_back_of_an_actor_further_up_runs_when_that_is_free(ctx):
    log = []
    a, b = ctx.create_actor(Node, "a", log), ctx.create_actor(Node, "b", log)
    ctx.get(a.visit(b, a))
    assert log == ["a in", "b in", "b out", "a out", "a in", "a out"]


def test_circle_of_waits_is_an_error(ctx):
    a, b = ctx.create_actor(Node, "a", []), ctx.create_actor(Node, "b", [])
    assert ctx.get(a.visit_and_wait(b)) == "a"
    with pytest.raises(DeadlockError, match=r"Node\.visit_and_wait"):
        ctx.get(a.visit_and_wait(b, a))


def test_reading_the_own_generator_is_an_error(ctx):
    a = ctx.create_actor(Node, "a", [])
    with pytest.raises(DeadlockError, match=r"the result of 'Node\.items' can never come"):
        ctx.get(a.read_own_items())
    with pytest.raises(DeadlockError, match=r"the next item of call 'Node\.items' can never come"):
        ctx.get(a.first_of([a.items(3)]))
    assert ctx.get(a.items(2)) == [0, 1]


def test_other_thread_waits_for_its_turn(ctx):
    inside, go = threading.Event(), threading.Event()

    class Slow:
        def first(self):
            inside.set()
            go.wait()
            return threading.get_ident()

        def second(self):
            return threading.get_ident()

    actor = ctx.create_actor(Slow)
    found = {}

    def run(method):
        found[method] = (ctx.get(getattr(actor, method)()), threading.get_ident())

    first = threading.Thread(target=run, args=("first",))
    first.start()
    inside.wait()
    second = threading.Thread(target=run, args=("second",))
    second.start()
    go.set()
    first.join()
    second.join()
    for ran_in, called_in in found.values():
        assert ran_in == called_in
