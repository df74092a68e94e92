"""`Assignments`: the values that the programs put into lists and dicts, and into the fields of objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import libcst as cst

from fray.migrate.source import Project, Source, dotted

__all__ = ["Assigned", "Assignments"]

_GROWING = ("append", "add", "appendleft", "insert", "put")


class Assigned(NamedTuple):
    """A value that a statement assigns or adds."""

    source: Source
    value: cst.BaseExpression
    many: bool
    """Whether the items of the value are meant, one of them or all."""


class Assignments:
    """Knows the assignments and the calls that add items, by the variable or field; it infers no kinds.

    Args:
        project: all given programs.
    """

    def __init__(self, project: Project) -> None:
        self._grown: dict[tuple[int, str], list[Assigned]] = {}
        self._fields: dict[tuple[int, str], list[Assigned]] = {}
        for source in project.sources:
            for node in source.nodes():
                if isinstance(node, cst.Assign):
                    for target in node.targets:
                        self._note_target(source, target.target, node.value)
                elif isinstance(node, cst.AnnAssign) and node.value is not None:
                    self._note_target(source, node.target, node.value)
                elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.args:
                    if node.func.attr.value in _GROWING:
                        self._note_item(source, node.func.value, node.args[-1].value, False)
                    elif node.func.attr.value in ("extend", "update"):
                        self._note_item(source, node.func.value, node.args[-1].value, True)

    def added_to(self, variable: tuple[int, str]) -> Sequence[Assigned]:
        """Return what is added to the list or dict in a variable or field: the id of its scope or class, its name."""
        return self._grown.get(variable, ())

    def assigned_to(self, field: tuple[int, str]) -> Sequence[Assigned]:
        """Return what is assigned to a field: the id of its class, its name."""
        return self._fields.get(field, ())

    def _note_target(self, source: Source, target: cst.BaseExpression, value: cst.BaseExpression) -> None:
        if isinstance(target, cst.Subscript):
            self._note_item(source, target.value, value, False)
        elif isinstance(target, cst.Attribute):
            owner = source.class_of(target)
            if dotted(target.value) in ("self", "cls") and owner is not None:
                self._fields.setdefault((id(owner), target.attr.value), []).append(Assigned(source, value, False))
        elif isinstance(target, (cst.Tuple, cst.List)):
            for element in target.elements:
                if isinstance(element.value, cst.Attribute):
                    owner = source.class_of(target)
                    if dotted(element.value.value) == "self" and owner is not None:
                        key = (id(owner), element.value.attr.value)
                        self._fields.setdefault(key, []).append(Assigned(source, value, True))

    def _note_item(self, source: Source, base: cst.BaseExpression, value: cst.BaseExpression, many: bool) -> None:
        key = _variable(source, base)
        if key is not None:
            self._grown.setdefault(key, []).append(Assigned(source, value, many))


def _variable(source: Source, base: cst.BaseExpression) -> tuple[int, str] | None:
    if isinstance(base, cst.Name):
        return source.variable(base)
    if isinstance(base, cst.Attribute) and dotted(base.value) == "self":
        owner = source.class_of(base)
        return None if owner is None else (id(owner), base.attr.value)
    return None
