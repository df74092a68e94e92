"""Reads behaviours.toml: what applies to which context, and to which cluster."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Table:
    """The behaviours of one tier; its places are the contexts, or the clusters, that the suite runs on."""

    places: dict[str, str]
    reasons: dict[str, str]
    titles: dict[str, str]
    exceptions: dict[str, dict[str, str]]

    def applies(self, behaviour: str, place: str) -> bool:
        return place not in self.exceptions[behaviour]


@dataclass(frozen=True)
class Tables:
    """Both tiers; no behaviour is in both."""

    contexts: Table
    clusters: Table


def load() -> Tables:
    """Return the tables.

    Raises:
        ValueError: an exception names an unknown place or reason, or an id is in both tables.
    """
    data = tomllib.loads((HERE / "behaviours.toml").read_text())
    tables = Tables(
        _table(data["contexts"], data["reasons"], data["behaviours"]),
        _table(data["clusters"], data["cluster_reasons"], data["cluster_behaviours"]),
    )
    both = tables.contexts.titles.keys() & tables.clusters.titles.keys()
    if both:
        raise ValueError(f"in both tables: {sorted(both)}")
    return tables


def _table(places: dict[str, str], reasons: dict[str, str], behaviours: dict[str, Any]) -> Table:
    exceptions = {name: dict(entry.get("not_for", {})) for name, entry in behaviours.items()}
    for name, entry in exceptions.items():
        for place, reason in entry.items():
            if place not in places or reason not in reasons:
                raise ValueError(f"{name}: unknown place {place!r} or reason {reason!r}")
    titles = {name: entry["title"] for name, entry in behaviours.items()}
    return Table(places, reasons, titles, exceptions)
