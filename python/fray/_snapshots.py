"""When a copy that was sent by value is still good.

A function by value (a closure, a lambda, anything of ``__main__``) is stale as soon as something that it refers to has
changed: its code, its defaults, its cells and the globals it reads must be the same as when it was sent, and either
immutable values or functions and classes of which the same is true. Small lists, dicts and sets are compared by what is
in them. A function that refers to anything else could change unnoticed. See `fray._class_state` for classes.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from fray._functions import globals_of
from fray._native import Snapshot, make_snapshot
from fray._references import References, note_classes

__all__ = ["Snapshot", "snapshot_of"]


def snapshot_of(thing: FunctionType | type[Any], by_content: bool = True) -> Snapshot | None:
    """Return all that a function or class by value refers to, or None where some of it could change unnoticed.

    The functions and classes among it that go by value too, directly or not, are in the snapshot themselves.

    Args:
        thing: the function or class.
        by_content: whether small containers are compared; else they count as what could change unnoticed.
    """
    snapshot = make_snapshot()
    seen = {id(thing)}
    to_do: list[Any] = [thing]
    shares = False
    for one in to_do:
        refers = References()
        if type(one) is FunctionType:
            use = globals_of(one.__code__)
            shares = shares or use.are_assigned
            is_fixed = _take_function(one, snapshot.add_function(one, use.names), refers)
        else:
            from fray._class_state import take_class

            is_fixed = take_class(one, snapshot, refers)
        if not is_fixed:
            return None
        snapshot.add_imported([value for value in refers.by_name if value.__module__ != "builtins"])
        shares = shares or bool(refers.containers)
        if refers.containers and not (by_content and all(map(snapshot.add_container, refers.containers))):
            return None
        for other in refers.by_value:
            if id(other) not in seen:
                seen.add(id(other))
                to_do.append(other)
    if shares and snapshot.classes():
        return None  # classes come with globals of their own, in which no change of these would be seen
    return snapshot


def _take_function(fn: FunctionType, values: list[Any] | None, refers: References) -> bool:
    """Return whether nothing that the function refers to can change unnoticed."""
    if values is None:  # a cell is empty
        return False
    if fn.__globals__.get("__name__") == "dataclasses":  # the representation holds a set of what it is just writing
        values = [value for value in values if type(value) is not set]
    try:
        annotations = fn.__annotations__
    except NameError:  # from Python 3.14 on they are evaluated here, and may name what is not there yet
        return False
    for annotation in annotations.values():
        note_classes(annotation, refers)
    return all(map(refers.take, values))
