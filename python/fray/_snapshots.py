"""When a copy that was sent by value is still good.

A function by value (a closure, a lambda, anything of ``__main__``) is stale as soon as something that it refers to has
changed: its code, its defaults, its cells and the globals it reads must be the same as when it was sent. Of those that
are functions and classes the same must be true, and the content of lists, arrays and other objects must be the same. A
function that refers to anything else could change unnoticed. See `fray._class_state` for classes.
"""

from __future__ import annotations

import copyreg
import io
import pickle
import sys
from collections.abc import Sequence
from functools import partial
from itertools import chain
from types import BuiltinMethodType, FunctionType, MethodType, MethodWrapperType
from typing import Any, NamedTuple

from fray._functions import globals_of, is_importable
from fray._native import Snapshot, make_snapshot, outside_values
from fray._references import References, is_content, note_classes, referred_by, without_notes
from fray.job.interruption import is_from_signal

__all__ = [
    "FunctionState",
    "Snapshot",
    "can_come_together",
    "has_shared_contents",
    "owner_of",
    "pickle_of",
    "snapshot_of",
    "state_of",
]

_MOST_PICKLED_BYTES = 64 << 20
"""Of an object that is pickled to see whether it has changed; the memory of its arrays does not count."""
_LARGE_ITEMS = 1000
"""Of all containers that a function refers to: for fewer it is not worth looking where else they are."""


class FunctionState(NamedTuple):
    """A function at one moment.

    Attributes:
        snapshot: all that it refers to.
        separate: the addresses of large lists, dicts and sets that functions have as globals, and that are nowhere
            else in what travels with it, nor is any of their parts. Such a one can be pickled by itself.
        assigns: whether the function, or one that travels with it, assigns globals.
    """

    snapshot: Snapshot
    separate: frozenset[int]
    assigns: bool


def snapshot_of(thing: FunctionType | type[Any], by_content: bool = True) -> Snapshot | None:
    """Return all that a function or class by value refers to, or None where some of it could change unnoticed.

    The functions and classes among it that go by value too, directly or not, are in the snapshot themselves.

    Args:
        thing: the function or class.
        by_content: whether containers, arrays and other objects are compared; else they could change unnoticed.
    """
    found = _Found()
    return found.snapshot if found.take([thing], by_content) and found.can_come_apart(thing) else None


def state_of(fn: Any) -> FunctionState | None:
    """Return the state of a function by value, or None where some of what it refers to could change unnoticed.

    Args:
        fn: the function; or another callable, such as a method of an object, with that object.
    """
    found = _Found()
    if type(fn) is not FunctionType:
        is_told = found.take_callable(fn)
        return FunctionState(found.snapshot, frozenset(), found.assigns) if is_told else None
    if not found.take([fn]) or not found.can_come_apart(fn):
        return None
    return FunctionState(found.snapshot, found.separate_globals(fn), found.assigns)


def can_come_together(classes: Sequence[type[Any]]) -> bool:
    """Return whether classes that come each by itself would have in common what they have in common here."""
    found = _Found()
    return found.take(classes) and found.can_come_apart(None)


def has_shared_contents(state: Snapshot) -> bool:
    """Return whether a function with this state may have contents in common with classes that it uses."""
    return state.has_contents() and any(map(_has_contents, state.classes()))


def _has_contents(cls: type[Any]) -> bool:
    found = _Found()
    return not found.take([cls]) or bool(found.contents)


def owner_of(fn: Any) -> Any:
    """Return the object of a bound method, or the callable itself."""
    return fn.__self__ if type(fn) in (MethodType, BuiltinMethodType, MethodWrapperType) else fn


