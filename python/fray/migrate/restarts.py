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
"""Methods that a call of their class runs."""
_SURROUNDS = ("__enter__", "__aenter__", "__exit__", "__aexit__")
"""Methods that a `with` statement runs."""


class Restarts:
    """The functions of all programs that start or end the engine, themselves or through others.

    Args:
        sources: all programs that are moved together.
        changes: the nodes that start or end the engine, each with its program.
    """

    def __init__(self, sources: Sequence[Source], changes: Iterable[tuple[Source, cst.CSTNode]]) -> None:
        self._places: dict[Source, list[cst.CSTNode]] = {}
        waiting = {name for source, node in changes for name in _functions_around(source, node)}
        uses = _uses_of_names(sources) if waiting else {}
        seen: set[str] = set()
        while waiting:
            name = waiting.pop()
            seen.add(name)
            for source, node in uses.get(name, ()):
                self._places.setdefault(source, []).append(node)
                waiting |= _functions_around(source, node) - seen

    def places(self, source: Source) -> Sequence[cst.CSTNode]:
        """Return the nodes of a program that may run one of these functions."""
        return self._places.get(source, ())


def _uses_of_names(sources: Sequence[Source]) -> dict[str, list[tuple[Source, cst.CSTNode]]]:
    """Return the nodes that may run a function or method, by the name of that."""
    found: dict[str, list[tuple[Source, cst.CSTNode]]] = {}
    for source in sources:
        for node in source.nodes():
            if isinstance(node, cst.With):
                for name in _SURROUNDS:
                    found.setdefault(name, []).append((source, node))
            elif isinstance(node, cst.Attribute):
                found.setdefault(node.attr.value, []).append((source, node))
            elif isinstance(node, cst.Name) and not _is_no_use(source.parent(node)):
                found.setdefault(node.value, []).append((source, node))
    return found


def _is_no_use(parent: cst.CSTNode | None) -> bool:
    """Return whether a name below `parent` is bound there, or is a part of an attribute, which counts as a whole."""
    parts = (cst.Attribute, cst.AssignTarget, cst.AsName, cst.ClassDef, cst.FunctionDef, cst.ImportAlias, cst.Param)
    return isinstance(parent, parts)


def _functions_around(source: Source, node: cst.CSTNode) -> set[str]:
    """Return the names by which the functions whose bodies contain `node` are run."""
    found: set[str] = set()
    function = source.function_of(node)
    while function is not None:
        if isinstance(function, cst.FunctionDef):
            found.add(function.name.value)
            owner = source.class_of(function)
            if function.name.value in _MAKES and owner is not None:
                found.add(owner.name.value)
        elif isinstance(assigned := source.parent(function), cst.Assign):
            found |= {target.target.value for target in assigned.targets if isinstance(target.target, cst.Name)}
        function = source.function_of(function)
    return found
