"""Which of the calls that wait for a thread goes next."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from fray import TaskOptions
from fray.backend.local.pool import Line


def call(name: str, priority: int = 0, depth: int = 1) -> Any:
    return SimpleNamespace(name=name, depth=depth, options=TaskOptions(priority=priority))


def names(line: Line, count: int, now: float) -> list[str]:
    return [cast("Any", line.pop(now)).name for _ in range(count)]


def test_equal_calls_go_in_the_order_of_their_arrival():
    line = Line()
    for name in "abc":
        line.push(call(name), 0)
    assert names(line, 3, 0) == ["a", "b", "c"]
    assert not line


def test_higher_priority_goes_first():
    line = Line()
    for name, priority in [("low", -1), ("high", 1), ("usual", 0), ("high too", 1)]:
        line.push(call(name, priority), 0)
    assert names(line, 4, 0) == ["high", "high too", "usual", "low"]


def test_deeper_call_goes_before_a_higher_priority():
    line = Line()
    line.push(call("high", 1000, depth=1), 0)
    line.push(call("deep", -1000, depth=2), 0)
    assert names(line, 2, 0) == ["deep", "high"]


def test_call_that_waits_gains_a_step_each_second_up_to_the_highest():
    line = Line()
    line.push(call("low", 0), 0)
    line.push(call("high", 3), 0)
    line.push(call("high", 3), 0)
    assert names(line, 1, 2.9) == ["high"]
    assert names(line, 2, 3.0) == ["low", "high"], "equal by now, and the first to come"


def test_backlog_of_a_low_priority_does_not_count_as_high_for_good():
    line = Line()
    for _ in range(3):
        line.push(call("low", 0), 0)
    for _ in range(9):
        line.push(call("high", 2), 0)
    assert names(line, 3, 2) == ["low", "high", "high"]
    assert names(line, 2, 4) == ["low", "high"]


def test_no_call_is_passed_over_for_ever():
    line = Line()
    line.push(call("low", -5), 0)
    taken: list[str] = []
    for second in range(20):
        line.push(call("high", 5), second)
        taken += names(line, 1, second)
    assert taken.index("low") == 10


def test_dropped_calls_are_gone():
    line = Line()
    line.push(call("a", 1), 0)
    line.clear()
    assert len(line) == 0
    line.push(call("b"), 0)
    assert names(line, 1, 0) == ["b"]


def test_a_push_that_is_interrupted_leaves_nothing_in_the_line(monkeypatch):
    line = Line()
    with monkeypatch.context() as patched:
        patched.setattr(line, "_order", map(raise_interrupt, [0]))
        with pytest.raises(KeyboardInterrupt):
            line.push(call("interrupted", priority=1), 0)
    assert not line
    line.push(call("next"), 0)
    assert names(line, 1, 0) == ["next"]
    assert not line


def raise_interrupt(number: int) -> int:
    raise KeyboardInterrupt
