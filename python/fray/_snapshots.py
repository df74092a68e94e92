"""When a copy that was sent by value is still good.

A function by value (a closure, a lambda, anything of ``__main__``) is stale as soon as something that it refers to has
changed: its code, its defaults, its cells and the globals it reads must be the same as when it was sent. Of those that
are functions and classes the same must be true, and the content of lists, arrays and other objects must be the same. A
function that refers to anything else could change unnoticed. See `fray._class_state` for classes.
"""

from __future__ import annotations

import io
import pickle
from types import FunctionType, MappingProxyType, MethodType
from typing import Any
from weakref import WeakKeyDictionary

from fray._functions import globals_of
from fray._native import Snapshot, make_snapshot
from fray._references import References, note_classes
from fray.job.interruption import is_from_signal

__all__ = ["Snapshot", "pickle_of", "snapshot_of"]

_OF_DISPATCH = (WeakKeyDictionary, MappingProxyType, MethodType)
"""In what `functools.singledispatch` returns: what it has found lately, and views of what is compared elsewhere."""
_MOST_PICKLED_BYTES = 1 << 20
"""Of an object that is pickled to see whether it has changed; the memory of its arrays does not count."""


def snapshot_of(thing: FunctionType | type[Any], by_content: bool = True) -> Snapshot | None:
    """Return all that a function or class by value refers to, or None where some of it could change unnoticed.

    The functions and classes among it that go by value too, directly or not, are in the snapshot themselves.

    Args:
        thing: the function or class.
        by_content: whether containers, arrays and other objects are compared; else they could change unnoticed.
    """
    snapshot = make_snapshot()
    seen = {id(thing)}
    functions: list[Any] = []
    classes: list[Any] = []
    (functions if type(thing) is FunctionType else classes).append(thing)
    assigns = False
    has_content = False
    while functions or classes:
        refers = References()
        if functions:
            fn = functions.pop()
            use = globals_of(fn.__code__)
            assigns = assigns or use.are_assigned
            if not _take_function(fn, snapshot.add_function(fn, use.names), refers):
                return None
        else:
            from fray._class_state import take_class

            take_class(classes.pop(), snapshot, refers)
        if refers.contents and not (by_content and _take_contents(snapshot, refers)):
            return None
        snapshot.add_imported([value for value in refers.by_name if value.__module__ != "builtins"])
        for other in refers.by_value:
            if id(other) not in seen:
                seen.add(id(other))
                (functions if type(other) is FunctionType else classes).append(other)
        if not functions and not snapshot.classes():
            has_content = snapshot.has_contents()
    return snapshot if _is_exact(thing, snapshot, assigns, has_content) else None


def _is_exact(thing: object, snapshot: Snapshot, assigns: bool, has_content: bool) -> bool:
    """Return whether what arrives would have the values in common that it has here.

    Methods have globals of their own where they arrive, which are not those of the functions, and a class that comes by
    itself has others than the rest. So nothing that could change there must be in two of these.

    Args:
        thing: the function or class.
        snapshot: of it.
        assigns: whether any of its functions assigns globals.
        has_content: whether the functions refer to containers or other objects, apart from the methods of classes.
    """
    classes = snapshot.classes()
    if not classes or not (assigns or snapshot.has_contents()):
        return True
    if assigns or thing is classes[0]:
        return not assigns
    states = [snapshot_of(cls) for cls in classes]
    having = [has_content, *(state is not None and state.has_contents() for state in states)]
    return None not in states and having.count(True) <= 1


def _take_function(fn: FunctionType, values: list[Any] | None, refers: References) -> bool:
    """Take what a function refers to; return False where that cannot be told."""
    if values is None:  # a cell is empty
        return False
    if fn.__globals__.get("__name__") == "dataclasses":  # the representation holds a set of what it is just writing
        values = [value for value in values if type(value) is not set]
    elif fn.__globals__.get("__name__") == "functools":
        values = [value for value in values if type(value) not in _OF_DISPATCH]
    try:
        annotations = fn.__annotations__
    except NameError:  # from Python 3.14 on they are evaluated here, and may name what is not there yet
        return False
    for annotation in annotations.values():
        note_classes(annotation, refers)
    refers.take_all(values)
    return True


def _take_contents(snapshot: Snapshot, refers: References) -> bool:
    """Add the content of containers and objects; return False where it could change unnoticed."""
    for content in refers.contents:
        inside = snapshot.add_content(content)
        if inside is None:
            return False
        refers.take_all(inside)  # functions and classes
    return True


def pickle_of(thing: object) -> tuple[bytes, list[pickle.PickleBuffer]] | None:
    """Return the pickle of an object, with the memory of its arrays; None where it cannot be pickled or is large."""
    buffers: list[pickle.PickleBuffer] = []
    file = _Bounded()
    try:
        pickle.Pickler(file, 5, buffer_callback=buffers.append).dump(thing)
    except Exception as error:
        if is_from_signal(error.__traceback__):
            raise
        return None
    return file.getvalue(), buffers


class _Bounded(io.BytesIO):
    def write(self, data: Any, /) -> int:
        """Write to memory, up to the limit.

        Raises:
            OverflowError: there is more.
        """
        written = super().write(data)
        if self.tell() > _MOST_PICKLED_BYTES:
            raise OverflowError
        return written
