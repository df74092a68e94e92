"""Finds out what an expression stands for: a remote function, an actor, a ref, or a plain value.

The kind of a variable is that of everything that is ever assigned to it, and the kind of a parameter that of everything
it is called with, in all programs that are looked at. What does not agree is `UNKNOWN`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import libcst as cst
from libcst.metadata import Assignment, ImportAssignment

from fray.migrate.answers import Answers
from fray.migrate.source import Project, Source, dotted

__all__ = [
    "NOTHING",
    "PLAIN",
    "SURROUNDINGS",
    "UNKNOWN",
    "Api",
    "Call",
    "Context",
    "Definition",
    "DictOf",
    "Function",
    "Handle",
    "Instance",
    "Items",
    "Kind",
    "Kinds",
    "Method",
    "Module",
    "PlainClass",
    "Ref",
    "Remote",
    "join",
    "methods_of",
    "plain_call",
]


@dataclass(eq=False)
class Definition:
    """A remote function or an actor class: a decorated one, or what an expression makes of a plain one.

    Args:
        source: where it is.
        node: the decorated definition, or the expression.
        is_actor: a class.
        options: its own, by name.
        dynamic: there are more, which cannot be read from the text.
        base: what it adds options to.
        name: what it is called in its scope, None for an expression without a name.
        plain: the definition of the function or class itself, where it is known.
        plain_source: where that is.
    """

    source: Source
    node: cst.CSTNode
    is_actor: bool
    options: Mapping[str, cst.BaseExpression] = field(default_factory=dict[str, cst.BaseExpression])
    base: Definition | None = None
    name: str | None = None
    plain: cst.FunctionDef | cst.ClassDef | None = None
    plain_source: Source | None = None
    dynamic: bool = False

    def layers(self) -> list[Definition]:
        """Return what adds options, the first one first."""
        return [*(self.base.layers() if self.base is not None else []), self]

    def merged(self) -> dict[str, cst.BaseExpression]:
        """Return all options by name."""
        found: dict[str, cst.BaseExpression] = {}
        for layer in self.layers():
            found.update(layer.options)
        return found


@dataclass(frozen=True)
class _Simple:
    name: str


UNKNOWN = _Simple("unknown")
PLAIN = _Simple("plain")
"""Surely nothing of what this module is about."""
NOTHING = _Simple("nothing")
"""Never anything else than None."""
SURROUNDINGS = _Simple("surroundings")
"""Ray's runtime context, Fray's current actor."""


@dataclass(frozen=True)
class Remote:
    """A remote function or an actor class; without a definition one of several that have no options."""

    is_actor: bool
    definition: Definition | None = None


@dataclass(frozen=True)
class Handle:
    """An actor's handle."""

    definition: Definition | None = None


@dataclass(frozen=True)
class Method:
    """A method of a handle."""

    name: str
    definition: Definition | None = None


@dataclass(frozen=True)
class Ref:
    """A ref."""

    value: Kind = UNKNOWN


@dataclass(frozen=True)
class Items:
    """A sequence; the kind is that of its items."""

    item: Kind


@dataclass(frozen=True)
class DictOf:
    """A dict; the kind is that of its values. `keys` where all are known."""

    value: Kind
    keys: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Function:
    """A plain function."""

    source: Source
    node: cst.FunctionDef | cst.Lambda


@dataclass(frozen=True)
class PlainClass:
    """A plain class."""

    source: Source
    node: cst.ClassDef


@dataclass(frozen=True)
class Instance:
    """An object of a plain class, or ``self``."""

    source: Source
    node: cst.ClassDef


@dataclass(frozen=True)
class Module:
    """A module among the programs."""

    source: Source


@dataclass(frozen=True)
class Context:
    """A `JobContext`."""


Kind: TypeAlias = (
    _Simple | Remote | Handle | Method | Ref | Items | DictOf | Function | PlainClass | Instance | Module | Context
)


