"""Signals that arrive in the middle of a call: what their handlers raise comes out, and nothing is kept back."""

from __future__ import annotations

import gc
import json
import signal
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy
import pytest
from fray import SerializationError
from fray.backend.native import NativeJobContext

from tests.chaos.harness import eventually, the_node


class Stopped(Exception):
    """What the handlers of these tests raise."""


def stop(*_: object) -> None:
    raise Stopped


class Stopper:
    def __call__(self, *_: object) -> None:
        raise Stopped

    def method(self, *_: object) -> None:
        raise Stopped


@pytest.fixture
def alarm() -> Iterator[Any]:
    before = signal.getsignal(signal.SIGALRM)
    yield lambda handler: signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_a_put_that_is_interrupted_while_it_waits_for_room_gives_the_room_back(
    ctx: NativeJobContext, alarm: Any
) -> None:
    def used() -> int:
        return json.loads(ctx._client.status())["store"]["used_bytes"]

    large = numpy.ones(4_000_000)
    node = the_node()
    alarm(stop)
    for _ in range(3):
        node.signal(signal.SIGSTOP)
        try:
            with pytest.raises(Stopped):
                signal.setitimer(signal.ITIMER_REAL, 0.05)
                ctx.put(large)
        finally:
            node.signal(signal.SIGCONT)
    gc.collect()
    eventually(lambda: used() == 0, what="the room of interrupted puts")
    assert ctx.get(ctx.put(large)).sum() == 4_000_000


class Slow:
    """Is pickled for as long as it takes until the alarm rings."""

    def __reduce__(self) -> tuple[Any, ...]:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        while signal.getitimer(signal.ITIMER_REAL)[0] > 0:
            pass
        end = time.monotonic() + 1
        while time.monotonic() < end:
            pass
        return Slow, ()


@pytest.mark.parametrize("handler", [stop, Stopper(), Stopper().method, partial(stop)], ids=lambda h: type(h).__name__)
@pytest.mark.parametrize("how", ["put", "argument", "captured"])
def test_what_a_handler_raises_while_a_value_is_pickled_comes_out(
    ctx: NativeJobContext, alarm: Any, handler: Any, how: str
) -> None:
    alarm(handler)
    slow = Slow()
    with pytest.raises(Stopped):
        if how == "put":
            ctx.put([slow])
        elif how == "argument":
            ctx.run(print, slow)
        else:
            ctx.run(lambda: slow)
    assert ctx.get(ctx.run(pow, 2, 3)) == 8


class Refuses:
    def __reduce__(self) -> tuple[Any, ...]:
        stop()
        raise AssertionError


def test_what_a_value_raises_itself_is_a_failure_to_pickle_it(ctx: NativeJobContext) -> None:
    with pytest.raises(SerializationError, match="Stopped"):
        ctx.put(Refuses())
