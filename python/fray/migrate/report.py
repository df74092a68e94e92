"""What was done to each file, as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

__all__ = ["Left", "Outcome", "State", "as_json", "as_text"]


class State(StrEnum):
    """How far a file was moved."""

    MOVED = "moved"
    """Nothing of the old library is left in it."""
    PART = "moved in part"
    """What could not be moved has comments."""
    LEFT = "left"
    """It stays as it is, but for comments."""
    REFUSED = "refused"
    """Nothing can be said or written."""
    UNTOUCHED = "untouched"
    """There is nothing to move in it."""


@dataclass(frozen=True)
class Left:
    """One thing that stays.

    Args:
        line: where, from 1; 0 for the file as a whole.
        why: a clause.
        what: what to do about it.
        cell: of a notebook, from 1.
    """

    line: int
    why: str
    what: str
    cell: int | None = None


@dataclass
class Outcome:
    """What was done to one file, or would be."""

    path: Path
    state: State
    before: bytes = b""
    after: bytes = b""
    reason: str = ""
    left: list[Left] = field(default_factory=list[Left])
    before_text: str = ""
    after_text: str = ""

    @property
    def changed(self) -> bool:
        """Whether the file gets other bytes."""
        return self.before != self.after


def as_text(outcomes: Sequence[Outcome], checked: bool) -> str:
    """Return the report for a terminal."""
    lines: list[str] = []
    for outcome in outcomes:
        if outcome.state is State.UNTOUCHED:
            continue
        if outcome.state is State.REFUSED:
            lines.append(f"{outcome.path}: {outcome.reason}")
            continue
        verb = f"would be {outcome.state}" if checked and outcome.changed else str(outcome.state)
        lines.append(f"{outcome.path}: {verb}" + (f": {outcome.reason}" if outcome.reason else ""))
        for item in outcome.left:
            where = f"cell {item.cell}, line {item.line}" if item.cell else f"line {item.line}"
            lines.append(f"  {where}: {item.why}; {item.what}")
    count = Counter(str(outcome.state) for outcome in outcomes)
    total = ", ".join(f"{count[state]} {state}" for state in State if count[state])
    return "\n".join([*lines, f"{_files(len(outcomes))}: {total}" if outcomes else "no Python files"])


def _files(number: int) -> str:
    return f"{number} file" + ("" if number == 1 else "s")


def as_json(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the report as JSON has it."""
    return {
        "files": [
            {
                "path": str(outcome.path),
                "state": str(outcome.state),
                "changed": outcome.changed,
                "reason": outcome.reason,
                "left": [
                    {"line": item.line, "cell": item.cell, "why": item.why, "what": item.what} for item in outcome.left
                ],
            }
            for outcome in outcomes
        ],
        "counts": dict(Counter(str(outcome.state) for outcome in outcomes)),
    }
