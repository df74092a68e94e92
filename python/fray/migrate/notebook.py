"""Reads the code cells of a notebook as one program, and writes a changed program back into the cells."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from typing import Any, cast

from fray.migrate.files import RefusedError

__all__ = ["Notebook", "read_notebook"]

_MARK = "__fray_cell_{}__"
_MARKED = re.compile(r"^__fray_cell_(\d+)__$", re.MULTILINE)
_HIDDEN = "#fray-magic#"
_WHOLE_CELL_OF_PYTHON = ("%%capture", "%%time", "%%timeit", "%%prun")
_TIMED = re.compile(r"^(\s*)(%(?:time|timeit|prun)(?:\s+-\w+(?:\s+\d+)?)*\s+)(\S.*)$")
"""A line whose magic is followed by a statement of Python."""
_HIDDEN_PREFIX = re.compile(rf"'{_HIDDEN}(%[^']*)'; ")
_MAGIC = re.compile(r"^(\s*)([%!?]|[\w.]+\?{1,2}\s*$|\w+\s*=\s*[!%])")


@dataclass(frozen=True)
class Notebook:
    """A notebook as a program.

    Args:
        document: the parsed JSON.
        program: the Python code of the cells, with a line before each that marks its beginning.
        cells: the indices of the cells whose code is in the program.
        indent: the indentation of the JSON in spaces; None if it is written on one line.
        newline: the end of the document, a newline or nothing.
        ascii_only: whether the JSON escapes characters beyond ASCII.
    """

    document: dict[str, Any]
    program: str
    cells: tuple[int, ...]
    indent: int | None
    newline: str
    ascii_only: bool

    def with_program(self, program: str) -> str:
        """Return the text of the notebook with the cells of a changed `program`."""
        document = json.loads(json.dumps(self.document))
        parts = _MARKED.split(program)
        for index, text in zip(parts[1::2], parts[2::2], strict=True):
            cell = document["cells"][int(index)]
            old = cell["source"]
            new = _shown(text.removeprefix("\n"), _text(old))
            cell["source"] = new.splitlines(keepends=True) if isinstance(old, list) else new
        return self._dump(document)

    def cell_of(self, line: int) -> tuple[int, int]:
        """Return the number of the cell in which a line of the program stands, and the line's number there, from 1."""
        above = self.program.splitlines()[: line - 1]
        starts = [(number, mark) for number, text in enumerate(above, 1) if (mark := _MARKED.match(text))]
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
    parts: list[str] = []
    taken: list[int] = []
    for index, source in sources:
        if not _is_python(source):
            continue
        taken.append(index)
        hidden = _hide(source)
        parts.append(_MARK.format(index) + "\n" + hidden + ("" if hidden.endswith("\n") else "\n"))
    indent = re.match(r"\{\n( +)", text)
    return Notebook(
        cast("dict[str, Any]", document),
        "".join(parts),
        tuple(taken),
        len(indent[1]) if indent else None,
        "\n" if text.endswith("\n") else "",
        text.isascii(),
    )


def _text(source: object) -> str:
    if isinstance(source, str):
        return source
    return "".join(cast("list[str]", source))


def _is_python(source: str) -> bool:
    first = source.lstrip()
    return not first.startswith("%%") or first.startswith(_WHOLE_CELL_OF_PYTHON)


def _hide(source: str) -> str:
    """Return the source with magics and shell lines, which are no Python, hidden in comments and strings.

    The statement after ``%time`` and its like stays visible. A hidden line below a colon is a statement, as before.
    """
    lines: list[str] = []
    for line in source.splitlines(keepends=True):
        timed, magic = _TIMED.match(line), _MAGIC.match(line)
        if timed is not None and _is_statement(timed[3]):
            lines.append(f"{timed[1]}'{_HIDDEN}{timed[2]}'; {line[timed.start(3) :]}")
        elif magic is not None:
            lines.append(f"{magic[1]}{'pass' if magic[1] else ''}{_HIDDEN}{line[len(magic[1]) :]}")
        else:
            lines.append(line)
    return "".join(lines)


def _is_statement(text: str) -> bool:
    try:
        return len(ast.parse(text).body) == 1
    except (SyntaxError, ValueError):
        return False


def _shown(text: str, old: str) -> str:
    shown = _HIDDEN_PREFIX.sub(r"\1", text).replace(f"pass{_HIDDEN}", "").replace(_HIDDEN, "")
    if old.endswith("\n"):
        return shown
    return shown.removesuffix("\n")
