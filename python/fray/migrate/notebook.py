"""Reads the code cells of a notebook as one program, and writes a changed program back into the cells."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, cast

from fray.migrate.cells import MARKED, mark
from fray.migrate.files import RefusedError
from fray.migrate.magics import Magics, is_python_cell, is_timed_cell

__all__ = ["Notebook", "read_notebook"]


@dataclass(frozen=True)
class Notebook:
    """A notebook as a program.

    Args:
        document: the parsed JSON.
        program: the Python code of the cells, with a line before each that marks its beginning.
        magics: what is hidden in the program.
        unseen: Python inside of magics that is not in the program, each with the number of its cell and its line there,
            from 1.
        indent: the indentation of the JSON in spaces; None if it is written on one line.
        newline: the end of the document, a newline or nothing.
        ascii_only: whether the JSON escapes characters beyond ASCII.
    """

    document: dict[str, Any]
    program: str
    magics: Magics
    unseen: tuple[tuple[int, int, str], ...]
    indent: int | None
    newline: str
    ascii_only: bool

    def with_program(self, program: str) -> str:
        """Return the text of the notebook with the cells of a changed `program`."""
        document = json.loads(json.dumps(self.document))
        parts = MARKED.split(program)
        for index, text in zip(parts[1::3], parts[3::3], strict=True):
            cell = document["cells"][int(index)]
            old = cell["source"]
            new = _indented(self.magics.show(text.removeprefix("\n")), _text(old))
            if not _text(old).endswith("\n"):
                new = new.removesuffix("\n")
            cell["source"] = new.splitlines(keepends=True) if isinstance(old, list) else new
        return self._dump(document)

    def cell_of(self, line: int) -> tuple[int, int]:
        """Return the number of the cell in which a line of the program stands, and the line's number there, from 1."""
        above = self.program.splitlines()[: line - 1]
        starts = [(number, mark) for number, text in enumerate(above, 1) if (mark := MARKED.match(text))]
        number, mark = starts[-1]
        return int(mark[1]) + 1, line - number

    def _dump(self, document: dict[str, Any]) -> str:
        text = json.dumps(document, indent=self.indent, ensure_ascii=self.ascii_only)
        return text + self.newline


def read_notebook(text: str) -> Notebook:
    """Return the notebook in `text`.

    Raises:
        RefusedError: the text is no notebook, or its language is not Python.
    """
    try:
        document = json.loads(text)
        cells = document["cells"]
        metadata = document.get("metadata", {})
        language = metadata.get("kernelspec", {}).get("language", "python")
        sources = [(index, _text(cell["source"])) for index, cell in enumerate(cells) if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise RefusedError("is no notebook of version 4: its JSON has no cells") from None
    if language not in ("python", "python3"):
        raise RefusedError(f"is a notebook of {language}, not of Python")
    magics = Magics()
    parts: list[str] = []
    unseen: list[tuple[int, int, str]] = []
    for index, source in sources:
        if not is_python_cell(source):
            continue
        known = len(magics.unseen)
        hidden = magics.hide(_dedented(source))
        unseen += [(index + 1, line, code) for line, code in magics.unseen[known:]]
        parts.append(mark(index, is_timed_cell(source)) + hidden + ("" if hidden.endswith("\n") else "\n"))
    indent = re.match(r"\{\n( +)", text)
    return Notebook(
        cast("dict[str, Any]", document),
        "".join(parts),
        magics,
        tuple(unseen),
        len(indent[1]) if indent else None,
        "\n" if text.endswith("\n") else "",
        text.isascii(),
    )


def _text(source: object) -> str:
    if isinstance(source, str):
        return source
    return "".join(cast("list[str]", source))


def _margin(source: str) -> str:
    """Return the indentation of a cell that is indented as a whole: IPython takes it off."""
    lines = [line for line in source.splitlines() if line.strip()]
    margin = lines[0][: len(lines[0]) - len(lines[0].lstrip())] if lines else ""
    return margin if all(line.startswith(margin) for line in lines) else ""


def _dedented(source: str) -> str:
    margin = _margin(source)
    return "".join(line.removeprefix(margin) for line in source.splitlines(keepends=True))


def _indented(text: str, old: str) -> str:
    """Return the new text of a cell with the indentation of its old text."""
    margin = _margin(old)
    return "".join(margin + line if line.strip() else line for line in text.splitlines(keepends=True))