@dataclass(frozen=True)
class Call:
    """What a function is called with."""

    source: Source
    args: tuple[cst.BaseExpression, ...]
    keywords: Mapping[str, cst.BaseExpression]
    resolves: bool = False
    """Refs among them arrive as their values."""


class Api(Protocol):
    """How a program says that something runs elsewhere."""

    def decorated(self, source: Source, node: cst.FunctionDef | cst.ClassDef) -> Definition | None:
        """Return the definition that `node` is by its decorators."""
        ...

    def name_kind(self, name: str) -> Kind | None:
        """Return the kind of a name of the library."""
        ...

    def call_kind(self, kinds: Kinds, source: Source, node: cst.Call) -> Kind | None:
        """Return what a call of the library gives; None for a call of something else."""
        ...

    def remote_call(self, kinds: Kinds, source: Source, node: cst.Call) -> tuple[Kind, Call] | None:
        """Return the function, class or method that `node` runs elsewhere, with its arguments."""
        ...

    def annotated(self, kinds: Kinds, source: Source, annotation: cst.BaseExpression) -> Kind | None:
        """Return the kind that an annotation without brackets tells."""
        ...

    def narrowed(self, source: Source, node: cst.BaseExpression) -> Kind | None:
        """Return the kind that a condition around `node` tells."""
        ...

    def actor_classes(self) -> Iterable[Definition]:
        """Return the actor classes that are no definitions of `Kinds`."""
        ...

    @property
    def packages(self) -> tuple[str, ...]:
        """The library's packages."""
        ...


_SEQUENCE_CALLS = ("list", "tuple", "sorted", "reversed", "set", "iter")
_GROWING = ("append", "add", "appendleft", "insert", "put")


