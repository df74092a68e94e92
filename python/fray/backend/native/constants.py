"""Whether what the program's own modules hold is the same in each process that imports them: `has_no_state_of_its_own`.

Functions, classes and constants are. So is what may change but has not been used yet: an empty list or dictionary, a
lock that nobody holds. A name in capital letters makes a constant of a list, a dictionary or a data class, too (PEP 8).

No code of the program runs here. In doubt the answer is no.
"""

from __future__ import annotations

import gc
import sys
import threading
from _thread import LockType, RLock
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Collection, Mapping
from enum import Enum
from functools import cache, cached_property, partial
from types import (
    BuiltinFunctionType,
    FunctionType,
    GenericAlias,
    MappingProxyType,
    MemberDescriptorType,
    ModuleType,
    SimpleNamespace,
    UnionType,
)
from typing import Any, TypeAlias

from fray.backend.native.imported import inside_of, is_own

__all__ = ["has_no_state_of_its_own"]

_Value: TypeAlias = tuple[Any, bool]
"""A value, and whether it may be a container that is not empty."""

_MOST_VALUES = 20_000
"""Most values that are looked at: a program with more of them would wait longer than a copy saves."""
_CODE = (
    BuiltinFunctionType,
    ModuleType,
    GenericAlias,
    UnionType,
    Enum,
    property,
    MemberDescriptorType,
    cached_property,
)
_ALWAYS_CONSTANT = frozenset(
    (type(None), bool, int, float, complex, str, bytes, range, slice, object, type(...), *_CODE)
)
_SEQUENCES = frozenset((list, set, deque))
_DICTIONARIES = frozenset((dict, OrderedDict, Counter, defaultdict))
_OF_PYTHON = frozenset(("_abc_impl", "_fields", "_field_defaults"))  # attributes that Python gives to classes
_CACHED: type[Any] = type(cache(abs))
_MORE_CONSTANTS = frozenset(
    (
        "__future__._Feature",
        "_collections._tuplegetter",  # a field of a NamedTuple
        "_struct.Struct",
        "datetime.date",
        "datetime.datetime",
        "datetime.time",
        "datetime.timedelta",
        "datetime.timezone",
        "decimal.Decimal",
        "fractions.Fraction",
        "os._Environ",
        "logging.Logger",  # of which `logging` keeps one for each name
        "numpy.ufunc",
        "operator.attrgetter",
        "operator.itemgetter",
        "operator.methodcaller",
        "pathlib.PosixPath",
        "pathlib.PurePosixPath",
        "re.Pattern",
        "uuid.UUID",
        "zoneinfo.ZoneInfo",
    )
)
_NUMBERS = frozenset(("array.array", "builtins.bytearray", "numpy.ndarray"))
_WEAK = frozenset(("_weakrefset.WeakSet", "weakref.WeakKeyDictionary", "weakref.WeakValueDictionary"))
"""Classes that may not have been imported."""


def has_no_state_of_its_own() -> bool:
    """Return whether the modules of this program hold functions, classes and constants only, and are all there.

    The main script does not count: tasks do not see its module, and its functions travel by value.
    """
    main = sys.modules.get("__main__")
    values: list[_Value] = []
    for name, module in list(sys.modules.items()):
        inside = inside_of(name)
        if module is main or not is_own(name, inside):
            continue
        if getattr(inside.get("__spec__"), "_initializing", False):
            return False
        values += _named_values(inside)
    return _are_constants(values)


def _named_values(names: Mapping[str, Any]) -> list[_Value]:
    """Return the values of a module or a class. Names in capital letters are constants (PEP 8), lists included."""
    return [
        (value, key.isupper())
        for key, value in list(names.items())
        if type(value) not in _ALWAYS_CONSTANT and not key.startswith("__")
    ]


def _are_constants(values: list[_Value]) -> bool:
    """Return whether these values are the same in each process that imports their modules."""
    seen: dict[tuple[int, bool], Any] = {}  # which keeps the values, so that no other one gets the id of one
    own: dict[str, bool] = {}
    while values:
        value, may_be_container = values.pop()
        if (id(value), may_be_container) in seen:
            continue
        seen[id(value), may_be_container] = value
        if isinstance(value, type):
            values += _named_attributes(value, own)
        elif (parts := _parts_of(value, may_be_container, own)) is None or len(parts) > _MOST_VALUES:
            return False
        elif parts:
            # What a frozen data class or a partial call holds was given to it once.
            may_be_container = may_be_container or type(value) is partial or _is_data_class(value, frozen=True)
            values += [(part, may_be_container) for part in parts if type(part) not in _ALWAYS_CONSTANT]
        if len(seen) + len(values) > _MOST_VALUES:
            return False
    return True


