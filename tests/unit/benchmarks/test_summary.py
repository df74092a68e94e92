from __future__ import annotations

import pytest

from benchmarks.measurement import Measurement, latency_figures, percentile
from benchmarks.summary import summarize


@pytest.mark.parametrize(
    ("values", "fraction", "expected"),
    [
        ([7], 0.5, 7),
        ([3, 1, 2], 0.5, 2),
        ([4, 1, 3, 2], 0.5, 2),
        (list(range(1, 101)), 0.99, 99),
        (list(range(1, 21)), 0.9, 18),
        ([1, 2], 1.0, 2),
        ([1, 2], 0.001, 1),
    ],
)
def test_percentile_is_a_value_that_was_measured(values: list[float], fraction: float, expected: float):
    assert percentile(values, fraction) == expected


@pytest.mark.parametrize(("values", "fraction"), [([], 0.5), ([1.0], 0.0), ([1.0], 1.5), ([1.0], float("nan"))])
def test_percentile_of_nothing_is_refused(values: list[float], fraction: float):
    with pytest.raises(ValueError, match="percentile"):
        percentile(values, fraction)


def test_latencies_are_given_in_microseconds():
    assert latency_figures([2_000, 1_000, 3_000]) == {"p50_us": 2.0, "p99_us": 3.0}


def test_summary_has_median_extremes_and_every_round():
    summary = summarize([Measurement(3.0), Measurement(1.0), Measurement(2.0)])
    assert summary.as_json() == {"median": 2, "min": 1, "max": 3, "p90": 3, "rounds": [3, 1, 2], "more": {}}


def test_further_figures_are_summarized_over_the_rounds_that_have_them():
    summary = summarize([Measurement(1.0, {"p99_us": 5.0}), Measurement(1.0, {"p99_us": 9.0}), Measurement(1.0)])
    assert summary.more["p99_us"].as_json() == {"median": 7, "min": 5, "max": 9}
    assert summary.figure("p99_us") == 7
    assert summary.figure("median") == 1
    assert summary.figure("unknown") is None
