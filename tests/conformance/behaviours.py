"""Reads behaviours.toml: what applies to which context."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Table:
    contexts: dict[str, str]
    reasons: dict[str, str]
    titles: dict[str, str]
    exceptions: dict[str, dict[str, str]]

    def applies(self, behaviour: str, context: str) -> bool:
        return context not in self.exceptions[behaviour]


def load() -> Table:
    """Return the table.

    Raises:
        ValueError: an exception names an unknown context or reason.
    """
    data = tomllib.loads((HERE / "behaviours.toml").read_text())
    exceptions = {name: dict(entry.get("not_for", {})) for name, entry in data["behaviours"].items()}
    for name, entry in exceptions.items():
        for context, reason in entry.items():
            if context not in data["contexts"] or reason not in data["reasons"]:
                raise ValueError(f"{name}: unknown context {context!r} or reason {reason!r}")
    titles = {name: entry["title"] for name, entry in data["behaviours"].items()}
    return Table(data["contexts"], data["reasons"], titles, exceptions)
