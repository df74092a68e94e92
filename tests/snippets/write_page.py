"""Writes the list of blocks, tests/snippets/README.md: ``python -m tests.snippets.write_page``."""

from __future__ import annotations

from pathlib import Path

from tests.snippets.blocks import blocks
from tests.snippets.books import BOOKS
from tests.snippets.programs import PLACES, Book, Program

__all__ = ["PAGE", "page"]

PAGE = Path(__file__).parent / "README.md"

HEADER = """\
# The documents' programs

Written by `python -m tests.snippets.write_page` from the tables in `document_*.py`; do not edit.

Five documents asked for Fray. Each of their code blocks is listed here: where it runs, what of Fray it declares, or why
neither. A block is named by its document's number and its place in it; the code itself is in `blocks/`. Tests read the
documents where they are at hand (`FRAY_SEEDS`, else `../shared/seeds`) and the copy in `blocks/` otherwise.
`tests/unit/test_snippets.py` runs what needs no Ray, `tests/on_ray/test_snippets.py` the rest.

A block gets the names that its document takes from its surroundings, and nothing else: a name that is public in Fray is
given as Fray has it, and one that Fray lacks fails. Values that a document leaves as `...` are given by the tests.

"""


def page() -> str:
    """Return the text of the page."""
    lines = ["Where blocks run:", ""]
    lines += [f"- **{place}**: {text}." for place, text in PLACES.items()]
    for book in BOOKS:
        lines += [
            "",
            f"## Document {book.number}",
            "",
            "| block | begins | text | what becomes of it |",
            "|---|---|---|---|",
        ]
        for block in blocks().values():
            if block.id.split(".")[0] == book.number:
                begin = f"`{_begin(block.code)}`" if block.is_program else block.language
                lines.append(f"| {block.id} | {begin} | `{block.hash}` | {_fate(book, block.id)} |")
    return HEADER + "\n".join(lines) + "\n"


def _begin(code: str) -> str:
    line = code.splitlines()[0].replace("|", "\\|").replace("`", "'")
    return line if len(line) <= 50 else line[:47] + "..."


def _fate(book: Book, block_id: str) -> str:
    found = [program for program in book.programs.values() if program.id == block_id]
    if found:
        return "; ".join(_ways(found))
    if block_id in book.declarations:
        return f"compared with {book.declarations[block_id].what}"
    return f"**not run**: {book.left_out[block_id]}"


def _ways(found: list[Program]) -> list[str]:
    ways = [f"runs on {', '.join(found[0].places)}"]
    if found[0].long:
        ways[0] += ", on Ray with the long tests"
    cases = [program.case for program in found if program.case]
    if cases:
        ways[0] += f" ({' and '.join(cases)})"
    ways += [f"not on {place}: {why}" for place, why in found[0].elsewhere.items()]
    return ways + ([found[0].note] if found[0].note else [])


if __name__ == "__main__":
    PAGE.write_text(page())
