"""Hides what only notebooks understand (magics, lines for the shell, help) behind names of Python, and shows it again.

Which lines are none of Python is IPython's decision (`IPython.core.inputtransformer2`): a line is looked at where a
statement begins, never inside brackets or strings, and a backslash at its end continues it. The Python that a magic
runs stays visible, so that it is moved: ``y = %timeit -o f()`` becomes ``y = __fray_magic_0__ or f()``.
"""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

__all__ = ["Magics", "is_magic", "is_python_cell", "is_timed_cell"]

_NAME = "__fray_magic_{}__"
_REST = "__fray_rest_{}__"
"""A name for one more line of a magic that a backslash continues."""
_SHOWN = re.compile(r"__fray_magic_(\d+)__(?:; | or )?|^[ \t]*__fray_rest_(\d+)__", re.MULTILINE)
_ESCAPED = re.compile(r"(?P<front>[ \t]*)(?P<magic>[%!?,;/].*)", re.DOTALL)
_HELP = re.compile(r"(?P<front>[ \t]*)(?P<magic>%{0,2}[\w.*\[\]]+\?{1,2}[ \t]*\n?)")
_ASSIGNED = re.compile(r"(?P<front>[ \t]*[A-Za-z_][\w.,* \t\[\]]*=[ \t]*)(?P<magic>(?:%[A-Za-z]|!).*)", re.DOTALL)
_TIMEIT = r"(?:%timeit(?:[ \t]+-(?:[nrpv][ \t]*\d+|[tcqo]+))*+)"
_PRUN = r"(?:%prun(?:[ \t]+-(?:[lsTD][ \t]*[^\s-]\S*|[rq]+))*+)"
_TIMED = re.compile(rf"(?P<magic>(?:%time|{_TIMEIT}|{_PRUN})[ \t]+)(?P<code>\S.*)", re.DOTALL)
"""A line or cell magic whose line ends with code."""
_PYTHON_CELLS = ("%%capture", "%%time", "%%timeit", "%%prun")
_EXPRESSION = re.compile(r"\{([^{}]+)\}")


@dataclass
class Magics:
    """The magics of one notebook.

    Args:
        texts: the hidden texts, by the numbers in their names.
        unseen: Python inside of hidden texts, which cannot be moved, with the number of its line in its cell.
    """

    texts: list[str] = field(default_factory=list[str])
    unseen: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    def hide(self, cell: str) -> str:
        """Return the code of a cell as lines of Python, as many as before."""
        lines = cell.splitlines(keepends=True)
        hidden: list[str] = []
        in_front = True
        while len(hidden) < len(lines):
            start = len(hidden)
            if in_front and lines[start].startswith("%%"):
                hidden.append(self._cell_magic(lines[start], start + 1))
                continue
            in_front = in_front and not lines[start].strip()
            statement = lines[start : _end(lines, start)]
            match = _magic_of(statement[0])
            if match is None:
                hidden += statement
            else:
                hidden += self._line_magic(lines[start : _end_of_continued(lines, start)], match, start + 1)
        return "".join(hidden)

    def show(self, text: str) -> str:
        """Return a text with its magics in place of their names."""
        return _SHOWN.sub(lambda match: self.texts[int(match[1] or match[2])], text)

    def _hidden(self, text: str, name: str = _NAME) -> str:
        self.texts.append(text)
        return name.format(len(self.texts) - 1)

    def _cell_magic(self, line: str, number: int) -> str:
        body, end = _without_end(line)
        timed = _TIMED.fullmatch(body[1:])
        if timed is not None and _is_python(f"x; {timed['code']}"):
            return f"{self._hidden('%' + timed['magic'])}; {timed['code']}{end}"
        if timed is not None:
            self.unseen.append((number, timed["code"]))
        return self._hidden(body) + end

    def _line_magic(self, lines: Sequence[str], match: re.Match[str], number: int) -> Iterator[str]:
        body, end = _without_end(match["magic"])
        timed = _TIMED.fullmatch(body)
        if timed is None:
            self.unseen += [(number, code) for line in lines for code in _EXPRESSION.findall(line)]
        elif len(lines) == 1 and "=" in match["front"] and _is_python(f"x or {timed['code']}"):
            yield f"{match['front']}{self._hidden(timed['magic'])} or {timed['code']}{end}"
            return
        elif len(lines) == 1 and _is_python(f"x; {timed['code']}"):
            yield f"{match['front']}{self._hidden(timed['magic'])}; {timed['code']}{end}"
            return
        else:
            self.unseen.append((number, "".join([timed["code"], *lines[1:]])))
        yield match["front"] + self._hidden(body) + end
        indent = re.match(r"[ \t]*", match["front"])
        for line in lines[1:]:
            body, end = _without_end(line)
            yield (indent[0] if indent else "") + self._hidden(body, _REST) + end


def is_python_cell(cell: str) -> bool:
    """Return whether IPython runs a cell as Python, with this notebook's variables."""
    for line in cell.lstrip().splitlines():
        if not line.startswith("%%"):
            return True
        if line.split()[0] not in _PYTHON_CELLS:
            return False
    return True


def is_timed_cell(cell: str) -> bool:
    """Return whether a cell runs in a function of its own, as that of ``%%timeit`` does."""
    for line in cell.lstrip().splitlines():
        if not line.startswith("%%"):
            return False
        if line.split()[0] == "%%timeit":
            return True
    return False


def is_magic(statement: cst.CSTNode) -> bool:
    """Return whether a statement is a name behind which a line is hidden."""
    inner = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) and statement.body else None
    value = inner.value if isinstance(inner, cst.Expr) else None
    return isinstance(value, cst.Name) and value.value.startswith(("__fray_magic_", "__fray_rest_"))


def _magic_of(line: str) -> re.Match[str] | None:
    return _HELP.fullmatch(line) or _ESCAPED.fullmatch(line) or _ASSIGNED.fullmatch(line)


def _end(lines: Sequence[str], start: int) -> int:
    """Return the index behind the last line of the statement, comment or empty line that begins at `start`."""
    if not lines[start].strip() or lines[start].lstrip().startswith("#") or _magic_of(lines[start]) is not None:
        return start + 1
    rest = iter(lines[start:])
    try:
        for token in tokenize.generate_tokens(lambda: next(rest, "")):
            if token.type == tokenize.NEWLINE:
                return start + token.end[0]
    except (tokenize.TokenError, SyntaxError):
        pass  # an open bracket or string, or no Python at all
    return start + 1


def _end_of_continued(lines: Sequence[str], start: int) -> int:
    end = start + 1
    while end < len(lines) and lines[end - 1].rstrip("\r\n").endswith("\\"):
        end += 1
    return end


def _without_end(line: str) -> tuple[str, str]:
    body = line.rstrip("\r\n")
    return body, line[len(body) :]


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True
