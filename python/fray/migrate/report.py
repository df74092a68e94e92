"""Reports what was done to each file, as text and as JSON."""

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
    """The file does not use the old library any more."""
    PART = "moved in part"
    """Some parts were moved; comments mark those that were not."""
    LEFT = "left"
    """The file stays as it is, except for comments."""
    REFUSED = "refused"
    """The file could not be read, or cannot be written."""
    UNTOUCHED = "untouched"
    """The file does not use the old library."""


@dataclass(frozen=True)
class Left:
    """One part of a program that stays.

    Args:
        line: the number of its line, from 1; 0 for the file as a whole.
        why: a clause that says why it stays.
        what: a clause that says what to do about it.
        cell: the number of its cell in a notebook, from 1.
    """

    line: int
    why: str
    what: str
    cell: int | None = None


@dataclass
class Outcome:
    """The result for one file: what was done to it, or would be done without ``--check`` and ``--diff``."""

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
        """Whether the bytes of the file change."""
        return self.before != self.after


def as_text(outcomes: Sequence[Outcome], checked: bool) -> str:
    """Return the report as a text for a terminal."""
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
    """Return the report as a JSON document."""
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
