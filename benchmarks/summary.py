"""`Summary`: the rounds of one peer in one row, condensed."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.measurement import Measurement, percentile


@dataclass(frozen=True)
class Spread:
    """Median, smallest and largest of one figure over the rounds."""

    median: float
    min: float
    max: float

    def as_json(self) -> dict[str, float]:
        return {"median": self.median, "min": self.min, "max": self.max}


@dataclass(frozen=True)
class Summary:
    """The row's value and every further figure over the rounds."""

    value: Spread
    p90: float
    rounds: tuple[float, ...]
    more: dict[str, Spread]

    def figure(self, name: str) -> float | None:
        """Return ``"median"``, ``"p90"`` (of the rounds) or the median of a further figure; None where it has none."""
        if name == "median":
            return self.value.median
        if name == "p90":
            return self.p90
        spread = self.more.get(name)
        return None if spread is None else spread.median

    def as_json(self) -> dict[str, Any]:
        more = {name: spread.as_json() for name, spread in self.more.items()}
        return {**self.value.as_json(), "p90": self.p90, "rounds": list(self.rounds), "more": more}


def spread(values: Sequence[float]) -> Spread:
    """Return the spread of at least one value."""
    return Spread(statistics.median(values), min(values), max(values))


def summarize(measurements: Sequence[Measurement]) -> Summary:
    """Condense at least one round; a further figure counts over the rounds that have it."""
    values = [measurement.value for measurement in measurements]
    names = dict.fromkeys(name for measurement in measurements for name in measurement.more)
    more = {name: spread([m.more[name] for m in measurements if name in m.more]) for name in names}
    return Summary(spread(values), percentile(values, 0.9), tuple(values), more)
