"""`Kinds`: infers what the expressions of programs stand for; see `fray.migrate.kinds`.

The inference does not follow the flow of control: the kind of a variable joins those of all values that are ever
assigned to it, and the kind of a parameter joins those of all arguments that any of the given programs passes for it.
Kinds that do not agree join to `UNKNOWN`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import libcst as cst

from fray.migrate.answers import Answers
from fray.migrate.bindings import SEQUENCE_CALLS, Bindings
from fray.migrate.calls import Call, Calls, plain_call
from fray.migrate.kinds import (
    NOTHING,
    PLAIN,
    SURROUNDINGS,
    UNKNOWN,
    Definition,
    DictOf,
    Function,
    Handle,
    Instance,
    Items,
    Kind,
    Method,
    Module,
    PlainClass,
    Ref,
    Remote,
    item_of,
    iterated,
    join,
    method_of,
    methods_of,
)
from fray.migrate.source import Project, Source, dotted

__all__ = ["Api", "Kinds"]


class Api(Protocol):
    """The knowledge of one library: how a program that uses it defines and starts tasks and actors."""

    def decorated(self, source: Source, node: cst.FunctionDef | cst.ClassDef) -> Definition | None:
        """Return the remote function or actor class that decorators make of `node`; None without such a decorator."""
        ...

    def name_kind(self, name: str) -> Kind | None:
        """Return the kind of a name of the library."""
        ...

    def call_kind(self, kinds: Kinds, source: Source, node: cst.Call) -> Kind | None:
        """Return the kind of the result of a call of the library; None for any other call."""
        ...

    def remote_call(self, kinds: Kinds, source: Source, node: cst.Call) -> tuple[Kind, Call] | None:
        """Return the function, class or method that `node` runs as a task or actor call, with its arguments."""
        ...

    def annotated(self, kinds: Kinds, source: Source, annotation: cst.BaseExpression) -> Kind | None:
        """Return the kind that a name of the library means as an annotation."""
        ...

    def narrowed(self, source: Source, node: cst.BaseExpression) -> Kind | None:
        """Return the kind that a condition around `node` proves, such as ``isinstance``; None without one."""
        ...

    def actor_classes(self) -> Iterable[Definition]:
        """Return the actor classes that have no decorator, which `Kinds` does not find by itself."""
        ...

    @property
    def packages(self) -> tuple[str, ...]:
        """The library's packages."""
        ...