class Kinds:
    """Answers what expressions stand for, and remembers the answers."""

    def __init__(self, project: Project, api: Api) -> None:
        self.project = project
        self.api = api
        self._answers: Answers[Kind] = Answers(NOTHING)
        self._definitions: dict[int, Definition | None] = {}
        self._grown: dict[tuple[int, str], list[tuple[Source, cst.BaseExpression, bool]]] = {}
        self._fields: dict[tuple[int, str], list[tuple[Source, cst.BaseExpression, bool]]] = {}
        self._calls: dict[int, list[Call]] = {}
        self._index_assignments()
        self._index_calls()

    # ---- indices

    def _index_assignments(self) -> None:
        for source in self.project.sources:
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

    def _note_target(self, source: Source, target: cst.BaseExpression, value: cst.BaseExpression) -> None:
        if isinstance(target, cst.Subscript):
            self._note_item(source, target.value, value, False)
        elif isinstance(target, cst.Attribute):
            owner = source.class_of(target)
            if dotted(target.value) in ("self", "cls") and owner is not None:
                self._fields.setdefault((id(owner), target.attr.value), []).append((source, value, False))
        elif isinstance(target, (cst.Tuple, cst.List)):
            for element in target.elements:
                if isinstance(element.value, cst.Attribute):
                    owner = source.class_of(target)
                    if dotted(element.value.value) == "self" and owner is not None:
                        key = (id(owner), element.value.attr.value)
                        self._fields.setdefault(key, []).append((source, value, True))

    def _note_item(self, source: Source, base: cst.BaseExpression, value: cst.BaseExpression, many: bool) -> None:
        key = self._key(source, base)
        if key is not None:
            self._grown.setdefault(key, []).append((source, value, many))

    def _key(self, source: Source, base: cst.BaseExpression) -> tuple[int, str] | None:
        if isinstance(base, cst.Name):
            return source.variable(base)
        if isinstance(base, cst.Attribute) and dotted(base.value) == "self":
            owner = source.class_of(base)
            return None if owner is None else (id(owner), base.attr.value)
        return None

    def _index_calls(self) -> None:
        """Note what every known function is called with, until nothing new is learnt."""
        while True:
            before = sum(len(calls) for calls in self._calls.values())
            self._answers.clear()
            found: dict[int, list[Call]] = {}
            for source in self.project.sources:
                for node in source.nodes():
                    if isinstance(node, cst.Call):
                        for key, call in self._called(source, node):
                            found.setdefault(key, []).append(call)
            self._calls = found
            if sum(len(calls) for calls in found.values()) == before:
                break
        self._answers.clear()

    def _called(self, source: Source, node: cst.Call) -> Iterable[tuple[int, Call]]:
        remote = self.api.remote_call(self, source, node)
        if remote is not None:
            callee, call = remote
        else:
            callee = self.of(source, node.func)
            if isinstance(callee, Remote):
                return
            call = plain_call(source, node.args)
        function = self._function_called(callee)
        if function is not None and call is not None:
            yield id(function), call

    def _function_called(self, callee: Kind) -> cst.FunctionDef | None:
        if isinstance(callee, Function) and isinstance(callee.node, cst.FunctionDef):
            return callee.node
        if isinstance(callee, PlainClass):
            return _method_node(callee.node, "__init__")
        if isinstance(callee, Remote) and callee.definition is not None:
            plain = callee.definition.plain
            return _method_node(plain, "__init__") if isinstance(plain, cst.ClassDef) else plain
        if isinstance(callee, Method) and callee.definition is not None:
            plain = callee.definition.plain
            return _method_node(plain, callee.name) if isinstance(plain, cst.ClassDef) else None
        return None

    # ---- questions

    def definition(self, source: Source, node: cst.FunctionDef | cst.ClassDef) -> Definition | None:
        """Return the definition that `node` is; None for a plain one."""
        if id(node) not in self._definitions:
            self._definitions[id(node)] = self.api.decorated(source, node)
        return self._definitions[id(node)]

    def remember(self, node: cst.CSTNode, made: Definition) -> Definition:
        """Return the one definition that the expression `node` is."""
        known = self._definitions.get(id(node))
        if known is None:
            known = self._definitions[id(node)] = made
        return known

    def of(self, source: Source, node: cst.BaseExpression) -> Kind:
        """Return what the expression `node` stands for."""
        return self._answers.of(id(node), lambda: self._infer(source, node))

    def _infer(self, source: Source, node: cst.BaseExpression) -> Kind:
        library = source.library_name(node, self.api.packages)
        if library is not None:
            return self.api.name_kind(library) or UNKNOWN
        told = self.api.narrowed(source, node)
        if told is not None:
            return told
        if isinstance(node, cst.Name):
            return self._name(source, node)
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

    def _name(self, source: Source, node: cst.Name) -> Kind:
        if node.value == "None":
            return NOTHING
        if node.value in ("True", "False"):
            return PLAIN
        bindings = source.bindings(node)
        if not bindings:
            return UNKNOWN
        kinds = [self._binding(source, binding) for binding in bindings]
        kind = join(kinds)
        key = source.variable(node)
        return kind if key is None else self._with_items(kind, key)

    def _with_items(self, kind: Kind, key: tuple[int, str]) -> Kind:
        grown = [
            item_of(self.of(where, value)) if many else self.of(where, value)
            for where, value, many in self._grown.get(key, [])
        ]
        if grown and isinstance(kind, Items):
            return Items(join([kind.item, *grown]))
        if grown and isinstance(kind, DictOf):
            return DictOf(join([kind.value, *grown]))
        return kind

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
        definition = self.definition(source, node)
        if definition is not None:
            return Remote(definition.is_actor, definition)
        return Function(source, node) if isinstance(node, cst.FunctionDef) else PlainClass(source, node)

    def _imported(self, source: Source, node: cst.Import | cst.ImportFrom, name: str) -> Kind:
        found = self.project.imported(source, node, name)
        if found is None:
            return UNKNOWN
        module, attribute = found
        return Module(module) if attribute is None else self.global_kind(module, attribute)

    def global_kind(self, source: Source, name: str) -> Kind:
        """Return the kind of a module's variable."""
        scope = source.scope(source.module.body[0]) if source.module.body else None
        if scope is None:
            return UNKNOWN
        bindings = scope.globals[name]
        if not bindings:
            return UNKNOWN
        question = -1 - abs(hash((id(source), name)))  # no number of a node
        kind = self._answers.of(question, lambda: join([self._binding(source, binding) for binding in bindings]))
        return self._with_items(kind, (id(scope.globals), name))

    def annotated(self, source: Source, annotation: cst.BaseExpression) -> Kind | None:
        """Return the kind that an annotation tells; None where it tells none."""
        if not isinstance(annotation, cst.Subscript):
            return self.api.annotated(self, source, annotation)
        outer = self.annotated(source, annotation.value)
        if outer is not None:
            return outer
        inner = annotation.slice[0].slice
        if (dotted(annotation.value) or "").lower().rpartition(".")[2] in ("list", "sequence", "iterable"):
            told = self.annotated(source, inner.value) if isinstance(inner, cst.Index) else None
            return None if told is None else Items(told)
        return None

    def _param(self, source: Source, node: cst.Param) -> Kind:
        function = next(
            (item for item in source.ancestors(node) if isinstance(item, (cst.FunctionDef, cst.Lambda))), None
        )
        if node.annotation is not None:
            told = self.annotated(source, node.annotation.annotation)
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
        calls = self._calls.get(id(function), [])
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
            kind = self.of(call.source, value)
            given.append(kind.value if isinstance(kind, Ref) and call.resolves else kind)
        return join(given) if given else UNKNOWN

    def _target(self, source: Source, name: cst.Name) -> Kind:
        """Return the kind of what a statement gives the variable `name`."""
        parent = source.parent(name)
        if isinstance(parent, cst.AssignTarget):
            statement = source.parent(parent)
            return self.of(source, statement.value) if isinstance(statement, cst.Assign) else UNKNOWN
        if isinstance(parent, cst.AnnAssign):
            told = self.annotated(source, parent.annotation.annotation)
            if told is not None:
                return told
            return UNKNOWN if parent.value is None else self.of(source, parent.value)
        if isinstance(parent, (cst.For, cst.CompFor)):
            return iterated(self.of(source, parent.iter))
        if isinstance(parent, cst.NamedExpr):
            return self.of(source, parent.value)
        if isinstance(parent, cst.AugAssign):
            return self.of(source, parent.value)
        if isinstance(parent, cst.AsName):
            return self._as_name(source, parent)
        if isinstance(parent, cst.Element):
            return self._unpacked(source, parent)
        return UNKNOWN

    def _as_name(self, source: Source, node: cst.AsName) -> Kind:
        item = source.parent(node)
        return self.of(source, item.item) if isinstance(item, cst.WithItem) else UNKNOWN

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
            return self.of(source, value.elements[index].value)
        return item_of(self.of(source, value))

    def _zipped(self, source: Source, value: cst.BaseExpression, index: int) -> Kind:
        """Return the kind of the part `index` of each item of an iterable."""
        if isinstance(value, cst.Call):
            name = dotted(value.func)
            if name == "enumerate" and value.args:
                return PLAIN if index == 0 else iterated(self.of(source, value.args[0].value))
            if name == "zip" and index < len(value.args):
                return iterated(self.of(source, value.args[index].value))
            if isinstance(value.func, cst.Attribute) and value.func.attr.value == "items":
                base = self.of(source, value.func.value)
                return base.value if isinstance(base, DictOf) and index == 1 else PLAIN
        return item_of(iterated(self.of(source, value)))

    def _attribute(self, source: Source, node: cst.Attribute) -> Kind:
        base = self.of(source, node.value)
        name = node.attr.value
        if isinstance(base, Module):
            inner = self.project.find(source, dotted(node) or "", 0)
            return Module(inner) if inner is not None else self.global_kind(base.source, name)
        if isinstance(base, Handle):
            return Method(name, base.definition)
        if base is SURROUNDINGS:
            return Handle() if name in ("current_actor", "handle") else UNKNOWN
        if isinstance(base, Instance):
            return self._field(base.source, base.node, name)
        if isinstance(base, PlainClass):
            found = _method_node(base.node, name)
            return Function(base.source, found) if found is not None else UNKNOWN
        return UNKNOWN

    def _field(self, source: Source, node: cst.ClassDef, name: str) -> Kind:
        assigned = self._fields.get((id(node), name), [])
        if assigned:
            kinds = [
                item_of(self.of(where, value)) if many else self.of(where, value) for where, value, many in assigned
            ]
            return self._with_items(join(kinds), (id(node), name))
        method = _method_node(node, name)
        if method is not None:
            definition = self.definition(source, method)
            return UNKNOWN if definition is not None else Function(source, method)
        return UNKNOWN

    def _call(self, source: Source, node: cst.Call) -> Kind:
        of_library = self.api.call_kind(self, source, node)
        if of_library is not None:
            return of_library
        name = dotted(node.func)
        if name in _SEQUENCE_CALLS and node.args:
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
        """Return the kind of what a function returns."""
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
        """Return the names of all methods of all actor classes that are known, inherited ones too."""
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


