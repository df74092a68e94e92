"""Which functions and classes of a program for Fray can be decorated with ``@ray.remote``."""

from __future__ import annotations

import libcst as cst

from fray.migrate.fray_side import TaskCall, context_verb
from fray.migrate.inference import Kinds
from fray.migrate.kinds import Function, PlainClass
from fray.migrate.source import Source

__all__ = ["find_decorated"]


def find_decorated(kinds: Kinds) -> set[int]:
    """Return the ids of those whose only uses are tasks and actors: a decorator changes every use."""
    started: set[int] = set()
    others: set[int] = set()
    for source in kinds.project.sources:
        for node in source.nodes():
            if not isinstance(node, (cst.Name, cst.Attribute)):
                continue
            if isinstance(node, cst.Name) and not source.bindings(node):
                continue
            kind = kinds.of(source, node)
            if not isinstance(kind, (Function, PlainClass)) or isinstance(kind.node, cst.Lambda):
                continue
            parent = source.parent(node)
            if isinstance(parent, (cst.FunctionDef, cst.ClassDef)) and parent.name is node:
                continue
            if _is_started(kinds, source, node) and not _is_method(kind):
                started.add(id(kind.node))
            elif not (isinstance(kind, PlainClass) and _is_harmless(source, node)):
                others.add(id(kind.node))
    return started - others


def _is_started(kinds: Kinds, source: Source, node: cst.BaseExpression) -> bool:
    parent = source.parent(node)
    around = source.parent(parent) if isinstance(parent, cst.Arg) else None
    if not isinstance(around, cst.Call) or around.args[0] is not parent:
        return False
    verb = context_verb(kinds, source, around.func)
    if verb == "create_task":
        options = TaskCall(around.args).options
        return options is None or "max_calls" not in source.code(options)
    return verb in ("run", "create_actor")


def _is_method(kind: Function | PlainClass) -> bool:
    block = kind.source.parent(kind.node)
    return isinstance(kind, Function) and block is not None and isinstance(kind.source.parent(block), cst.ClassDef)


def _is_harmless(source: Source, node: cst.CSTNode) -> bool:
    parent = source.parent(node)
    if isinstance(parent, cst.Attribute) and parent.value is node:
        return not parent.attr.value.startswith("_")
    return any(isinstance(item, cst.Annotation) for item in source.ancestors(node))