def _named_attributes(cls: type[Any], own: dict[str, bool]) -> list[_Value]:
    """Return the attributes of a class of the program's own; other classes are their packages'."""
    if issubclass(cls, Enum) or not _is_of_own_module(cls, own):
        return []
    return _named_values({name: value for name, value in vars(cls).items() if name not in _OF_PYTHON})


def _is_of_own_module(value: Any, own: dict[str, bool]) -> bool:
    """Return whether a class or a function is the program's; `own` keeps the answer for each module."""
    module = value.__module__ or ""
    if module not in own:
        own[module] = is_own(module, inside_of(module))
    return own[module]


def _parts_of(value: Any, may_be_container: bool, own: dict[str, bool]) -> Collection[Any] | None:
    """Return what must be constant for `value` to be so; None if it never is."""
    kind: type[Any] = type(value)  # pyright: ignore[reportUnknownVariableType]
    if kind is FunctionType:
        return _remembered_by(value, own)
    if kind in _ALWAYS_CONSTANT or issubclass(kind, _CODE) or kind.__module__ == "typing":
        return ()
    if kind in (classmethod, staticmethod):
        return [value.__func__]
    if issubclass(kind, (tuple, frozenset)):
        return value
    if kind is MappingProxyType:
        return gc.get_referents(value)  # the dictionary behind it
    if kind is partial:
        return [value.func, *value.args, *value.keywords.values()]
    if _is_unused(value, kind):
        return [value.default_factory] if kind is defaultdict else ()
    if _is_constant_of_library(kind):
        return ()
    return _parts_of_container(value, kind) if may_be_container or _is_data_class(value, frozen=True) else None


def _remembered_by(function: FunctionType, own: dict[str, bool]) -> Collection[Any]:
    """Return what a function of the program's own keeps from call to call; other functions are their packages'."""
    defaults, by_keyword, cells = function.__defaults__, function.__kwdefaults__, function.__closure__
    if not (defaults or by_keyword or cells) or not _is_of_own_module(function, own):
        return ()
    return [*(defaults or ()), *(by_keyword or {}).values(), *[cell.cell_contents for cell in cells or ()]]


def _is_unused(value: Any, kind: type[Any]) -> bool:
    """Return whether a value that may change has nothing in it yet, as in a process that has just imported it.

    Nobody else can hold a lock: this is the only thread.
    """
    if kind in _SEQUENCES or kind in _DICTIONARIES or _name_of(kind) in _WEAK:
        return len(value) == 0
    if kind is LockType:
        return not value.locked()
    if kind is RLock:
        return not value._is_owned()
    if kind is threading.local or kind is SimpleNamespace:
        return not vars(value)
    return kind is _CACHED and value.cache_info().currsize == 0


def _parts_of_container(value: Any, kind: type[Any]) -> Collection[Any] | None:
    if kind in _SEQUENCES:
        return value
    if kind in _DICTIONARIES:
        return [*value.keys(), *value.values(), getattr(value, "default_factory", None)]
    if kind is SimpleNamespace or _is_data_class(value):
        return gc.get_referents(value)  # attributes, in slots too, and the class
    has_numbers = _name_of(kind) in _NUMBERS and not getattr(getattr(value, "dtype", None), "hasobject", False)
    return () if has_numbers else None


def _is_data_class(value: object, *, frozen: bool = False) -> bool:
    """Return whether a value is one of a (frozen) data class; `dataclasses` itself takes long to import."""
    parameters = vars(type(value)).get("__dataclass_params__")
    return parameters is not None and (parameters.frozen or not frozen)


def _is_constant_of_library(kind: type[Any]) -> bool:
    """Return whether values of this class never change: those of numpy are numbers and types of them."""
    return _name_of(kind) in _MORE_CONSTANTS or any(
        _name_of(base) in ("numpy.dtype", "numpy.generic") for base in kind.__mro__
    )


def _name_of(kind: type[Any]) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
