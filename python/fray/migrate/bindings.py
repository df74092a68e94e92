"""`Bindings`: the kinds of names, from all that is ever bound to them."""

from __future__ import annotations

from typing import Protocol

import libcst as cst
from libcst.metadata import Assignment, ImportAssignment

from fray.migrate.answers import Answers
from fray.migrate.assignments import Assigned, Assignments
from fray.migrate.calls import Calls
from fray.migrate.kinds import (
    NOTHING,
    PLAIN,
    UNKNOWN,
    Definition,
    DictOf,
    Function,
    Instance,
    Items,
    Kind,
    Module,
    PlainClass,
    Ref,
    Remote,
    item_of,
    iterated,
    join,
    method_of,
)
from fray.migrate.source import Project, Source, dotted

__all__ = ["SEQUENCE_CALLS", "Bindings", "Expressions"]

SEQUENCE_CALLS = ("list", "tuple", "sorted", "reversed", "set", "iter")
"""Builtins that return the items of what they are given."""


class Expressions(Protocol):
    """What the kinds of names follow from."""

    def of(self, source: Source, node: cst.BaseExpression) -> Kind: ...
    def definition(self, source: Source, node: cst.FunctionDef | cst.ClassDef) -> Definition | None: ...
    def annotated(self, source: Source, annotation: cst.BaseExpression) -> Kind | None: ...


