"""Reads snippets.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

KINDS = ("as written", "with fixtures", "fragment")


@dataclass(frozen=True)
class Snippet:
    """One piece of Python from a document.

    Attributes:
        id: document and place in it.
        kind: whether it runs as written, with named fixtures, or is a fragment.
        needs: names of the fixtures that it runs with.
        undefined: of a fragment, the names that nothing in its document gives a value.
        why: of a fragment, what keeps it from running.
        raises: the exception that ends it, where that is what it shows.
    """

    id: str
    kind: str
    code: str
    needs: list[str] = field(default_factory=list)
    undefined: list[str] = field(default_factory=list)
    why: str = ""
    raises: str = ""


def load() -> list[Snippet]:
    data = tomllib.loads((Path(__file__).parent / "snippets.toml").read_text())
    return [Snippet(id=name, **entry) for name, entry in data.items()]
