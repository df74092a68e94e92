from __future__ import annotations

import threading
from typing import Any

import pytest
from fray.backend.local.mailbox import Mailbox


class Call:
    """What a mailbox sees of a call."""

    def __init__(self, ready: bool = True) -> None:
        self.ready = ready
        self.ended = False
        self.begun = False

    def arguments_ready(self) -> bool:
        return self.ready

    def settled(self) -> bool:
        return self.ended

    def begin(self) -> None:
        self.begun = True


@pytest.fixture
def mailbox():
    box: Any = Mailbox(threading.RLock(), places=2)
    with box.changed:
        yield box


def put(mailbox, *calls):
    for call in calls:
        mailbox.put(call)
    return calls


def start(mailbox):
    call = mailbox.startable()
    assert call is not None
    mailbox.start(call)
    return call


def test_constructor_runs_alone_then_calls_fill_the_places(mailbox):
    constructor, first, second, third = put(mailbox, *(Call() for _ in range(4)))
    assert start(mailbox) is constructor
    assert mailbox.startable() is None
    mailbox.end(constructor)
    assert [start(mailbox), start(mailbox)] == [first, second]
    assert first.begun
    assert mailbox.full()
    assert mailbox.startable() is None
    assert mailbox.running() == [first, second]
    assert mailbox.waiting() == [third]
    mailbox.end(first)
    assert start(mailbox) is third


def test_unready_call_holds_back_those_behind_it(mailbox):
    unready, behind = put(mailbox, Call(ready=False), Call())
    assert mailbox.startable() is None
    unready.ready = True
    assert start(mailbox) is unready
    mailbox.end(unready)
    assert start(mailbox) is behind


def test_settled_call_is_skipped(mailbox):
    cancelled, behind = put(mailbox, Call(ready=False), Call())
    cancelled.ended = True
    assert start(mailbox) is behind
    assert not cancelled.begun


def test_closed_mailbox_starts_nothing_and_holds_nothing(mailbox):
    put(mailbox, Call())
    mailbox.close()
    assert mailbox.startable() is None
    assert mailbox.waiting() == []


def test_call_may_take_a_place_again(mailbox):
    (call,) = put(mailbox, Call())
    start(mailbox)
    mailbox.end(call)
    mailbox.resume(call)
    assert mailbox.running() == [call]
