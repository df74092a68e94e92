from __future__ import annotations

import signal

import pytest
from fray import TaskCancelledError, TaskOptions
from fray._attempts import call_with_retries


def failing(times: int, kind: type[BaseException] = ValueError):
    calls: list[int] = []

    def call() -> int:
        calls.append(1)
        if len(calls) <= times:
            raise kind("no")
        return len(calls)

    return call


@pytest.mark.parametrize(
    ("options", "failures", "kind"),
    [
        (TaskOptions(max_retries=2, retry_exceptions=True), 2, ValueError),
        (TaskOptions(max_retries=-1, retry_exceptions=True), 50, ValueError),
        (TaskOptions(max_retries=1, retry_exceptions=(OSError,)), 1, FileNotFoundError),
    ],
)
def test_allowed_failures_are_retried(options, failures, kind):
    assert call_with_retries(failing(failures, kind), options) == failures + 1


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        (TaskOptions(), ValueError),
        (TaskOptions(max_retries=0, retry_exceptions=True), ValueError),
        (TaskOptions(retry_exceptions=(OSError,)), ValueError),
        (TaskOptions(retry_exceptions=True), SystemExit),
    ],
)
def test_other_failures_are_raised(options, kind):
    with pytest.raises(kind):
        call_with_retries(failing(1, kind), options)


def test_stopped_call_is_not_retried():
    with pytest.raises(ValueError, match="no"):
        call_with_retries(failing(1), TaskOptions(retry_exceptions=True), lambda: True)


def test_an_interrupted_call_is_not_tried_again() -> None:
    def handler(number: int, frame: object) -> None:
        raise TaskCancelledError("the task was cancelled")

    calls: list[int] = []

    def call() -> None:
        calls.append(1)
        signal.raise_signal(signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(TaskCancelledError):
            call_with_retries(call, TaskOptions(retry_exceptions=True, max_retries=3))
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert calls == [1]
