"""Decides which sites are replaced: those that are not connected with a blocker.

A ref or handle of Fray must not reach code that stays on Ray, nor the other way round. So everything that a ref or
handle may pass through is connected: the variables of a statement, a function and its body, a definition and its users,
in all files. A connected component moves as a whole or stays as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import libcst as cst
from libcst.metadata import Assignment, ImportAssignment

from fray.migrate.inference import Kinds
from fray.migrate.kinds import Function, PlainClass, Remote
from fray.migrate.sites import Found, Site
from fray.migrate.source import Source, dotted

__all__ = ["Plan", "make_plan"]


@dataclass
class Plan:
    """The decision.

    Args:
        active: the ids of the nodes whose sites are replaced.
        on_ray: the sources in which Ray stays the engine, at least in part.
    """

    active: set[int] = field(default_factory=set[int])
    on_ray: set[Source] = field(default_factory=set[Source])


class _Union:
    """Disjoint sets (union-find): the representatives of two keys are equal if the keys are connected."""

    def __init__(self) -> None:
        self._parent: dict[Any, Any] = {}

    def find(self, key: Any) -> Any:
        root = key
        while (parent := self._parent.setdefault(root, root)) != root:
            root = parent
        while self._parent[key] != root:
            self._parent[key], key = root, self._parent[key]
        return root

    def join(self, one: Any, other: Any) -> None:
        self._parent[self.find(one)] = self.find(other)


def make_plan(kinds: Kinds, found: Sequence[Found]) -> Plan:
    """Decide which sites are replaced."""
    union = _Union()
    for item in found:
        _connect(kinds, item.source, union)
        for one, other in item.links:
            union.join(("node", id(one)), ("node", id(other)))
    plan = Plan()
    groups = _groups(kinds, found)
    for group in groups:
        _promote(group)
    held = {union.find(("node", id(item.node))) for part in found for item in part.blockers if not item.reason.apart}
    for part in found:
        held |= {union.find(("node", id(site.node))) for site in part.sites if part.source.fixed is not None}
    for group in groups:
        stays = any(part.blockers for part in group)
        moved: list[Site] = []
        for part in group:
            for site in part.sites:
                if site.role:
                    continue
                if union.find(("node", id(site.node))) in held:
                    stays = True
                else:
                    moved.append(site)
        if stays:
            plan.on_ray |= {part.source for part in group}
        plan.active |= {id(site.node) for site in moved}
        fixed = any(site.role and part.source.fixed is not None for part in group for site in part.sites)
        if not stays and not fixed:
            plan.active |= {id(site.node) for part in group for site in part.sites if site.role}
    return plan


def _promote(group: Sequence[Found]) -> None:
    """Make blockers that need the same running Ray hold their component, if the programs do not start Ray themselves.

    Without ``ray.init``, Ray starts with the first task, which would be gone if the tasks beside them were moved.
    """
    from dataclasses import replace

    starts = any(site.role == "init" for part in group for site in part.sites) or any(
        item.reason.why.startswith(("ray.init", "what ray.init")) for part in group for item in part.blockers
    )
    if starts:
        return
    for part in group:
        for item in part.blockers:
            if item.reason.apart and "same Ray" in item.reason.what:
                item.reason = replace(item.reason, what="call ray.init first, or keep this on Ray", apart=False)


def _groups(kinds: Kinds, found: Sequence[Found]) -> list[list[Found]]:
    """Return the sources in groups: those that import each other share the choice of the engine."""
    union = _Union()
    for item in found:
        for node in item.source.nodes():
            if isinstance(node, (cst.Import, cst.ImportFrom)):
                for other in kinds.project.imported_sources(item.source, node):
                    union.join(id(item.source), id(other))
        if item.source.path.name == "conftest.py":
            for other in found:
                if item.source.path.parent in other.source.path.parents:
                    union.join(id(item.source), id(other.source))
    groups: dict[Any, list[Found]] = {}
    for item in found:
        groups.setdefault(union.find(id(item.source)), []).append(item)
    return list(groups.values())


def _connect(kinds: Kinds, source: Source, union: _Union) -> None:
    for node in source.nodes():
        if isinstance(node, (cst.FunctionDef, cst.Lambda)):
            for param in _params(node):
                key = source.variable(param.name)
                if key is not None:
                    union.join(("var", key), ("node", id(node)))
        if isinstance(node, cst.FunctionDef):
            owner = source.parent(source.parent(node) or node)
            if isinstance(owner, cst.ClassDef):
                union.join(("node", id(node)), ("node", id(owner)))
        if isinstance(node, (cst.Attribute, cst.Name)):
            statement = source.statement_of(node)
            for key in _keys(kinds, source, node):
                union.join(key, ("node", id(statement)))
        elif isinstance(node, (cst.Call, cst.Decorator, cst.UnaryOperation, cst.Subscript, cst.BinaryOperation)):
            union.join(("node", id(node)), ("node", id(source.statement_of(node))))
        if isinstance(node, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
            for above in source.ancestors(node):
                if isinstance(
                    above, (cst.Try, cst.TryStar)
                ):  # its handlers name the errors of the library that raises them
                    union.join(("node", id(node)), ("node", id(above)))
            function = source.function_of(node)
            if function is not None:
                union.join(("node", id(node)), ("node", id(function)))
            else:
                owner = source.class_of(node)
                if owner is not None and owner is not node:
                    union.join(("node", id(node)), ("node", id(owner)))


def _params(node: cst.FunctionDef | cst.Lambda) -> list[cst.Param]:
    params = node.params
    found = [*params.posonly_params, *params.params, *params.kwonly_params]
    return [*found, *(item for item in (params.star_arg, params.star_kwarg) if isinstance(item, cst.Param))]


def _keys(kinds: Kinds, source: Source, node: cst.Name | cst.Attribute) -> list[Any]:
    """Return the keys of everything that `node` names and a ref may pass through, and that of the node itself."""
    keys: list[Any] = [("node", id(node))]
    if isinstance(node, cst.Attribute):
        if dotted(node.value) == "self":
            owner = source.class_of(node)
            keys.append(("field", id(owner), node.attr.value))
        kind = kinds.of(source, node)
    else:
        bindings = source.bindings(node)
        kind = kinds.of(source, node)
        if not isinstance(kind, (Function, PlainClass, Remote)):
            for binding in bindings:
                if isinstance(binding, ImportAssignment):
                    keys += _imported_key(kinds, source, binding, node.value)
                elif isinstance(binding, Assignment) and not isinstance(binding.node, (cst.FunctionDef, cst.ClassDef)):
                    keys.append(("var", (id(binding.scope), node.value)))
    if isinstance(kind, (Function, PlainClass)):
        keys.append(("node", id(kind.node)))
    elif isinstance(kind, Remote) and kind.definition is not None:
        keys.append(("node", id(kind.definition.node)))
        if kind.definition.plain is not None:
            keys.append(("node", id(kind.definition.plain)))
    return keys


def _imported_key(kinds: Kinds, source: Source, binding: ImportAssignment, name: str) -> list[Any]:
    """Return the key of the variable of another file that an import statement binds; empty if it binds none."""
    if not isinstance(binding.node, cst.ImportFrom):
        return []
    module, inner = kinds.project.imported(source, binding.node, name) or (None, None)
    scope = module.scope(module.module.body[0]) if module is not None and module.module.body else None
    return [] if inner is None or scope is None else [("var", (id(scope.globals), inner))]
