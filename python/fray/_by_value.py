"""Pickling by value: cloudpickle, with corrections. Imported when first needed, because cloudpickle is large.

- The slots of a class. cloudpickle 3 makes the copy of a class without its ``__slots__``. Objects of the copy thus have
  a ``__dict__``, for whose content objects of the original class, to which they may return, have no place.
- The main script of a process that `multiprocessing` has spawned. Its name is ``__mp_main__``, by which cloudpickle
  would refer to it although no other process can import that name.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from enum import Enum
from functools import partial
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any, NamedTuple

import cloudpickle

from fray import _classes_by_value
from fray._functions import globals_of, is_importable, pickling_by_value, send_main_by_value
from fray._native import client_of_value
from fray._reductions import REDUCTIONS
from fray._references import is_content, reads_content
from fray._shared_contents import share

__all__ = ["Pickler", "can_pickle", "dumps", "dumps_classes", "dumps_for_workers", "dumps_whole"]

_Base: Any = cloudpickle.Pickler
_reduce: Any = _Base.reducer_override
_WITH_SETTER = 6
"""Parts of how an object is reduced whose last one sets its state."""
_TEXTUAL = (str, tuple, list, dict, set, frozenset)


class Pickler(_Base):
    """The pickler of cloudpickle, which here handles classes with slots too, and what cloudpickle refuses."""

    def reducer_override(self, obj: Any) -> Any:
        """Say how a class or a function travels; everything else is pickled as usual."""
        kind: type[Any] = type(obj)  # pyright: ignore[reportUnknownVariableType]
        if not issubclass(kind, type):
            return REDUCTIONS[kind](obj) if kind in REDUCTIONS else _reduce(self, obj)
        self._note_class(obj)
        slots = obj.__dict__.get("__slots__")
        if slots is None or issubclass(obj, Enum):
            return _reduce(self, obj)
        if isinstance(slots, str) and slots not in obj.__dict__:
            obj.__slots__ = (slots,)  # the same, but cloudpickle does not know that a name such as "__x" is mangled
        return _with_slots(obj, _reduce(self, obj))

    def _note_class(self, cls: type[Any]) -> None:
        """Take note that a class travels without a token."""
        _classes_by_value.drop_if_separate(cls)


class _WholePickler(Pickler):
    """Tells the workers of classes that come without a token, so that those with a token are loaded again."""

    def reducer_override(self, obj: Any) -> Any:
        """Say how a class or a function travels; everything else is pickled as usual."""
        reduced = super().reducer_override(obj)
        if not issubclass(type(obj), type) or reduced is NotImplemented or len(reduced) < _WITH_SETTER:
            return reduced
        *parts, set_members = reduced
        return *parts, partial(_classes_by_value.set_state, set_members)


class _SeparateGlobalsError(Exception):
    """A class comes by itself, and something else has to share its globals."""


class _WorkersPickler(_WholePickler):
    """Brings classes that are unchanged by their tokens."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)  # pyright: ignore[reportUnknownMemberType]
        self._brought = _classes_by_value.Brought()
        self._client = client_of_value(kwargs.get("buffer_callback"))
        self._functions: list[FunctionType] = []
        self._assigns = False
        self._has_whole_classes = False

    def reducer_override(self, obj: Any) -> Any:
        """Say how a class or a function travels; everything else is pickled as usual."""
        kind: type[Any] = type(obj)  # pyright: ignore[reportUnknownVariableType]
        reduced = None
        if kind is FunctionType:
            if not is_importable(obj):
                self._assigns = self._assigns or globals_of(obj.__code__).are_assigned
                self._functions.append(obj)
                self._check_globals()
        elif issubclass(kind, type) and not is_importable(obj):
            reduced = _classes_by_value.reduced(obj, dumps_classes, self._brought, self._client)
            self._has_whole_classes = self._has_whole_classes or (reduced is None and obj.__module__ != "builtins")
            self._check_globals()
        return reduced or super().reducer_override(obj)

    def _check_globals(self) -> None:
        brought = self._brought
        if (brought.tokens and self._assigns) or (
            brought.having and (self._has_whole_classes or any(map(reads_content, self._functions)))
        ):
            raise _SeparateGlobalsError