class Bindings:
    """Infers the kinds of variables, parameters, imported names and fields.

    Args:
        expressions: tells the kinds of the expressions that are bound.
        project: all given programs.
        calls: the calls of the functions of the project.
        answers: those of `expressions`, which may depend on the kinds of names.
    """

    def __init__(self, expressions: Expressions, project: Project, calls: Calls, answers: Answers[Kind]) -> None:
        self._expressions = expressions
        self._project = project
        self._calls = calls
        self._answers = answers
        self._assignments = Assignments(project)

    def name(self, source: Source, node: cst.Name) -> Kind:
        """Return the kind of a name."""
        if node.value == "None":
            return NOTHING
        if node.value in ("True", "False"):
            return PLAIN
        bindings = source.bindings(node)
        if not bindings:
            return self._starred(source, node.value)
        kinds = [self._binding(source, binding) for binding in bindings]
        kind = join(kinds)
        key = source.variable(node)
        return kind if key is None else self._with_items(kind, key)

    def elsewhere(self, source: Source, node: cst.Name) -> Kind:
        """Return the kind of a name by what binds it other than the statement around `node`."""
        line = source.statement_of(node)
        bindings = [
            binding
            for binding in source.bindings(node)
            if not isinstance(binding, Assignment) or source.statement_of(binding.node) is not line
        ]
        return join(self._binding(source, binding) for binding in bindings) if bindings else UNKNOWN

    def global_kind(self, source: Source, name: str) -> Kind:
        """Return the kind of a global variable of the module `source`."""
        scope = source.scope(source.module.body[0]) if source.module.body else None
        if scope is None:
            return UNKNOWN
        bindings = scope.globals[name]
        question = -1 - abs(hash((id(source), name)))  # negative, so never the id of a node

        def answer() -> Kind:
            if not bindings:
                return self._starred(source, name)
            return join([self._binding(source, binding) for binding in bindings])

        kind = self._answers.of(question, answer)
        return self._with_items(kind, (id(scope.globals), name))

    def _starred(self, source: Source, name: str) -> Kind:
        """Return the kind of a name that an ``import *`` of `source` may have bound; UNKNOWN if none has."""
        for module in self._project.starred(source):
            kind = self.global_kind(module, name)
            if kind is not UNKNOWN:
                return kind
        return UNKNOWN

    def _kind_of(self, assigned: Assigned) -> Kind:
        kind = self._expressions.of(assigned.source, assigned.value)
        return item_of(kind) if assigned.many else kind

    def _with_items(self, kind: Kind, key: tuple[int, str]) -> Kind:
        grown = [self._kind_of(item) for item in self._assignments.added_to(key)]
        if grown and isinstance(kind, Items):
            return Items(join([kind.item, *grown]))
        if grown and isinstance(kind, DictOf):
            return DictOf(join([kind.value, *grown]))
        return kind

    def field(self, source: Source, node: cst.ClassDef, name: str) -> Kind:
        """Return the kind of a field or method of the objects of a class."""
        assigned = self._assignments.assigned_to((id(node), name))
        if assigned:
            return self._with_items(join(self._kind_of(item) for item in assigned), (id(node), name))
        method = method_of(node, name)
        if method is not None:
            definition = self._expressions.definition(source, method)
            return UNKNOWN if definition is not None else Function(source, method)
        return UNKNOWN

    def _binding(self, source: Source, binding: object) -> Kind:
        if isinstance(binding, ImportAssignment):
            node = binding.node
            if isinstance(node, (cst.Import, cst.ImportFrom)):
                return self._imported(source, node, binding.name)
            return UNKNOWN
        if not isinstance(binding, Assignment):
            return PLAIN  # a builtin
        node = binding.node
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            return self._defined(source, node)
        if isinstance(node, cst.Param):
            return self._param(source, node)
        if isinstance(node, cst.Name):
            return self._target(source, node)
        return UNKNOWN

    def _defined(self, source: Source, node: cst.FunctionDef | cst.ClassDef) -> Kind:
        definition = self._expressions.definition(source, node)
        if definition is not None:
            return Remote(definition.is_actor, definition)
        return Function(source, node) if isinstance(node, cst.FunctionDef) else PlainClass(source, node)

    def _imported(self, source: Source, node: cst.Import | cst.ImportFrom, name: str) -> Kind:
        found = self._project.imported(source, node, name)
        if found is None:
            return UNKNOWN
        module, attribute = found
        return Module(module) if attribute is None else self.global_kind(module, attribute)

    def _param(self, source: Source, node: cst.Param) -> Kind:
        function = next(
            (item for item in source.ancestors(node) if isinstance(item, (cst.FunctionDef, cst.Lambda))), None
        )
        if node.annotation is not None:
            told = self._expressions.annotated(source, node.annotation.annotation)
            if told is not None:
                return told
        if not isinstance(function, cst.FunctionDef) or node.star in ("*", "**"):
            return UNKNOWN
        params = [*function.params.posonly_params, *function.params.params]
        owner = source.parent(source.parent(function) or function)
        in_class = isinstance(owner, cst.ClassDef) and not _is_static(function)
        if in_class and params and params[0] is node:
            assert isinstance(owner, cst.ClassDef)
            return Instance(source, owner)
        calls = self._calls.of(function)
        if not calls:
            return UNKNOWN
        index = params.index(node) - in_class if node in params else None
        given: list[Kind] = []
        for call in calls:
            if node.name.value in call.keywords:
                value = call.keywords[node.name.value]
            elif index is not None and index < len(call.args):
                value = call.args[index]
            else:
                continue
            kind = self._expressions.of(call.source, value)
            given.append(kind.value if isinstance(kind, Ref) and call.resolves else kind)
        return join(given) if given else UNKNOWN

    def _target(self, source: Source, name: cst.Name) -> Kind:
        """Return the kind of the value that a statement binds to the variable `name`."""
        parent = source.parent(name)
        if isinstance(parent, cst.AssignTarget):
            statement = source.parent(parent)
            return self._expressions.of(source, statement.value) if isinstance(statement, cst.Assign) else UNKNOWN
        if isinstance(parent, cst.AnnAssign):
            told = self._expressions.annotated(source, parent.annotation.annotation)
            if told is not None:
                return told
            return UNKNOWN if parent.value is None else self._expressions.of(source, parent.value)
        if isinstance(parent, (cst.For, cst.CompFor)):
            return iterated(self._expressions.of(source, parent.iter))
        if isinstance(parent, cst.NamedExpr):
            return self._expressions.of(source, parent.value)
        if isinstance(parent, cst.AugAssign):
            return self._expressions.of(source, parent.value)
        if isinstance(parent, cst.AsName):
            return self._as_name(source, parent)
        if isinstance(parent, cst.Element):
            return self._unpacked(source, parent)
        return UNKNOWN

    def _as_name(self, source: Source, node: cst.AsName) -> Kind:
        item = source.parent(node)
        return self._expressions.of(source, item.item) if isinstance(item, cst.WithItem) else UNKNOWN

    def _unpacked(self, source: Source, element: cst.Element) -> Kind:
        group = source.parent(element)
        holder = source.parent(group) if group is not None else None
        if not isinstance(group, (cst.Tuple, cst.List)):
            return UNKNOWN
        index = next(number for number, item in enumerate(group.elements) if item is element)
        value: cst.BaseExpression | None = None
        looped = False
        if isinstance(holder, cst.AssignTarget):
            statement = source.parent(holder)
            value = statement.value if isinstance(statement, cst.Assign) else None
        elif isinstance(holder, (cst.For, cst.CompFor)):
            value, looped = holder.iter, True
        if value is None:
            return UNKNOWN
        if looped:
            return self._zipped(source, value, index)
        if isinstance(value, (cst.Tuple, cst.List)) and len(value.elements) == len(group.elements):
            return self._expressions.of(source, value.elements[index].value)
        return item_of(self._expressions.of(source, value))

    def _zipped(self, source: Source, value: cst.BaseExpression, index: int) -> Kind:
        """Return the kind of the element `index` of each item of `value`, as for ``b`` in ``for a, b in zip(x, y)``."""
        if isinstance(value, cst.Call):
            name = dotted(value.func)
            if name in SEQUENCE_CALLS and value.args and not value.args[0].star:
                return self._zipped(source, value.args[0].value, index)
            if name == "enumerate" and value.args:
                return PLAIN if index == 0 else iterated(self._expressions.of(source, value.args[0].value))
            if name == "zip" and index < len(value.args):
                return iterated(self._expressions.of(source, value.args[index].value))
            if isinstance(value.func, cst.Attribute) and value.func.attr.value == "items":
                base = self._expressions.of(source, value.func.value)
                return base.value if isinstance(base, DictOf) and index == 1 else PLAIN
        return item_of(iterated(self._expressions.of(source, value)))


def _is_static(function: cst.FunctionDef) -> bool:
    return any(dotted(item.decorator) == "staticmethod" for item in function.decorators)
