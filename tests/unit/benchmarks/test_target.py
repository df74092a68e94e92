from __future__ import annotations

import pytest

from benchmarks.measurement import Measurement
from benchmarks.summary import summarize
from benchmarks.target import AnyOf, AtLeast, AtMost, Target, TimesPeer, advantage


def peers(**values: float):
    return {peer: summarize([Measurement(value, {"p99_us": 80.0})]) for peer, value in values.items()}


@pytest.mark.parametrize(
    ("target", "met"),
    [
        (AtLeast(1000), True),
        (AtLeast(1001), False),
        (AtMost(1000), True),
        (AtMost(80, "p99_us"), True),
        (AtMost(79, "p99_us"), False),
        (AtMost(1, "unknown"), None),
        (AtLeast(1000, "p90"), True),
        (TimesPeer(100, "ray"), True),
        (TimesPeer(101, "ray"), False),
        (TimesPeer(1, "pool"), None),
        (AnyOf(TimesPeer(101, "ray"), AtLeast(1000)), True),
        (AnyOf(TimesPeer(1, "pool"), AtLeast(1000)), True),
        (AnyOf(TimesPeer(1, "pool"), AtLeast(1001)), None),
        (AnyOf(TimesPeer(101, "ray"), AtLeast(1001)), False),
    ],
)
def test_target_compares_medians_and_says_when_it_cannot(target: Target, met: bool | None):
    assert target.met(peers(fray=1000, ray=10), "higher") is met


def test_nothing_can_be_said_without_fray():
    assert AtLeast(1).met(peers(ray=5), "higher") is None
    assert TimesPeer(1, "ray").met(peers(ray=5), "higher") is None


def test_smaller_is_better_where_the_row_says_so():
    assert advantage(peers(fray=2, ray=10), "ray", "lower") == 5
    assert advantage(peers(fray=2, ray=10), "ray", "higher") == 0.2
    assert advantage(peers(fray=0, ray=10), "ray", "lower") is None


def test_texts_fit_a_table():
    assert AnyOf(TimesPeer(100, "ray"), AtLeast(50_000)).text() == "≥ 100x ray or ≥ 50,000"
    assert AtMost(0.05, "cpu_percent").text() == "cpu_percent ≤ 0.05"
