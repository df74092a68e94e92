"""The values that a function or class refers to: which cannot change, and what else travels with it."""

from __future__ import annotations

import copyreg
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any
from weakref import WeakKeyDictionary

from fray._functions import globals_of, is_importable
from fray._reductions import CachedFunction, state_of_cached
from fray.job.interruption import is_from_signal

__all__ = [
    "References",
    "has_plain_state",
    "has_slots_alone",
    "is_content",
    "is_deque",
    "is_dict_of_collections",
    "is_immutable",
    "is_named_tuple",
    "is_partial",
    "is_plain_dict",
    "is_told_by_identity",
    "note_classes",
    "reads_content",
    "referred_by",
    "without_notes",
]

_IMMUTABLE = (int, float, complex, bool, str, bytes, type(None), type(Ellipsis), range, ModuleType)
_IMMUTABLE_BY_NAME = {
    "_contextvars": {"ContextVar"},
    "_struct": {"Struct"},
    "_thread": {"_local"},
    "datetime": {"date", "datetime", "time", "timedelta", "timezone"},
    "decimal": {"Decimal"},
    "fractions": {"Fraction"},
    "ipaddress": {"IPv4Address", "IPv6Address", "IPv4Network", "IPv6Network"},
    "pandas": {"Timedelta", "Timestamp"},
    "pandas._libs.missing": {"NAType"},
    "pandas._libs.tslibs.nattype": {"NaTType"},
    "pandas._libs.tslibs.timedeltas": {"Timedelta"},
    "pandas._libs.tslibs.timestamps": {"Timestamp"},
    "pandas.api.typing": {"NAType", "NaTType"},
    "pathlib": {"PosixPath", "PurePosixPath", "PureWindowsPath", "WindowsPath"},
    "pathlib._local": {"PosixPath", "PurePosixPath", "PureWindowsPath", "WindowsPath"},
    "re": {"Pattern"},
    "uuid": {"UUID"},
    "zoneinfo": {"ZoneInfo"},
}
"""By the names of their modules, which need not be imported for this. The zone of a time counts as immutable too, and
paths and networks, which note down what they have computed of themselves.

Variables of threads and contexts are the same for whoever sees none of the values that they have here.
"""
_NOTES: dict[str, tuple[type[Any], ...]] = {
    "dataclasses": (set,),  # which objects the representation is just writing
    "functools": (WeakKeyDictionary, MappingProxyType, MethodType),  # what singledispatch has found, and views of it
}
_HEAP_TYPE = 1 << 9
"""A flag of classes that are no static parts of the interpreter (`Py_TPFLAGS_HEAPTYPE`)."""
_OF_WRAPPERS = {
    "__module__",
    "__name__",
    "__qualname__",
    "__doc__",
    "__annotations__",
    "__annotate__",
    "__type_params__",
}
"""What `functools.wraps` copies."""
_USUAL_DICT = (type(None), GetSetDescriptorType)
"""The attribute `__dict__` of a class, unless it makes one of its own."""


_WORD = 8
"""Bytes of an address in the memory of an object."""


class _Plain:
    pass


class _PlainDict(dict[Any, Any]):
    pass


