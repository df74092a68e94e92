"""Decides whether workers begin as copies of the program where the program does not say: `automatic_start_method`.

A copy has what the program has imported, and so its first call begins sooner (`fray.backend.native.forked`). But it has
whatever else the program is made of, too, and a program that works with copies alone would fail on a cluster. So a
program is copied unasked only if its tasks could not tell: if nothing of its own can differ between a copy and a new
interpreter, and nothing is under way in it that a fork would cut through. What remains is the state of installed
packages, such as the options of pandas.

In doubt the answer is no, which costs time and nothing else.
"""

from __future__ import annotations

import _thread
import _tracemalloc
import fcntl
import os
import stat
import sys
import threading
import time
from collections.abc import Collection, Mapping
from enum import Enum
from functools import cache, cached_property, partial
from types import BuiltinFunctionType, FunctionType, GenericAlias, MemberDescriptorType, ModuleType, UnionType
from typing import Any, TypeAlias

from fray.backend.native.imported import inside_of, is_own, threads_can_be_told
from fray.backend.native.other_threads import name_of_thread, other_threads
from fray.backend.native.threads import has_numerical_library

__all__ = ["automatic_start_method"]

_Value: TypeAlias = tuple[Any, bool]
"""A value, and whether it may be a container."""

_MOST_COPIED_BYTES = 512 << 20
"""Most memory of a program that is copied unasked: its pages are kept for its workers after it has freed them."""
_MOST_DESCRIPTORS = 256
_MOST_VALUES = 20_000
"""Most descriptors and values that are looked at: a program with more of them would wait longer than a copy saves."""
_TOOLS = 6  # of sys.monitoring
_MEMORY_DEVICES = 1  # the major number of /dev/null and others without state
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
_ALWAYS_CONSTANT = frozenset((type(None), bool, int, float, complex, str, bytes, range, type(...), *_CODE))
_OF_PYTHON = frozenset(("_abc_impl", "_fields", "_field_defaults"))  # attributes that Python gives to classes
_CACHED: type[Any] = type(cache(abs))
_MORE_CONSTANTS = frozenset(
    (
        "__future__._Feature",
        "_collections._tuplegetter",  # a field of a NamedTuple
        "datetime.date",
        "datetime.datetime",
        "datetime.timedelta",
        "decimal.Decimal",
        "fractions.Fraction",
        "os._Environ",
        "logging.Logger",  # of which `logging` keeps one for each name
        "numpy.ufunc",
        "pathlib.PosixPath",
        "pathlib.PurePosixPath",
        "re.Pattern",
    )
)
"""Classes that may not have been imported."""


def automatic_start_method() -> str:
    """Return ``"fork"`` if tasks of this program could not tell a copy of it from a new interpreter.

    Otherwise return ``"forkserver"``.
    """
    try:
        is_fit = _does_one_thing() and _is_small() and _has_no_state_of_its_own() and _can_limit_threads()
    except Exception:  # /proc may be hidden, and modules may be objects of any kind
        is_fit = False
    return "fork" if is_fit else "forkserver"


def _does_one_thing() -> bool:
    """Return whether this is the only thread, at a point of the program that a fork does not cut through."""
    return (
        threading.active_count() == 1
        and threading.current_thread() is threading.main_thread()
        and not _has_foreign_threads()
        and not _is_watched()
        and not _has_opened_anything()
    )


def _has_foreign_threads() -> bool:
    """Return whether there are threads other than those that may be numpy's, which end for a fork.

    Some libraries warn of a fork, or wait for it, while they have threads, so a fork is no way to find out.
    """
    names = set(other_threads())
    return bool(names) and not (has_numerical_library() and names == {name_of_thread(_thread.get_native_id())})


def _is_watched() -> bool:
    """Return whether something traces this program, or has put its own functions in the place of Python's.

    gevent and eventlet do the latter, and tools that make time stand still in tests.
    """
    monitoring = getattr(sys, "monitoring", None)
    return (
        sys.gettrace() is not None
        or sys.getprofile() is not None
        or _tracemalloc.is_tracing()
        or any(type(function) is not BuiltinFunctionType for function in (os.fork, time.sleep, time.time))
        or (monitoring is not None and any(map(monitoring.get_tool, range(_TOOLS))))
    )


def _has_opened_anything() -> bool:
    """Return whether this program has files, sockets or devices open, which its copies would use as well.

    What Python opens is closed when another program is executed, unlike what this program was started with. The
    library of a GPU that has once looked for its devices fails in a copy, also where it has no threads yet.
    """
    descriptors = os.listdir("/proc/self/fd")
    return len(descriptors) > _MOST_DESCRIPTORS or any(_is_opened(int(descriptor)) for descriptor in descriptors)


def _is_opened(descriptor: int) -> bool:
    if descriptor <= 2:
        return False
    try:
        status = os.fstat(descriptor)
        if stat.S_ISCHR(status.st_mode):
            return os.major(status.st_rdev) != _MEMORY_DEVICES and not os.isatty(descriptor)
        is_shared = stat.S_ISREG(status.st_mode) or stat.S_ISSOCK(status.st_mode)
        return is_shared and bool(fcntl.fcntl(descriptor, fcntl.F_GETFD) & fcntl.FD_CLOEXEC)
    except OSError:  # that of the listing itself is closed
        return False


def _is_small() -> bool:
    with open("/proc/self/statm") as file:
        _, resident, shared, *_ = map(int, file.read().split())
    return (resident - shared) * os.sysconf("SC_PAGESIZE") <= _MOST_COPIED_BYTES


def _can_limit_threads() -> bool:
    """Return whether numerical libraries that are loaded can be told how many threads a task may use."""
    return threads_can_be_told() or not has_numerical_library()


def _has_no_state_of_its_own() -> bool:
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
            may_be_container = may_be_container or type(value) is partial or _is_frozen(value)
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
    """Return what must be constant for `value` to be so; None if it never is. This runs no code of the value."""
    kind: type[Any] = type(value)  # pyright: ignore[reportUnknownVariableType]
    if kind is FunctionType:
        return _remembered_by(value, own)
    if kind in _ALWAYS_CONSTANT or issubclass(kind, _CODE) or kind.__module__ == "typing":
        return ()
    if kind in (classmethod, staticmethod):
        return [value.__func__]
    if issubclass(kind, (tuple, frozenset)) or (may_be_container and kind in (list, set)):
        return value
    if may_be_container and kind is dict:
        return [*value.keys(), *value.values()]
    if kind is partial:
        return [value.func, *value.args, *value.keywords.values()]
    if kind is _CACHED:  # a new interpreter has an empty cache, too
        return () if value.cache_info().currsize == 0 else None
    if _is_frozen(value):
        return _fields_of(value)
    return () if f"{kind.__module__}.{kind.__qualname__}" in _MORE_CONSTANTS else None


def _remembered_by(function: FunctionType, own: dict[str, bool]) -> Collection[Any]:
    """Return what a function of the program's own keeps from call to call; other functions are their packages'."""
    defaults, by_keyword, cells = function.__defaults__, function.__kwdefaults__, function.__closure__
    if not (defaults or by_keyword or cells) or not _is_of_own_module(function, own):
        return ()
    return [*(defaults or ()), *(by_keyword or {}).values(), *[cell.cell_contents for cell in cells or ()]]


def _is_frozen(value: object) -> bool:
    """Return whether a value is one of a frozen data class; `dataclasses` itself takes long to import."""
    parameters = vars(type(value)).get("__dataclass_params__")
    return parameters is not None and parameters.frozen


def _fields_of(value: object) -> list[Any]:
    return list(vars(value).values())
