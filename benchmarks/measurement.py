"""`Measurement`: what one round of one peer gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Measurement:
    """The row's value, in the row's unit, and further figures whose names carry their units, such as ``p99_us``.

    `result` stands for what the workload came to, which is to be the same for every peer of the row; empty where a row
    has nothing to compare.
    """

    value: float
    more: dict[str, float] = field(default_factory=dict)
    result: str = ""


def percentile(values: Sequence[float], fraction: float) -> float:
    """Return the smallest of `values` that at least `fraction` of them do not exceed (nearest rank).

    Args:
        values: at least one, in any order.
        fraction: above 0, at most 1.
    """
    if not values or not 0 < fraction <= 1:
        raise ValueError(f"percentile of {len(values)} values at {fraction!r}")
    rank = -int(-len(values) * fraction // 1)
    return sorted(values)[max(rank, 1) - 1]


def latency_figures(latencies_ns: Sequence[float]) -> dict[str, float]:
    """Return p50 and p99 in microseconds of latencies in nanoseconds."""
    return {"p50_us": percentile(latencies_ns, 0.5) / 1e3, "p99_us": percentile(latencies_ns, 0.99) / 1e3}