class _ClassesPickler(Pickler):
    """Brings what the methods have in common with functions, or with other classes, by its tokens."""

    def _note_class(self, cls: type[Any]) -> None:
        pass

    def reducer_override(self, obj: Any) -> Any:
        """Say how a function travels; everything else is pickled as usual."""
        reduced = super().reducer_override(obj)
        if type(obj) is FunctionType and reduced is not NotImplemented:
            found = reduced[2][1]["__globals__"]  # the state of a function, as cloudpickle 3 reduces it
            found |= {name: share(value, dumps_for_workers) for name, value in found.items() if is_content(value)}
        return reduced


def dumps(
    value: object,
    protocol: int = 5,
    buffer_callback: Callable[[Any], object] | None = None,
    pickler: Callable[..., Pickler] = Pickler,
) -> bytes:
    """Return the pickle of `value`, which contains by value what other processes cannot import."""
    send_main_by_value(cloudpickle)
    with io.BytesIO() as file, pickling_by_value():
        pickler(file, protocol=protocol, buffer_callback=buffer_callback).dump(value)
        return file.getvalue()


def dumps_classes(value: object) -> bytes:
    """Return the pickle of classes that come by their tokens.

    Raises:
        NotSharedError: one of them has something that cannot come by itself.
        Exception: one of them cannot be pickled.
    """
    return dumps(value, pickler=_ClassesPickler)


def dumps_whole(value: object, protocol: int = 5, buffer_callback: Callable[[Any], object] | None = None) -> bytes:
    """Return the pickle of `value` for processes of this Fray, in which functions and classes share their globals."""
    return dumps(value, protocol, buffer_callback, _WholePickler)


def dumps_for_workers(
    value: object, protocol: int = 5, buffer_callback: Callable[[Any], object] | None = None
) -> bytes | None:
    """Return the pickle of `value` for processes of this Fray, which do not load a class again that they have loaded.

    None where something else may share globals with the methods of such a class: `dumps_whole` lets it.
    """
    try:
        return dumps(value, protocol, buffer_callback, _WorkersPickler)
    except _SeparateGlobalsError:
        return None


def can_pickle(value: object) -> bool:
    """Return whether `dumps` can pickle `value`."""
    try:
        dumps(value)
    except Exception:
        return False
    return True


def _with_slots(cls: type[Any], reduced: Any) -> Any:
    """Return how cloudpickle reduces a class, with the slots added where the copy is created: later has no effect."""
    if reduced is NotImplemented:
        return reduced  # the class is pickled by name
    make, (kind, name, bases, members, *tracking), (attributes, *more), *rest = reduced
    if NamedTuple in bases:
        return reduced  # makes a class without slots by itself
    names = _slot_names(cls)
    declared = cls.__dict__["__slots__"]
    members = {**members, "__slots__": names}
    attributes = {key: part for key, part in attributes.items() if not _is_slot_of(cls, part)}
    attributes["__slots__"] = declared if isinstance(declared, _TEXTUAL) else names
    return make, (kind, name, bases, members, *tracking), (attributes, *more), *rest


def _slot_names(cls: type[Any]) -> tuple[str, ...]:
    """Return the names of a class's own slots, mangled where Python does that."""
    names = [name for name, part in cls.__dict__.items() if _is_slot_of(cls, part)]
    special = [name for name in ("__dict__", "__weakref__") if type(cls.__dict__.get(name)) is GetSetDescriptorType]
    return (*names, *special)


def _is_slot_of(cls: type[Any], part: object) -> bool:
    return type(part) is MemberDescriptorType and part.__objclass__ is cls
