"""Whether a class of the main script, or of a function, is as it was when it was sent; see `fray._snapshots`.

The attributes of a class must be the same as then, and either immutable values or functions, properties and methods of
which the same is true. What a library has written into the class to describe it (annotations, the fields of a
dataclass, the members of an enum) counts as unchanged while it is the same object.
"""

from __future__ import annotations

import copyreg
import enum
import functools
from collections.abc import Iterable
from types import (
    ClassMethodDescriptorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
)
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from fray._references import References, note_classes

if TYPE_CHECKING:
    from fray._native import Snapshot

__all__ = ["take_class"]


class _Example(NamedTuple):
    field: int


_DESCRIPTORS: tuple[type[Any], ...] = (
    ClassMethodDescriptorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
    type(cast(object, _Example.__dict__["field"])),
)
_DESCRIPTIONS = frozenset(
    {
        "__abstractmethods__",
        "__annotate__",
        "__annotate_func__",
        "__annotations__",
        "__annotations_cache__",
        "__dataclass_fields__",
        "__dataclass_params__",
        "__orig_bases__",
        "__parameters__",
        "__slotnames__",
        "__slots__",
        "__type_params__",
        "_abc_impl",
        "_field_defaults",
    }
)
"""Attributes that say how a class was made."""


def take_class(cls: type[Any], snapshot: Snapshot, refers: References) -> None:
    """Add the class to the snapshot, and take what it refers to."""
    # Pickling the first object writes this attribute into the class; so it is there before.
    copyreg._slotnames(cls)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    members = snapshot.add_class(cls)
    is_enum = isinstance(cls, enum.EnumMeta)
    for name, value in members.items():
        if name in _DESCRIPTIONS or (is_enum and _is_of_enum(cls, name, value)):
            continue
        refers.take_all(_parts_of(value))
    for annotation in members.get("__annotations__", {}).values():
        note_classes(annotation, refers)
    members_of_enum = cast("type[enum.Enum]", cls)._member_map_.values() if is_enum else ()
    values_of_enum = [member._value_ for member in members_of_enum]
    refers.take_all((*cls.__bases__, type(cls), *values_of_enum))


def _is_of_enum(cls: type[Any], name: str, value: Any) -> bool:
    """Return whether an attribute of an enum is a member, or a list of its members."""
    is_reserved = len(name) > 2 and name[0] == name[-1] == "_" != name[1]
    return is_reserved or isinstance(value, (cls, enum.property))


def _parts_of(value: Any) -> Iterable[Any]:
    """Return what there is to look at in an attribute of a class."""
    kind: type[Any] = type(value)  # pyright: ignore[reportUnknownVariableType]
    if kind is staticmethod or kind is classmethod:
        return (value.__func__,)
    if kind is property:
        return (value.fget, value.fset, value.fdel)
    if kind is functools.cached_property:
        return (value.func,)
    return () if kind in _DESCRIPTORS else (value,)
