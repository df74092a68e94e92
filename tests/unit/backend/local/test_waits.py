"""Circles of waits in `ThreadContext`, each closed by its last wait."""

from __future__ import annotations

import fray
import pytest
from fray import ActorOptions, DeadlockError, ThreadContext


class Node:
    def ping(self):
        return "pong"

    def through_actor(self, *others):
        if not others:
            return "end"
        return others[0].through_actor(*others[1:]).result()

    def through_task(self):
        me = fray.current_actor().handle
        return fray.get_job_context().run(lambda: me.ping().result()).result()

    def through_argument(self, other):
        return other.echo(fray.current_actor().handle.ping()).result()

    def echo(self, value):
        return value

    def in_time(self):
        try:
            return fray.current_actor().handle.ping().result(timeout=0.01)
        except fray.GetTimeoutError:
            return "too late"


@pytest.fixture
def ctx():
    with ThreadContext(max_workers=2) as context:
        yield context


def test_circle_through_actors(ctx):
    a, b, c = (ctx.create_actor(Node) for _ in range(3))
    assert ctx.get(a.through_actor(b, c)) == "end"
    with pytest.raises(DeadlockError):
        ctx.get(a.through_actor(b, c, a))
    assert ctx.get(a.ping()) == "pong"


def test_circle_through_a_task(ctx):
    with pytest.raises(DeadlockError):
        ctx.get(ctx.create_actor(Node).through_task())


def test_circle_through_an_argument(ctx):
    a, b = ctx.create_actor(Node), ctx.create_actor(Node)
    with pytest.raises(DeadlockError):
        ctx.get(a.through_argument(b))


def test_free_place_is_no_circle(ctx):
    a = ctx.create_actor(Node, options=ActorOptions(max_concurrency=2))
    assert ctx.get(a.through_actor(a)) == "end"
    assert ctx.get(a.through_task()) == "pong"


def test_wait_with_a_timeout_is_no_circle(ctx):
    assert ctx.get(ctx.create_actor(Node).in_time()) == "too late"