def plain_call(source: Source, args: Iterable[cst.Arg]) -> Call | None:
    """Return what is given by position and by keyword; None where an argument is unpacked."""
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


def methods_of(node: cst.ClassDef) -> set[str]:
    """Return the names of the functions in the body of a class."""
    return {item.name.value for item in node.body.body if isinstance(item, cst.FunctionDef)}


def _method_node(node: cst.ClassDef, name: str) -> cst.FunctionDef | None:
    return next(
        (item for item in node.body.body if isinstance(item, cst.FunctionDef) and item.name.value == name), None
    )


def _is_static(function: cst.FunctionDef) -> bool:
    return any(dotted(item.decorator) == "staticmethod" for item in function.decorators)


def item_of(kind: Kind) -> Kind:
    """Return the kind of the items that unpacking gives."""
    if isinstance(kind, Items):
        return kind.item
    if isinstance(kind, Ref):
        return Ref()  # a generator's, or one of several returns
    return kind if kind is NOTHING or kind is PLAIN else UNKNOWN


def iterated(kind: Kind) -> Kind:
    """Return the kind of what a loop gives."""
    return PLAIN if isinstance(kind, DictOf) else item_of(kind)


def join(kinds: Iterable[Kind]) -> Kind:
    """Return the one kind that all these are."""
    result: Kind = NOTHING
    for kind in kinds:
        result = _join_two(result, kind)
    return result


def _join_two(one: Kind, other: Kind) -> Kind:
    if one == other or other is NOTHING:
        return one
    if one is NOTHING:
        return other
    for first, second in ((one, other), (other, one)):
        if isinstance(first, Remote) and isinstance(second, (Function, PlainClass)):
            definition = first.definition
            if definition is not None and definition.plain is second.node:
                return first
    if isinstance(one, Remote) and isinstance(other, Remote) and one.is_actor == other.is_actor:
        if any(item.definition is not None and _has_options(item.definition) for item in (one, other)):
            return UNKNOWN
        return Remote(one.is_actor)
    if isinstance(one, Handle) and isinstance(other, Handle):
        return Handle()
    if isinstance(one, Ref) and isinstance(other, Ref):
        return Ref()
    if isinstance(one, Items) and isinstance(other, Items):
        return Items(join([one.item, other.item]))
    if isinstance(one, DictOf) and isinstance(other, DictOf):
        return DictOf(join([one.value, other.value]), one.keys if one.keys == other.keys else None)
    return UNKNOWN


def _has_options(definition: Definition) -> bool:
    return any(layer.options or layer.dynamic for layer in definition.layers())
