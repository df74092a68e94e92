"""The kinds of what expressions stand for: remote functions, actors, refs, plain values and others; and their join."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import libcst as cst

from fray.migrate.source import Source

__all__ = [
    "NOTHING",
    "PLAIN",
    "SURROUNDINGS",
    "UNKNOWN",
    "Context",
    "Definition",
    "DictOf",
    "Function",
    "Handle",
    "Instance",
    "Items",
    "Kind",
    "Method",
    "Module",
    "PlainClass",
    "Ref",
    "Remote",
    "item_of",
    "iterated",
    "join",
    "method_of",
    "methods_of",
]


@dataclass(eq=False)
class Definition:
    """A remote function or an actor class: a decorated one, or an expression that makes one of a plain one.

    Args:
        source: the program that holds it.
        node: the decorated definition, or the expression.
        is_actor: whether it is an actor class.
        options: the options that this definition adds, by name.
        dynamic: whether it has further options, which cannot be read from the text.
        base: the definition to which this one adds options, as in ``base.options(...)``.
        name: its name in its scope; None for an expression without a name.
        plain: the function or class itself, if it is known.
        plain_source: the program that holds `plain`.
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
        """Return the definitions that add options, the innermost one first."""
        return [*(self.base.layers() if self.base is not None else []), self]

    def merged(self) -> dict[str, cst.BaseExpression]:
        """Return all options by name; later layers override earlier ones."""
        found: dict[str, cst.BaseExpression] = {}
        for layer in self.layers():
            found.update(layer.options)
        return found


@dataclass(frozen=True)
class _Simple:
    name: str


UNKNOWN = _Simple("unknown")
PLAIN = _Simple("plain")
"""A value that is certainly none of the other kinds, such as a number."""
NOTHING = _Simple("nothing")
"""The value None, and the neutral element of `join`."""
SURROUNDINGS = _Simple("surroundings")
"""Ray's runtime context, or Fray's current actor."""


@dataclass(frozen=True)
class Remote:
    """A remote function or an actor class; without a definition, one of several that all have no options."""

    is_actor: bool
    definition: Definition | None = None


@dataclass(frozen=True)
class Handle:
    """The handle of an actor; its class is known if there is a definition."""

    definition: Definition | None = None


@dataclass(frozen=True)
class Method:
    """A method of a handle, not yet called."""

    name: str
    definition: Definition | None = None


@dataclass(frozen=True)
class Ref:
    """A ref to a value of this kind."""

    value: Kind = UNKNOWN


@dataclass(frozen=True)
class Items:
    """A sequence whose items are of this kind."""

    item: Kind


@dataclass(frozen=True)
class DictOf:
    """A dict whose values are of this kind; `keys` are all its keys, None if one of them is not known."""

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
    """An object of a plain class, such as ``self``."""

    source: Source
    node: cst.ClassDef


@dataclass(frozen=True)
class Module:
    """One of the given programs, imported as a module."""

    source: Source


@dataclass(frozen=True)
class Context:
    """A `JobContext`."""


Kind: TypeAlias = (
    _Simple | Remote | Handle | Method | Ref | Items | DictOf | Function | PlainClass | Instance | Module | Context
)


def methods_of(node: cst.ClassDef) -> set[str]:
    """Return the names of the functions in the body of a class."""
    return {item.name.value for item in node.body.body if isinstance(item, cst.FunctionDef)}


def method_of(node: cst.ClassDef, name: str) -> cst.FunctionDef | None:
    """Return the function of that name in the body of a class."""
    return next(
        (item for item in node.body.body if isinstance(item, cst.FunctionDef) and item.name.value == name), None
    )


def item_of(kind: Kind) -> Kind:
    """Return the kind of the items that unpacking a value gives."""
    if isinstance(kind, Items):
        return kind.item
    if isinstance(kind, Ref):
        return Ref()  # of a generator task, or of a task with several results
    return kind if kind is NOTHING or kind is PLAIN else UNKNOWN


def iterated(kind: Kind) -> Kind:
    """Return the kind of the loop variable of a loop over a value."""
    return PLAIN if isinstance(kind, DictOf) else item_of(kind)


def join(kinds: Iterable[Kind]) -> Kind:
    """Return the least kind that includes all of these, `UNKNOWN` if they do not agree."""
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
