"""Finds the code blocks of a document.

Three kinds: fenced blocks of Markdown; runs of Python lines in a document that is plain text throughout (Markdown's
fences are then absent); and programs inside a sentence, in single backticks. A span in backticks is a program when it
is a call with an argument, a ``from ... import ...`` or ``NAME=value``; a bare name such as ``ray.get()`` is a mention.
"""

from __future__ import annotations

import ast
import hashlib
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Block", "read"]

_FENCE = re.compile(r"^ *(```+|~~~+) *(\w*)[^\n]*\n(.*?)^ *\1 *$", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
_SETTING = re.compile(r"[A-Z][A-Z_]+=\S+")
_SIGNATURE = re.compile(r"\w+\(\w+: .*\)")
_STARTS_CODE = re.compile(r"(def|class|from|import|with|if|for) |[@#]|[\w.]+\(|\w+ = ")


@dataclass(frozen=True)
class Block:
    """One piece of code of a document.

    Attributes:
        id: the document's number and the block's ordinal in it, such as ``"004.7"``.
        heading: of the section that it stands in.
        kind: ``fenced``, ``plain`` or ``inline``.
        language: as its fence says; ``python`` for the other kinds, ``shell`` for ``NAME=value``.
        hash: what tells its text from any other.
        code: its text, without the document's indentation.
    """

    id: str
    heading: str
    kind: str
    language: str
    hash: str
    code: str

    @property
    def is_program(self) -> bool:
        """Return whether it can concern Fray: it is Python, or a setting of a variable."""
        return self.language in ("python", "shell")


@dataclass(frozen=True)
class _Found:
    line: int
    kind: str
    language: str
    code: str


def read(path: Path) -> list[Block]:
    """Return the blocks of the document at `path`, in their order; its file's name begins with its number."""
    text = path.read_text()
    number = path.name.split("_")[0]
    fenced = list(_fenced(text))
    if fenced:
        rest = _FENCE.sub(_blank, text)
        found = [*fenced, *_inline(rest)]
        headings = {_line_of(rest, match.start()): match.group(1) for match in _HEADING.finditer(rest)}
    else:
        lines = _without_margin(text.splitlines())
        found = list(_plain(lines))
        taken = {line for block in found for line in range(block.line, block.line + len(block.code.splitlines()))}
        headings = {index: line for index, line in enumerate(lines) if index not in taken and _is_title(lines, index)}
    found.sort(key=lambda block: block.line)
    return [
        Block(f"{number}.{ordinal}", _heading_of(block, headings), block.kind, block.language, _hash(block), block.code)
        for ordinal, block in enumerate(found, 1)
    ]


def _hash(block: _Found) -> str:
    return hashlib.sha256(block.code.encode()).hexdigest()[:16]


def _line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position)


def _blank(match: re.Match[str]) -> str:
    return "\n" * match.group().count("\n")


def _heading_of(block: _Found, headings: dict[int, str]) -> str:
    before = [line for line in headings if line <= block.line]
    return headings[max(before)].strip() if before else ""


# ---- Markdown


def _fenced(text: str) -> Iterator[_Found]:
    for match in _FENCE.finditer(text):
        code = textwrap.dedent(match.group(3))
        yield _Found(_line_of(text, match.start()), "fenced", match.group(2) or "text", code)


def _inline(text: str) -> Iterator[_Found]:
    for match in _INLINE.finditer(text):
        code = " ".join(match.group(1).split())
        line = _line_of(text, match.start())
        if _SETTING.fullmatch(code):
            yield _Found(line, "inline", "shell", code + "\n")
        elif _is_program(code):
            yield _Found(line, "inline", "python", code + "\n")


def _is_program(code: str) -> bool:
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except SyntaxError:
        return False
    return any(
        isinstance(node, ast.ImportFrom) or (isinstance(node, ast.Call) and bool(node.args or node.keywords))
        for node in nodes
    )


# ---- plain text


def _without_margin(lines: list[str]) -> list[str]:
    """Take away the indentation that the first line has, as a paste from a terminal gives it to all lines."""
    first = next((line for line in lines if line.strip()), "")
    margin = first[: len(first) - len(first.lstrip())]
    return [line.removeprefix(margin) for line in lines]


def _plain(lines: list[str]) -> Iterator[_Found]:
    """Find code among prose of the same indentation: from a line that starts code, as far as it parses as Python."""
    index = 0
    while index < len(lines):
        end = _end_of_code(lines, index) if _STARTS_CODE.match(lines[index]) else index
        if end == index and _SIGNATURE.fullmatch(lines[index]):
            end = index + 1
        if end > index:
            yield _Found(index, "plain", "python", "\n".join(lines[index:end]) + "\n")
        index = max(end, index + 1)


def _end_of_code(lines: list[str], start: int) -> int:
    """Return the line after the longest run from `start` that is Python; `start` where there is none."""
    for end in range(len(lines), start, -1):
        if not lines[end - 1].strip():
            continue
        try:
            tree = ast.parse("\n".join(lines[start:end]))
        except SyntaxError:
            continue
        kept = list(_leading_code(tree))
        return start + (kept[-1].end_lineno or 0) if kept else start
    return start


def _leading_code(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield the statements before the first that is only by chance Python: a word, a dash before a path."""
    for statement in tree.body:
        if isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Call):
            return
        if isinstance(statement, ast.AnnAssign) and statement.value is None:
            return
        yield statement


def _is_title(lines: list[str], index: int) -> bool:
    """Return whether a line stands alone, is short and is neither an item nor a sentence."""
    line = lines[index].rstrip()
    alone = (index == 0 or not lines[index - 1].strip()) and (index + 1 == len(lines) or not lines[index + 1].strip())
    return alone and bool(line) and line[0].isalpha() and not line.endswith((".", ",", ":")) and len(line) <= 80
