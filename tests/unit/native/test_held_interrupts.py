"""Steps of a worker that an interrupt of the task must not leave half done."""

from __future__ import annotations

import os
import signal
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from fray import TaskCancelledError, _stack_dump
from fray._native import Interrupt
from fray.backend.native import NativeJobContext, breakpoints, tracing, worker


@pytest.fixture(autouse=True)
def cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be in a task that is cancelled."""
    monkeypatch.setattr("fray._native.interrupt_reason", lambda: Interrupt.CANCELLED)


def interrupt(*args: Any) -> Any:
    worker.on_interrupt(signal.SIGINT, None)


def test_a_task_that_is_cancelled_as_its_worker_begins_to_trace_is_interrupted_when_it_is_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tracing, "traced_call", interrupt)
    made = worker.traced(len, b"", "len", 1, 0)
    with pytest.raises(TaskCancelledError):
        made("text")


def test_a_cancel_that_comes_behind_the_end_of_a_debugged_task_interrupts_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def finish() -> None:
        monkeypatch.setattr(breakpoints, "_session", None)

    session = SimpleNamespace(clear_all_breaks=interrupt, finish=finish)
    monkeypatch.setattr(sys, "settrace", lambda trace: None)  # a debugger of the test goes on
    monkeypatch.setattr(breakpoints, "_session", session)
    worker.end_debugging()
    assert breakpoints._session is None
    with pytest.raises(TaskCancelledError):
        interrupt()


def closing_interrupted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Have each `os.close` raise when it has closed; return the files that were closed."""
    closed: list[int] = []
    close = os.close

    def close_and_raise(file: int) -> None:
        close(file)
        closed.append(file)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "close", close_and_raise)
    return closed


def test_a_file_for_stacks_whose_closing_is_interrupted_is_not_closed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    file = os.memfd_create("stacks")
    monkeypatch.setattr(_stack_dump._offer, "file", file)
    closed = closing_interrupted(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        _stack_dump._close()
    _stack_dump._close()
    assert closed == [file]


def test_a_file_of_needs_whose_closing_is_interrupted_is_not_closed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from fray.backend.native.needs import Needs

    needs = Needs()
    closed = closing_interrupted(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        needs.close()
    needs.close()
    assert len(closed) == 1


def test_a_context_whose_closing_is_interrupted_while_it_writes_output_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    context = NativeJobContext(cpus=1)
    client = context.engine.client

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(context.engine, "drain_output", interrupted)
    with pytest.raises(KeyboardInterrupt):
        context.close()
    assert not client.is_open()