class References:
    """The functions and classes that something refers to, and what else may change.

    Attributes:
        by_value: functions and classes that other processes cannot import.
        by_name: the others.
        contents: containers, arrays and other objects.
    """

    __slots__ = ("by_name", "by_value", "contents")

    def __init__(self) -> None:
        self.by_value: list[Any] = []
        self.by_name: list[Any] = []
        self.contents: list[Any] = []

    def take(self, value: Any) -> None:
        """Note what there is in `value` that may change, or has to come along."""
        # Exactly these types: a subclass may hold more. A module travels by name; a function of one does too.
        kind: type[Any] = type(value)  # pyright: ignore[reportUnknownVariableType]
        if _is_one_of(kind, _IMMUTABLE):
            return
        if kind is tuple or kind is frozenset:
            self.take_all(value)
        elif kind is FunctionType or issubclass(kind, type):
            (self.by_name if is_importable(value) else self.by_value).append(value)
        elif kind is CachedFunction and not is_importable(value):
            self._take_cached(value)
        elif kind is BuiltinFunctionType and (value.__self__ is None or isinstance(value.__self__, (ModuleType, type))):
            return  # else it is a method of an object, such as the `append` of a list
        elif is_immutable(kind):
            if kind.__flags__ & _HEAP_TYPE:
                self.take(kind)
        elif _is_pickled_by_name(value):
            self.by_name.append(value)
        elif kind.__module__ != "dataclasses":  # marks, such as that of a default that is made for each object
            self.contents.append(value)

    def _take_cached(self, fn: Any) -> None:
        """Take the function that a cached one calls. Where it arrives, all who use it are to have one cache."""
        self.contents.append(fn)
        state = state_of_cached(fn)
        self.take(state.pop("__wrapped__", None))
        if not state.keys() <= _OF_WRAPPERS:
            self.contents.append(fn.__dict__)

    def take_all(self, values: Iterable[Any]) -> None:
        """Take each of the values."""
        for value in values:
            self.take(value)


def is_content(value: Any) -> bool:
    """Return whether something in this very value may change that travels with it."""
    if type(value) is CachedFunction:
        return False
    refers = References()
    refers.take(value)
    return any(content is value for content in refers.contents)


def without_notes(fn: FunctionType, values: Iterable[Any]) -> list[Any]:
    """Return what of a function's cells and attributes counts: not what library code notes there for itself."""
    notes = _NOTES.get(fn.__globals__.get("__name__", ""), ())
    return [value for value in values if not any(type(value) is kind for kind in notes)]


def referred_by(fn: FunctionType) -> tuple[list[Any], References]:
    """Return the changeable objects among the globals that a function reads, and what else it refers to."""
    values = [fn.__globals__[name] for name in globals_of(fn.__code__).names if name in fn.__globals__]
    named = [value for value in values if is_content(value)]
    refers = References()
    refers.take_all(value for value in values if not any(value is one for one in named))
    others = [*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values(), *vars(fn).values()]
    for cell in fn.__closure__ or ():
        with suppress(ValueError):  # it is empty
            others.append(cell.cell_contents)
    refers.take_all(without_notes(fn, others))
    return named, refers


def reads_content(fn: FunctionType) -> bool:
    """Return whether a function refers to containers or other objects, in which something may change."""
    named, refers = referred_by(fn)
    return bool(named or refers.contents)


def is_told_by_identity(cls: type[Any]) -> bool:
    """Return whether a class equals itself alone, so that it can be looked up in a table."""
    kind: type[Any] = type(cls)
    return kind.__eq__ is type.__eq__ and kind.__hash__ is type.__hash__


def _is_one_of(kind: type[Any], kinds: tuple[type[Any], ...]) -> bool:
    return any(kind is one for one in kinds)  # `in` asks the metaclass, which may say that all are equal


def is_immutable(kind: type[Any]) -> bool:
    """Return whether objects of exactly this class never change, and refer to nothing that does but their class."""
    if _is_one_of(kind, _IMMUTABLE):
        return True
    if not is_told_by_identity(kind):
        return False
    if kind.__name__ in _IMMUTABLE_BY_NAME.get(str(kind.__module__), ()):
        return True
    logging = sys.modules.get("logging")
    if logging is not None and issubclass(kind, logging.Logger):
        return kind.__reduce__ in (logging.Logger.__reduce__, logging.RootLogger.__reduce__)  # the name alone travels
    enum, numpy = sys.modules.get("enum"), sys.modules.get("numpy")
    if enum is not None and isinstance(kind, enum.EnumMeta):  # the class has the values of its members
        return True
    if numpy is None or kind.__module__ != "numpy" or not issubclass(kind, numpy.generic):
        return False
    return not issubclass(kind, (numpy.void, numpy.object_))


