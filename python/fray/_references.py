"""The values that a function or class refers to: which may change unnoticed, and what else travels with them."""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from fray._functions import is_importable

__all__ = ["References", "note_classes"]

_IMMUTABLE = (int, float, complex, bool, str, bytes, type(None), type(Ellipsis), range, ModuleType)
_CONTAINERS = (list, dict, set, bytearray)
_MOST_ITEMS = 1000
"""Of a container that is looked through for each call."""


class References:
    """The functions and classes that something refers to, and the containers.

    Attributes:
        by_value: those that other processes cannot import.
        by_name: the others.
        containers: whose content may change.
    """

    __slots__ = ("by_name", "by_value", "containers")

    def __init__(self) -> None:
        self.by_value: list[Any] = []
        self.by_name: list[Any] = []
        self.containers: list[Any] = []

    def take(self, value: Any) -> bool:
        """Return whether nothing in `value` can change unnoticed; functions and classes in it are noted."""
        # Exactly these types: a subclass may hold more. A module travels by name; a function of one does too.
        kind: type[Any] = type(value)  # pyright: ignore[reportUnknownVariableType]
        if kind in _IMMUTABLE:
            return True
        if kind is BuiltinFunctionType:  # a method of an object too, such as the `append` of a list
            return value.__self__ is None or isinstance(value.__self__, (ModuleType, type))
        if kind is tuple or kind is frozenset:
            return all(map(self.take, value))
        if kind is FunctionType or issubclass(kind, type):
            (self.by_name if is_importable(value) else self.by_value).append(value)
            return True
        if kind in _CONTAINERS:
            self.containers.append(value)
            return len(value) <= _MOST_ITEMS
        return kind.__module__ == "dataclasses"  # marks, such as that of a default that is made for each object


def note_classes(annotation: Any, refers: References) -> None:
    """Note the classes by value in an annotation: they travel with what has it."""
    if isinstance(annotation, type):
        if not is_importable(annotation):
            refers.by_value.append(annotation)
        return
    parts = getattr(annotation, "__args__", None)
    if isinstance(parts, tuple):  # anything may be an annotation
        for part in parts:  # pyright: ignore[reportUnknownVariableType]
            note_classes(part, refers)
