"""The blocks of the documents that Fray was written to: from the documents where they are at hand, else from a copy.

The documents are looked for in the folder that ``FRAY_SEEDS`` names, else in ``../shared/seeds`` beside the repository.
The copy in ``blocks/`` holds the code of those that are programs, and where each stands;
``python -m tests.snippets.copy_blocks`` writes it, and a test compares the two.
"""

from __future__ import annotations

import os
import tomllib
from functools import cache
from pathlib import Path

from tests.snippets.reading import Block, read

__all__ = ["COPIES", "at_hand", "blocks", "copied"]

COPIES = Path(__file__).parent / "blocks"
ROOT = Path(__file__).resolve().parents[2]


def at_hand() -> list[Path]:
    """Return the documents, in order; none where they are not there.

    Raises:
        FileNotFoundError: ``FRAY_SEEDS`` names a folder without documents.
    """
    named = os.environ.get("FRAY_SEEDS")
    folder = Path(named) if named else ROOT.parent / "shared" / "seeds"
    found = sorted(folder.glob("[0-9][0-9][0-9]_*.txt"))
    if named and not found:
        raise FileNotFoundError(f"FRAY_SEEDS names {named}, where there is no document such as 000_....txt")
    return found


def copied() -> list[Block]:
    """Return the blocks of the copy."""
    found: list[Block] = []
    for path in sorted(COPIES.glob("*.toml")):
        entries = tomllib.loads(path.read_text())["block"]
        found += [Block(**entry) for entry in entries]
    return found


@cache
def blocks() -> dict[str, Block]:
    """Return the blocks by their ids."""
    documents = at_hand()
    found = [block for path in documents for block in read(path)] if documents else copied()
    return {block.id: block for block in found}