def is_named_tuple(kind: type[Any]) -> bool:
    """Return whether objects of this class are tuples that have nothing besides their items."""
    return (
        tuple in kind.__mro__
        and kind.__dictoffset__ == 0
        and isinstance(kind.__dict__.get("_fields"), tuple)
        and _is_pickled_as_usual(kind)
    )


def _is_pickled_as_usual(kind: type[Any]) -> bool:
    return kind.__reduce_ex__ is object.__reduce_ex__ and kind.__reduce__ is object.__reduce__


def _is_pickled_by_name(value: Any) -> bool:
    """Return whether pickle refers to an object by its name alone, as to the functions of numpy."""
    kind: type[Any] = type(value)  # pyright: ignore[reportUnknownVariableType]
    reduce = copyreg.dispatch_table.get(kind)
    try:  # objects that make attributes of any name are among these
        return is_importable(value) and isinstance(value.__reduce_ex__(5) if reduce is None else reduce(value), str)
    except Exception as error:
        if is_from_signal(error.__traceback__):
            raise
        return False


def is_dict_of_collections(kind: type[Any]) -> bool:
    """Return whether objects of this class are dicts of `collections` that have entries, and maybe a factory, alone."""
    return kind is Counter or kind is defaultdict


def is_deque(kind: type[Any]) -> bool:
    """Return whether objects of this class are deques of which nothing but their items can change."""
    return kind is deque


def is_partial(kind: type[Any]) -> bool:
    """Return whether objects of this class are partial objects as `functools` makes them."""
    return kind is partial


def has_slots_alone(kind: type[Any]) -> bool:
    """Return whether the memory of objects of this class has their slots and nothing else, all of which are pickled."""
    own = kind.__mro__[:-1]
    if not is_told_by_identity(kind) or kind.__dictoffset__ or kind.__itemsize__:
        return False
    if not all(base.__flags__ & _HEAP_TYPE and "__slots__" in base.__dict__ for base in own):
        return False
    words, rest = divmod(kind.__basicsize__ - object.__basicsize__, _WORD)
    slots = sum(type(part) is MemberDescriptorType for base in own for part in base.__dict__.values())
    return not rest and words == slots + (kind.__weakrefoffset__ > 0) and _is_pickled_with_all(kind)


def has_plain_state(kind: type[Any]) -> bool:
    """Return whether objects of this class have their attributes and nothing else, and are pickled with all of them."""
    return kind.__basicsize__ == _Plain.__basicsize__ and _has_usual_attributes(kind)


def is_plain_dict(kind: type[Any]) -> bool:
    """Return whether objects of this class are dicts with attributes and nothing else, all of which is pickled."""
    return (
        dict in kind.__mro__
        and kind.__basicsize__ == _PlainDict.__basicsize__
        and not any("items" in base.__dict__ for base in kind.__mro__[: kind.__mro__.index(dict)])
        and _has_usual_attributes(kind)
    )


def _has_usual_attributes(kind: type[Any]) -> bool:
    own = kind.__mro__[:-1]
    return (
        is_told_by_identity(kind)
        and kind.__dictoffset__ != 0
        and not any(base.__dict__.get("__slots__") for base in own)
        and all(type(base.__dict__.get("__dict__")) in _USUAL_DICT for base in own)
        and _is_pickled_with_all(kind)
    )


def _is_pickled_with_all(kind: type[Any]) -> bool:
    """Return whether all that objects of this class have is pickled; of data classes with slots it is the fields."""
    state = kind.__getstate__
    return (
        _is_pickled_as_usual(kind)
        and (state is object.__getstate__ or getattr(state, "__module__", None) == "dataclasses")
        and not any(hasattr(kind, name) for name in ("__getnewargs__", "__getnewargs_ex__"))
        and kind not in copyreg.dispatch_table
    )


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
