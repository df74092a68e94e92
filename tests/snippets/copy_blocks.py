"""Writes the copy of the documents' code: ``python -m tests.snippets.copy_blocks``."""

from __future__ import annotations

import sys
from dataclasses import fields

from tests.snippets.blocks import COPIES, at_hand
from tests.snippets.reading import Block, read

HEADER = "# The code blocks of a document that Fray was written to, copied by `python -m tests.snippets.copy_blocks`.\n"


def text_of(blocks: list[Block]) -> str:
    """Return the TOML of a document's blocks; of what is no program, such as a Dockerfile, the hash alone."""
    return HEADER + "".join(_entry(block) for block in blocks)


def _entry(block: Block) -> str:
    values = {field.name: getattr(block, field.name) for field in fields(block) if field.name != "code"}
    code = block.code if block.is_program else ""
    assert "'''" not in code, f"block {block.id} cannot stand in a literal of TOML"
    lines = [f"{name} = '{value}'" for name, value in values.items()]
    return "\n[[block]]\n" + "\n".join(lines) + f"\ncode = '''\n{code}'''\n"


def main() -> None:
    """Write a file for each document."""
    documents = at_hand()
    if not documents:
        sys.exit("the documents are not at hand; set FRAY_SEEDS to their folder")
    COPIES.mkdir(exist_ok=True)
    for path in documents:
        (COPIES / f"{path.name.split('_')[0]}.toml").write_text(text_of(read(path)))


if __name__ == "__main__":
    main()