class Kinds:
    """Infers the kinds of expressions of one project, and remembers them.

    Args:
        project: all given programs.
        api: the library that they use.
    """

    def __init__(self, project: Project, api: Api) -> None:
        self.project = project
        self.api = api
        self._answers: Answers[Kind] = Answers(NOTHING)
        self._definitions: dict[int, Definition | None] = {}
        self._calls = Calls(project)
        self._bindings = Bindings(self, project, self._calls, self._answers)
        self._look_for_calls()

    def _look_for_calls(self) -> None:
        """Look for the calls of functions until a look finds no further one.

        Which function a call runs may depend on the kinds of parameters, which follow from the calls found before.
        """
        found_more = True
        while found_more:
            self._answers.clear()
            found_more = self._calls.look(self._called)
        self._answers.clear()

    def _called(self, source: Source, node: cst.Call) -> tuple[Kind, Call | None] | None:
        remote = self.api.remote_call(self, source, node)
        if remote is not None:
            return remote
        callee = self.of(source, node.func)
        return None if isinstance(callee, Remote) else (callee, plain_call(source, node.args))

    # ---- questions

    def definition(self, source: Source, node: cst.FunctionDef | cst.ClassDef) -> Definition | None:
        """Return the remote function or actor class that `node` is; None for a plain function or class."""
        if id(node) not in self._definitions:
            self._definitions[id(node)] = self.api.decorated(source, node)
        return self._definitions[id(node)]

    def remember(self, node: cst.CSTNode, made: Definition) -> Definition:
        """Return the definition of the expression `node`: `made` the first time, and the same one ever after."""
        known = self._definitions.get(id(node))
        if known is None:
            known = self._definitions[id(node)] = made
        return known

    def of(self, source: Source, node: cst.BaseExpression) -> Kind:
        """Return the kind of the expression `node`."""
        return self._answers.of(id(node), lambda: self._infer(source, node))

    def bound_elsewhere(self, source: Source, node: cst.Name) -> Kind:
        """Return the kind of a name in an assignment to that name itself, as other statements bind it."""
        return self._bindings.elsewhere(source, node)

    def _infer(self, source: Source, node: cst.BaseExpression) -> Kind:
        library = source.library_name(node, self.api.packages)
        if library is not None:
            return self.api.name_kind(library) or UNKNOWN
        told = self.api.narrowed(source, node)
        if told is not None:
            return told
        if isinstance(node, cst.Name):
            return self._bindings.name(source, node)
        if isinstance(node, cst.Attribute):
            return self._attribute(source, node)
        if isinstance(node, cst.Call):
            return self._call(source, node)
        if isinstance(node, (cst.List, cst.Tuple, cst.Set)):
            return Items(join(self._element(source, element) for element in node.elements))
        if isinstance(node, (cst.ListComp, cst.GeneratorExp, cst.SetComp)):
            return Items(self.of(source, node.elt))
        if isinstance(node, cst.DictComp):
            return DictOf(self.of(source, node.value))
        if isinstance(node, cst.Dict):
            return self._dict(source, node)
        if isinstance(node, cst.Subscript):
            return self._subscript(source, node)
        if isinstance(node, cst.IfExp):
            return join([self.of(source, node.body), self.of(source, node.orelse)])
        if isinstance(node, cst.BooleanOperation):
            return join([self.of(source, node.left), self.of(source, node.right)])
        if isinstance(node, cst.NamedExpr):
            return self.of(source, node.value)
        if isinstance(node, cst.Lambda):
            return Function(source, node)
        if isinstance(node, cst.BinaryOperation):
            left, right = self.of(source, node.left), self.of(source, node.right)
            return join([left, right]) if isinstance(left, Items) or isinstance(right, Items) else PLAIN
        if isinstance(node, cst.Await):
            awaited = self.of(source, node.expression)
            return awaited.value if isinstance(awaited, Ref) else UNKNOWN
        if isinstance(node, (cst.BaseNumber, cst.BaseString, cst.Comparison, cst.UnaryOperation, cst.FormattedString)):
            return PLAIN
        return UNKNOWN

    def _element(self, source: Source, element: cst.BaseElement) -> Kind:
        kind = self.of(source, element.value)
        return item_of(kind) if isinstance(element, cst.StarredElement) else kind

    def _dict(self, source: Source, node: cst.Dict) -> Kind:
        keys: list[str] | None = []
        values: list[Kind] = []
        for element in node.elements:
            if isinstance(element, cst.DictElement):
                key = element.key
                if keys is not None and isinstance(key, cst.SimpleString) and isinstance(key.evaluated_value, str):
                    keys.append(key.evaluated_value)
                else:
                    keys = None
                values.append(self.of(source, element.value))
            else:
                keys = None
        return DictOf(join(values), None if keys is None else tuple(keys))

    def _subscript(self, source: Source, node: cst.Subscript) -> Kind:
        base = self.of(source, node.value)
        index = node.slice[0].slice if node.slice else None
        if isinstance(index, cst.Slice):
            return base
        if isinstance(base, DictOf):
            return base.value
        return base.item if isinstance(base, Items) else UNKNOWN

    def annotated(self, source: Source, annotation: cst.BaseExpression) -> Kind | None:
        """Return the kind that an annotation means; None for an annotation without a known meaning."""
        if not isinstance(annotation, cst.Subscript):
            return self.api.annotated(self, source, annotation)
        outer = self.annotated(source, annotation.value)
        if outer is not None:
            return outer
        inner = annotation.slice[-1].slice
        told = self.annotated(source, inner.value) if isinstance(inner, cst.Index) else None
        outside = (dotted(annotation.value) or "").lower().rpartition(".")[2]
        if told is None or outside == "optional":
            return told
        if outside in ("list", "sequence", "iterable", "set", "deque"):
            return Items(told)
        return DictOf(told) if outside in ("dict", "defaultdict", "mapping") else None

    def _attribute(self, source: Source, node: cst.Attribute) -> Kind:
        base = self.of(source, node.value)
        name = node.attr.value
        if isinstance(base, Module):
            inner = self.project.find(source, dotted(node) or "", 0)
            return Module(inner) if inner is not None else self._bindings.global_kind(base.source, name)
        if isinstance(base, Handle):
            return Method(name, base.definition)
        if base is SURROUNDINGS:
            return Handle() if name in ("current_actor", "handle") else UNKNOWN
        if isinstance(base, Instance):
            return self._bindings.field(base.source, base.node, name)
        if isinstance(base, PlainClass):
            found = method_of(base.node, name)
            return Function(base.source, found) if found is not None else UNKNOWN
        return UNKNOWN

    def _call(self, source: Source, node: cst.Call) -> Kind:
        of_library = self.api.call_kind(self, source, node)
        if of_library is not None:
            return of_library
        name = dotted(node.func)
        if name in SEQUENCE_CALLS and node.args:
            return Items(iterated(self.of(source, node.args[0].value)))
        if name in ("range", "len", "int", "str", "float", "sum", "open", "abs", "round", "bool", "dict", "print"):
            return DictOf(NOTHING) if name == "dict" else PLAIN
        if name in ("list", "set", "tuple", "deque", "collections.deque"):
            return Items(NOTHING)
        if name in ("defaultdict", "collections.defaultdict"):
            return DictOf(Items(NOTHING))
        if isinstance(node.func, cst.Attribute):
            base = self.of(source, node.func.value)
            method = node.func.attr.value
            if method in ("pop", "popleft", "get", "setdefault") and isinstance(base, (Items, DictOf)):
                return base.item if isinstance(base, Items) else base.value
            if method == "values" and isinstance(base, DictOf):
                return Items(base.value)
            if method == "copy" and isinstance(base, (Items, DictOf)):
                return base
            if isinstance(base, (Items, DictOf)) or base is PLAIN:
                return PLAIN
        callee = self.of(source, node.func)
        if isinstance(callee, PlainClass):
            return Instance(callee.source, callee.node)
        if isinstance(callee, Function):
            return self.returned(callee)
        return UNKNOWN

    def returned(self, function: Function) -> Kind:
        """Return the kind of the values that a function returns."""
        if isinstance(function.node, cst.Lambda):
            return self.of(function.source, function.node.body)
        return self._answers.of(id(function.node), lambda: self._returned(function))

    def _returned(self, function: Function) -> Kind:
        kinds = [
            self.of(function.source, node.value)
            for node in function.source.nodes()
            if isinstance(node, cst.Return)
            and node.value is not None
            and function.source.function_of(node) is function.node
        ]
        return join(kinds) if kinds else UNKNOWN

    def actor_methods(self) -> set[str]:
        """Return the names of all methods of all known actor classes, including inherited methods."""
        names: set[str] = set()
        known = [*self.definitions(), *(item for item in self._definitions.values() if item is not None)]
        waiting = [(definition.plain_source, definition.plain) for definition in (*known, *self.api.actor_classes())]
        seen: set[int] = set()
        while waiting:
            source, node = waiting.pop()
            if source is None or not isinstance(node, cst.ClassDef) or id(node) in seen:
                continue
            seen.add(id(node))
            names |= methods_of(node)
            for base in node.bases:
                kind = self.of(source, base.value)
                if isinstance(kind, PlainClass):
                    waiting.append((kind.source, kind.node))
        return names

    def definitions(self) -> list[Definition]:
        """Return all decorated functions and classes."""
        return [
            definition
            for source in self.project.sources
            for node in source.nodes()
            if isinstance(node, (cst.FunctionDef, cst.ClassDef))
            and (definition := self.definition(source, node)) is not None
        ]
