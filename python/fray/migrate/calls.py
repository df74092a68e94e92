"""`Calls`: the calls of each function of the programs, which give its parameters their kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from fray.migrate.kinds import Function, Kind, Method, PlainClass, Remote, method_of
from fray.migrate.source import Project, Source

__all__ = ["Call", "Calls", "plain_call"]


@dataclass(frozen=True)
class Call:
    """The arguments of one call."""

    source: Source
    args: tuple[cst.BaseExpression, ...]
    keywords: Mapping[str, cst.BaseExpression]
    resolves: bool = False
    """Whether refs among the arguments arrive as their values, as those of tasks and actor calls do."""


def plain_call(source: Source, args: Iterable[cst.Arg]) -> Call | None:
    """Return the arguments by position and by keyword; None if one is unpacked with ``*`` or ``**``."""
    positional: list[cst.BaseExpression] = []
    keywords: dict[str, cst.BaseExpression] = {}
    for arg in args:
        if arg.star:
            return None
        if arg.keyword is not None:
            keywords[arg.keyword.value] = arg.value
        else:
            positional.append(arg.value)
    return Call(source, tuple(positional), keywords)


class Calls:
    """Knows the calls of each function, as far as a look over the programs has found them.

    Args:
        project: all given programs.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        self._known: dict[int, list[Call]] = {}

    def of(self, function: cst.FunctionDef) -> Sequence[Call]:
        """Return the known calls of `function`."""
        return self._known.get(id(function), ())

    def look(self, called: Callable[[Source, cst.Call], tuple[Kind, Call | None] | None]) -> bool:
        """Look for calls anew; return whether their number has changed.

        Args:
            called: returns what a call of a program runs, and its arguments; None where nothing is known.
        """
        before = sum(len(calls) for calls in self._known.values())
        found: dict[int, list[Call]] = {}
        for source in self._project.sources:
            for node in source.nodes():
                known = called(source, node) if isinstance(node, cst.Call) else None
                if known is None:
                    continue
                function = _function_called(known[0])
                if function is not None and known[1] is not None:
                    found.setdefault(id(function), []).append(known[1])
        self._known = found
        return sum(len(calls) for calls in found.values()) != before


def _function_called(callee: Kind) -> cst.FunctionDef | None:
    if isinstance(callee, Function) and isinstance(callee.node, cst.FunctionDef):
        return callee.node
    if isinstance(callee, PlainClass):
        return method_of(callee.node, "__init__")
    if isinstance(callee, Remote) and callee.definition is not None:
        plain = callee.definition.plain
        return method_of(plain, "__init__") if isinstance(plain, cst.ClassDef) else plain
    if isinstance(callee, Method) and callee.definition is not None:
        plain = callee.definition.plain
        return method_of(plain, callee.name) if isinstance(plain, cst.ClassDef) else None
    return None
