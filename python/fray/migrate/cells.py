"""The marks that stand before the code of each cell in the program of a notebook."""

from __future__ import annotations

import re
from typing import NamedTuple

import libcst as cst

__all__ = ["MARKED", "Mark", "mark", "mark_of", "timed_statements"]

MARKED = re.compile(r"^__fray_cell_(\d+)(_timed)?__$", re.MULTILINE)
"""Matches the mark of a cell, with the index of the cell."""


class Mark(NamedTuple):
    """The beginning of a cell.

    Args:
        cell: the index of the cell.
        timed: whether IPython runs its code in a function, where the names that it binds are local.
    """

    cell: int
    timed: bool


def mark(cell: int, timed: bool) -> str:
    """Return the line that marks the beginning of a cell."""
    return f"__fray_cell_{cell}{'_timed' if timed else ''}__\n"


def mark_of(statement: cst.CSTNode) -> Mark | None:
    """Return the mark that `statement` is; None if it is none."""
    if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
        inner = statement.body[0]
        if isinstance(inner, cst.Expr) and isinstance(inner.value, cst.Name):
            match = MARKED.fullmatch(inner.value.value)
            return None if match is None else Mark(int(match[1]), match[2] is not None)
    return None


def timed_statements(module: cst.Module) -> set[int]:
    """Return the ids of the statements of a module that are in timed cells."""
    found: set[int] = set()
    timed = False
    for statement in module.body:
        here = mark_of(statement)
        timed = timed if here is None else here.timed
        if timed:
            found.add(id(statement))
    return found
