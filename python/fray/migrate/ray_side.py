"""Recognizes remote functions, actors and their calls in programs for Ray."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import libcst as cst
from libcst.metadata import Assignment

from fray.migrate.build import is_literal, literal
from fray.migrate.calls import Call, plain_call
from fray.migrate.inference import Kinds
from fray.migrate.kinds import (
    PLAIN,
    SURROUNDINGS,
    UNKNOWN,
    Definition,
    Function,
    Handle,
    Items,
    Kind,
    Method,
    PlainClass,
    Ref,
    Remote,
)
from fray.migrate.ray_api import TYPES
from fray.migrate.source import Source, dotted

__all__ = [
    "PACKAGES",
    "RayApi",
    "decorator_of",
    "held_options",
    "is_remote_name",
    "only_assignment",
    "pool_variable",
    "ray_name",
    "split_options",
    "uses_of",
]

PACKAGES = ("ray", "fray.ray")


def ray_name(source: Source, node: cst.CSTNode) -> str | None:
    """Return the full name of Ray that `node` names, such as ``"ray.get"``; None for anything else."""
    found = source.library_name(node, PACKAGES)
    return None if found is None else found.removeprefix("fray.")


def is_remote_name(name: str | None) -> bool:
    """Return whether a name of Ray is the decorator ``ray.remote``."""
    return name in ("ray.remote", "ray.worker.remote", "ray._private.worker.remote")


def decorator_of(source: Source, node: cst.FunctionDef | cst.ClassDef) -> cst.Decorator | None:
    """Return the decorator ``@ray.remote`` of a definition; None without one."""
    for decorator in node.decorators:
        called = decorator.decorator.func if isinstance(decorator.decorator, cst.Call) else decorator.decorator
        if is_remote_name(ray_name(source, called)):
            return decorator
    return None


def split_options(source: Source, args: Sequence[cst.Arg]) -> tuple[dict[str, cst.BaseExpression], bool]:
    """Return the options by name, including those of ``**options``, and whether some of them cannot be read."""
    found: dict[str, cst.BaseExpression] = {}
    count = 0
    for item in args:
        if item.keyword is not None:
            held: Mapping[str, cst.BaseExpression] = {item.keyword.value: item.value}
        else:
            held = (held_options(source, item.value) if item.star == "**" else None) or {"": item.value}
        found.update(held)
        count += len(held)
    return found, "" in found or len(found) != count


def held_options(source: Source, value: cst.BaseExpression) -> Mapping[str, cst.BaseExpression] | None:
    """Return the items of a dict whose content is certain: a display, or a variable that nothing else can change.

    The result is None if the content is not certain, and for an empty dict.
    """
    if isinstance(value, cst.Name):
        assignment = only_assignment(source, value)
        if assignment is None or not all(_is_spread(source, use) for use in uses_of(source, value)):
            return None
        value = assignment.value or value
    if not isinstance(value, cst.Dict):
        return None
    found: dict[str, cst.BaseExpression] = {}
    for element in value.elements:
        key = literal(element.key) if isinstance(element, cst.DictElement) else None
        if not isinstance(key, str) or not key or not is_literal(element.value):
            return None
        found[key] = element.value
    return found or None


def only_assignment(source: Source, name: cst.Name) -> cst.Assign | cst.AnnAssign | None:
    """Return the only assignment to the variable `name`; None if there are several, or another statement binds it."""
    bindings = source.bindings(name)
    target = bindings[0].node if len(bindings) == 1 and isinstance(bindings[0], Assignment) else None
    above = source.parent(target) if target is not None else None
    if isinstance(above, cst.AnnAssign) and above.target is target:
        return above
    statement = source.parent(above) if isinstance(above, cst.AssignTarget) else None
    return statement if isinstance(statement, cst.Assign) and len(statement.targets) == 1 else None


def uses_of(source: Source, name: cst.Name) -> list[cst.CSTNode]:
    """Return the nodes that read the variable `name`."""
    return [access.node for binding in source.bindings(name) for access in binding.references]


def _is_spread(source: Source, use: cst.CSTNode) -> bool:
    parent = source.parent(use)
    return isinstance(parent, cst.Arg) and parent.star == "**"


def pool_variable(source: Source, node: cst.Call) -> cst.Name | None:
    """Return the only variable that holds the pool which `node` makes; None if there is no such variable."""
    parent = source.parent(node)
    if isinstance(parent, cst.WithItem) and parent.asname is not None:
        name = parent.asname.name
        return name if isinstance(name, cst.Name) and len(source.bindings(name)) == 1 else None
    if isinstance(parent, cst.Assign) and isinstance(parent.targets[0].target, cst.Name):
        name = parent.targets[0].target
        return name if only_assignment(source, name) is parent else None
    return None


class RayApi:
    """Tells `Kinds` what Ray's decorators and methods define, return and run: Ray's implementation of `Api`."""

    packages = PACKAGES

    def decorated(self, source: Source, node: cst.FunctionDef | cst.ClassDef) -> Definition | None:
        """Return the remote function or actor class that ``@ray.remote`` makes of `node`; None without it."""
        decorator = decorator_of(source, node)
        if decorator is None:
            return None
        is_actor = isinstance(node, cst.ClassDef)
        args = decorator.decorator.args if isinstance(decorator.decorator, cst.Call) else ()
        options, dynamic = split_options(source, args)
        return Definition(source, node, is_actor, options, None, node.name.value, node, source, dynamic)

    def name_kind(self, name: str) -> Kind | None:
        """Return the kind of a name of Ray."""
        return UNKNOWN

    def call_kind(self, kinds: Kinds, source: Source, node: cst.Call) -> Kind | None:
        """Return the kind of the result of a call of Ray's API; None for any other call."""
        name = ray_name(source, node.func)
        if name is not None:
            return self._library_call(kinds, source, node, name)
        if isinstance(node.func, cst.Call) and is_remote_name(ray_name(source, node.func.func)):
            options, dynamic = split_options(source, node.func.args)
            return self._wrapped(kinds, source, node, options, dynamic)
        if not isinstance(node.func, cst.Attribute):
            return None
        if node.func.attr.value in ("remote", "_remote"):
            return self._started(kinds, kinds.of(source, node.func.value), node.func.value)
        if node.func.attr.value == "options":
            return self._optioned(kinds, source, node, kinds.of(source, node.func.value))
        return None

    def _library_call(self, kinds: Kinds, source: Source, node: cst.Call, name: str) -> Kind:
        first = node.args[0].value if node.args and not node.args[0].star else None
        given: Kind = UNKNOWN if first is None else kinds.of(source, first)
        if name == "ray.put":
            return Ref(given)
        if name == "ray.get":
            if isinstance(given, Items) and isinstance(given.item, Ref):
                return Items(given.item.value)
            return given.value if isinstance(given, Ref) else UNKNOWN
        if name == "ray.wait":
            return Items(given)
        if name == "ray.get_actor":
            return Handle()
        if name == "ray.get_runtime_context":
            return SURROUNDINGS
        if is_remote_name(name) and first is not None and node.args[0].keyword is None:
            return self._wrapped(kinds, source, node, {}, False)
        return UNKNOWN

    def _wrapped(
        self, kinds: Kinds, source: Source, node: cst.Call, options: dict[str, cst.BaseExpression], dynamic: bool
    ) -> Kind:
        if len(node.args) != 1 or node.args[0].star:
            return UNKNOWN
        given = node.args[0].value
        if isinstance(given, cst.Name) and given.value == _target_name(source, node):
            inner = kinds.bound_elsewhere(source, given)  # ``f = ray.remote(f)``
        else:
            inner = kinds.of(source, given)
        is_actor = isinstance(inner, PlainClass)
        plain = inner.node if isinstance(inner, (PlainClass, Function)) else None
        made = Definition(source, node, is_actor, options, None, _target_name(source, node), None, None, dynamic)
        if isinstance(plain, (cst.FunctionDef, cst.ClassDef)) and isinstance(inner, (PlainClass, Function)):
            made.plain, made.plain_source = plain, inner.source
        elif plain is None and not _looks_like_class(given):
            made.is_actor = False  # what a parameter holds is taken for a function
        elif plain is None:
            return UNKNOWN
        return Remote(made.is_actor, kinds.remember(node, made))

    def _optioned(self, kinds: Kinds, source: Source, node: cst.Call, base: Kind) -> Kind | None:
        if isinstance(base, Method):
            return base
        if not isinstance(base, Remote):
            return None
        options, dynamic = split_options(source, node.args)
        under = base.definition
        made = Definition(source, node, base.is_actor, options, under, _target_name(source, node), None, None, dynamic)
        if under is not None:
            made.plain, made.plain_source = under.plain, under.plain_source
        return Remote(base.is_actor, kinds.remember(node, made))

    def _started(self, kinds: Kinds, kind: Kind, receiver: cst.BaseExpression) -> Kind | None:
        if isinstance(kind, Remote) and kind.is_actor:
            return Handle(_class_definition(kind.definition))
        if isinstance(kind, Remote):
            return self._task_refs(kinds, kind)
        if isinstance(kind, Method):
            return Ref()
        if isinstance(receiver, cst.Call) and isinstance(receiver.func, cst.Attribute):
            return UNKNOWN
        return None

    def _task_refs(self, kinds: Kinds, kind: Remote) -> Kind:
        definition = kind.definition
        if definition is None:
            return Ref()
        returns = literal(definition.merged().get("num_returns"))
        if isinstance(returns, int) and returns > 1:
            return Items(Ref())
        if isinstance(definition.plain, cst.FunctionDef) and definition.plain_source is not None:
            return Ref(kinds.returned(Function(definition.plain_source, definition.plain)))
        return Ref()

    def remote_call(self, kinds: Kinds, source: Source, node: cst.Call) -> tuple[Kind, Call] | None:
        """Return the function, class or method that ``x.remote(...)`` runs, with its arguments."""
        if not isinstance(node.func, cst.Attribute) or node.func.attr.value != "remote":
            return None
        call = plain_call(source, node.args)
        kind = kinds.of(source, node.func.value)
        return None if call is None else (kind, replace(call, resolves=True))

    def actor_classes(self) -> Iterable[Definition]:
        """Return nothing: all actor classes of Ray are definitions."""
        return ()

    def narrowed(self, source: Source, node: cst.BaseExpression) -> Kind | None:
        """Return the kind of ``x`` below ``if isinstance(x, ray.remote_function.RemoteFunction):``."""
        parent = source.parent(node)
        if not isinstance(parent, cst.Attribute) or parent.attr.value not in ("options", "remote", "_function"):
            return None
        child: cst.CSTNode = node
        for above in source.ancestors(node):
            if isinstance(above, cst.If) and child is above.body and _asks_for_function(source, above.test, node):
                return Remote(False)
            if isinstance(above, cst.IfExp) and child is above.body and _asks_for_function(source, above.test, node):
                return Remote(False)
            child = above
        return None

    def annotated(self, kinds: Kinds, source: Source, annotation: cst.BaseExpression) -> Kind | None:
        """Return the kind that a name of Ray means as an annotation."""
        name = ray_name(source, annotation)
        if name is not None and name in TYPES:
            return Handle() if TYPES[name] == "ActorHandle" else Ref()
        kind = kinds.of(source, annotation) if isinstance(annotation, (cst.Name, cst.Attribute)) else PLAIN
        if isinstance(kind, Remote) and kind.is_actor:
            return Handle(kind.definition)
        return None


def _asks_for_function(source: Source, test: cst.BaseExpression, node: cst.BaseExpression) -> bool:
    if not isinstance(test, cst.Call) or dotted(test.func) != "isinstance" or len(test.args) != 2:
        return False
    name = ray_name(source, test.args[1].value) or ""
    return name.endswith(".RemoteFunction") and source.code(test.args[0].value) == source.code(node)


def _class_definition(definition: Definition | None) -> Definition | None:
    """Return the innermost definition, that of the class itself, without the options that others add."""
    while definition is not None and definition.base is not None:
        definition = definition.base
    return definition


def _target_name(source: Source, node: cst.Call) -> str | None:
    """Return the name of the variable to which `node` as a whole is assigned; None if it is part of something else."""
    statement = source.parent(node)
    if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
        target = statement.targets[0].target
        return target.value if isinstance(target, cst.Name) else None
    return None


def _looks_like_class(node: cst.BaseExpression) -> bool:
    name = (dotted(node) or "").rpartition(".")[2]
    return not name or name[:1].isupper()