class _Found:
    """What functions and classes refer to.

    Attributes:
        snapshot: of all of it.
        assigns: whether any of the functions assigns globals.
        contents: what was looked into, by address, with the functions and classes in it.
    """

    def __init__(self) -> None:
        self.snapshot = make_snapshot()
        self.assigns = False
        self.contents: dict[int, tuple[Any, list[Any]]] = {}

    def take_callable(self, fn: Any) -> bool:
        """Take a callable that is no function; return False where that could change unnoticed.

        What it has and the classes that it uses come apart in any case, so lists that both have arrive as two. The
        functions that it has must have no such lists.
        """
        owner = owner_of(fn)
        refers = References()
        refers.take_all([owner, fn.__func__] if type(fn) is MethodType else [owner])
        if not self._take_contents(refers):
            return False
        if id(owner) not in self.snapshot.addresses():  # else another may take its place
            return False
        self.snapshot.add_imported([value for value in refers.by_name if value.__module__ != "builtins"])
        if not self.take(refers.by_value):
            return False
        classes = self.snapshot.classes()
        if not classes or self.assigns:
            return not classes
        if not any(any(_contents_of(cls)) for cls in classes):
            return True
        inside = chain(*(inside for _, inside in self.contents.values()))
        return not any(type(inner) is FunctionType for inner in inside) and can_come_together(classes)

    def take(self, things: Sequence[Any], by_content: bool = True) -> bool:
        """Take all that the functions and classes refer to; return False where that could change unnoticed."""
        seen = set(map(id, things))
        functions = [thing for thing in things if type(thing) is FunctionType]
        classes = [thing for thing in things if type(thing) is not FunctionType]
        while functions or classes:
            refers = References()
            if functions:
                fn = functions.pop()
                use = globals_of(fn.__code__)
                self.assigns = self.assigns or use.are_assigned
                if not _take_function(fn, self.snapshot.add_function(fn, use.names), refers):
                    return False
            else:
                from fray._class_state import take_class

                take_class(classes.pop(), self.snapshot, refers)
            if not by_content and any(map(is_content, refers.contents)):
                return False
            if not self._take_contents(refers):
                return False
            self.snapshot.add_imported([value for value in refers.by_name if value.__module__ != "builtins"])
            for other in refers.by_value:
                if id(other) not in seen:
                    seen.add(id(other))
                    (functions if type(other) is FunctionType else classes).append(other)
        return True

    def _take_contents(self, refers: References) -> bool:
        """Take what is in containers and objects, each once; return False where it could change unnoticed."""
        numpy = sys.modules.get("numpy")
        for content in refers.contents:
            if id(content) in self.contents and not (numpy and type(content) is numpy.ndarray):
                continue  # the names that functions have for an array are compared, all of them
            inside = self.snapshot.add_content(content)
            if inside is None:
                return False
            self.contents[id(content)] = content, inside
            refers.take_all(inside)  # functions and classes
        return True

    def separate_globals(self, fn: FunctionType) -> frozenset[int]:
        """Return the addresses of contents that can be pickled by themselves: see `FunctionState`."""
        if not self.contents or not self.snapshot.are_apart(_LARGE_ITEMS):
            return frozenset()
        if any(inside for _, inside in self.contents.values()):  # functions, which may have them as globals too
            return frozenset()
        of_globals, others = _contents_of(fn)
        return frozenset(of_globals - others)

    def can_come_apart(self, thing: object) -> bool:
        """Return whether what functions and classes have in common arrives as one, although each class comes alone.

        The methods of a class have globals of their own, in which no assignment would be seen. Changeable objects that
        are the values of globals are one all the same (`fray._shared_contents`), unless one of them is in another, or
        has functions.

        Args:
            thing: the function, if all of it belongs to one.
        """
        classes = self.snapshot.classes()
        if not classes or not (self.assigns or self.contents):
            return True
        if self.assigns:
            return False
        owners = [_contents_of(cls) for cls in classes]
        if type(thing) is FunctionType:
            if not any(map(any, owners)):
                return True
            owners.append(_contents_of(thing))
        of_globals = {one for named, _ in owners for one in named}
        others = {one for _, own in owners for one in own}
        compared: list[int] = self.snapshot.addresses()
        return (
            len(compared) == len(set(compared))
            and len(others) == sum(len(own) for _, own in owners)
            and not of_globals & others
            and not any(
                map(_comes_as_copy, chain(*(self.contents[one][1] for one in of_globals & self.contents.keys())))
            )
        )


def _comes_as_copy(inner: Any) -> bool:
    """Return whether a function or class in an object would not be the one that is elsewhere."""
    return not is_importable(inner) and (type(inner) is FunctionType or _has_contents(inner))


def _contents_of(owner: Any) -> tuple[set[int], set[int]]:
    """Return which changeable objects a function or class has as globals, and in other ways; not those of others."""
    of_globals: set[int] = set()
    others: set[int] = set()
    seen = {id(owner)}
    to_do = [owner]
    for one in to_do:
        if type(one) is FunctionType:
            named, refers = referred_by(one)
            of_globals.update(map(id, named))
        else:
            from fray._class_state import take_class

            refers = References()
            take_class(one, make_snapshot(), refers)
        others.update(id(content) for content in refers.contents)
        for inner in refers.by_value:
            if type(inner) is FunctionType and id(inner) not in seen:
                seen.add(id(inner))
                to_do.append(inner)
    return of_globals, others


def _take_function(fn: FunctionType, values: list[Any] | None, refers: References) -> bool:
    """Take what a function refers to; return False where that cannot be told."""
    if values is None:  # a cell is empty
        return False
    try:
        annotations = fn.__annotations__
    except NameError:  # from Python 3.14 on they are evaluated here, and may name what is not there yet
        return False
    for annotation in annotations.values():
        note_classes(annotation, refers)
    refers.take_all(without_notes(fn, values))
    return True


def pickle_of(thing: object, by_address: bool = False) -> tuple[bytes, list[pickle.PickleBuffer], list[Any]] | None:
    """Return the pickle of an object, with the memory of its arrays; None where it cannot be pickled or is large.

    Args:
        thing: the object.
        by_address: whether of arrays of objects, such as the texts of a data frame, the items are left out.

    Returns:
        The pickle, the memory outside of it, and the arrays whose items are not in it.
    """
    buffers: list[pickle.PickleBuffer] = []
    arrays: list[Any] = []
    file = _Bounded()
    pickler = pickle.Pickler(file, 5, buffer_callback=buffers.append)
    numpy = sys.modules.get("numpy")
    if by_address and numpy is not None:

        def reduced(array: Any) -> Any:
            flags = array.flags
            if array.dtype != object or not flags.forc:
                return array.__reduce_ex__(5)
            arrays.append(array)
            return tuple, ((array.shape, flags.c_contiguous, flags.writeable),)

        pickler.dispatch_table = {**copyreg.dispatch_table, numpy.ndarray: reduced}
    try:
        outside_values(partial(pickler.dump, thing))
    except Exception as error:
        if is_from_signal(error.__traceback__):
            raise
        return None
    return file.getvalue(), buffers, arrays


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
