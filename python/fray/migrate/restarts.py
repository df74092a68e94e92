"""Finds the functions that start or end the engine, and the places that run them.

A function is known by its name alone here: a call of another function of that name counts, too. The only cost of that
is a context that is looked up more often than it needs to be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

from fray.migrate.source import Source

__all__ = ["Restarts"]

_MAKES = ("__init__", "__new__", "__post_init__")
_ENTERS = ("__enter__", "__aenter__")
_LEAVES = ("__exit__", "__aexit__")


class Restarts:
    """The functions of all programs that start or end the engine, themselves or through others.

    Args:
        sources: all programs that are moved together.
        changes: the nodes that start or end the engine, each with its program.
    """

    def __init__(self, sources: Sequence[Source], changes: Iterable[tuple[Source, cst.CSTNode]]) -> None:
        self._names: set[str] = set()
        for source, node in changes:
            self._note(source, node)
        known = -1
        while self._names and known != len(self._names):
            known = len(self._names)
            for source in sources:
                for node in self.places(source):
                    self._note(source, node)

    def places(self, source: Source) -> list[cst.CSTNode]:
        """Return the nodes of a program that may run one of these functions."""
        return [node for node in source.nodes() if self._may_run(source, node)] if self._names else []

    def _note(self, source: Source, node: cst.CSTNode) -> None:
        function = source.function_of(node)
        while function is not None:
            if isinstance(function, cst.FunctionDef):
                self._names.add(function.name.value)
                owner = source.class_of(function)
                if function.name.value in _MAKES and owner is not None:
                    self._names.add(owner.name.value)
            function = source.function_of(function)

    def _may_run(self, source: Source, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.With):
            return not self._names.isdisjoint((*_ENTERS, *_LEAVES))
        if isinstance(node, cst.Attribute):
            return node.attr.value in self._names
        if not isinstance(node, cst.Name) or node.value not in self._names:
            return False
        parent = source.parent(node)
        return not isinstance(parent, (cst.FunctionDef, cst.ClassDef, cst.ImportAlias, cst.AsName, cst.Attribute))
