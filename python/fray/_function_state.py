"""When a function may be sent by name, and when a copy sent by value is still good.

A function by value (a closure, a lambda, anything of ``__main__``) is stale as soon as something that it refers to has
changed: its code, its defaults, its cells and the globals it names must be the same immutable values as when it was
sent. A function that refers to anything else could change unnoticed.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

__all__ = [
    "MAIN_MODULES",
    "FunctionState",
    "captured_values",
    "global_names",
    "is_generator_function",
    "is_importable",
    "is_pickling_by_value",
    "is_unchanged",
    "name_of",
    "pickling_by_value",
    "send_main_by_value",
    "state_of",
    "warn_of_large_function",
]

MAIN_MODULES = ("__main__", "__mp_main__")
"""Names of the main module; the second one in a process that `multiprocessing` has spawned."""

_IMMUTABLE = (int, float, complex, bool, str, bytes, type(None), type(Ellipsis), range, BuiltinFunctionType, ModuleType)
_MISSING = object()
_CO_GENERATOR = 0x20
"""A flag of the code of generator functions (`inspect.CO_GENERATOR`)."""


def name_of(fn: Any) -> str:
    """Return the qualified name of a callable, or that of its type."""
    return getattr(fn, "__qualname__", None) or type(fn).__qualname__


def is_importable(fn: Any) -> bool:
    """Return whether a worker finds this very object under its name. Modules without a file may not exist there."""
    module_name = getattr(fn, "__module__", None)
    path = getattr(fn, "__qualname__", None)
    if not module_name or not path or module_name in MAIN_MODULES or "<" in path:
        return False
    module = sys.modules.get(module_name)
    if module is None or getattr(module, "__spec__", None) is None:
        return False
    found: Any = module
    for part in path.split("."):
        found = getattr(found, part, None)
    return found is fn


def is_generator_function(fn: Any) -> bool:
    """Return what `inspect.isgeneratorfunction` does, without `inspect`, whose import takes 6 ms."""
    while isinstance(fn, (MethodType, partial)):
        fn = fn.__func__ if isinstance(fn, MethodType) else fn.func  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return isinstance(fn, FunctionType) and bool(fn.__code__.co_flags & _CO_GENERATOR)


_by_value = threading.local()


@contextmanager
def pickling_by_value() -> Generator[None, None, None]:
    """Mark, while the block runs, that this thread pickles by value what other processes cannot import."""
    before = is_pickling_by_value()
    _by_value.runs = True
    try:
        yield
    finally:
        _by_value.runs = before


def is_pickling_by_value() -> bool:
    """Return whether this thread runs such a block; a ref then says that it has to travel as an argument."""
    return getattr(_by_value, "runs", False)


def send_main_by_value(library: Any) -> None:
    """Tell cloudpickle, or Ray's copy of it, that no other process can import the main script of this one."""
    main = sys.modules.get("__mp_main__")
    if main is not None and main.__name__ == "__mp_main__":  # elsewhere __mp_main__ is another name of __main__
        library.register_pickle_by_value(main)


class FunctionState(NamedTuple):
    """All that a function by value refers to; see `state_of`.

    Attributes:
        code: the function's code.
        defaults: of its positional parameters.
        cells: the contents of its cells.
        names: of the globals that its code, and the code inside of it, may read.
        found: what is under each of these names; a mark of its own where there is nothing.
        by_name: those of all these values that are pickled by name, alone or in a tuple, so that it matters whether
            they can still be imported.
    """

    code: CodeType
    defaults: tuple[Any, ...] | None
    cells: tuple[Any, ...]
    names: tuple[str, ...]
    found: tuple[Any, ...]
    by_name: tuple[Any, ...]


def state_of(fn: FunctionType) -> FunctionState | None:
    """Return all that `fn` refers to, or None where some of it could change unnoticed."""
    if fn.__kwdefaults__ or fn.__dict__:
        return None
    try:
        cells = tuple(cell.cell_contents for cell in fn.__closure__ or ())
    except ValueError:
        return None
    names = global_names(fn.__code__)
    found = tuple(fn.__globals__.get(name, _MISSING) for name in names)
    # A builtin or a missing name is the same both times.
    values = [value for value in (*(fn.__defaults__ or ()), *cells, *found) if value is not _MISSING]
    if not all(_is_immutable(value) for value in values):
        return None
    by_name = tuple(value for value in values if type(value) not in _IMMUTABLE)
    return FunctionState(fn.__code__, fn.__defaults__, cells, names, found, by_name)


def is_unchanged(fn: FunctionType, state: FunctionState) -> bool:
    """Return whether `fn` refers to what it referred to in `state`. This runs for each call of a function by value."""
    code, defaults, cells, names, found, by_name = state
    if fn.__code__ is not code or fn.__defaults__ is not defaults or fn.__kwdefaults__ or fn.__dict__:
        return False
    # Identity, not equality: 1 == True, and a changed value of a cell is another object.
    if cells:
        try:
            for cell, value in zip(fn.__closure__ or (), cells, strict=True):
                if cell.cell_contents is not value:
                    return False
        except ValueError:  # a cell is empty now
            return False
    if names:
        look_up = fn.__globals__.get
        for name, value in zip(names, found, strict=True):
            if look_up(name, _MISSING) is not value:
                return False
    return not by_name or all(_is_immutable(value) for value in by_name)


def captured_values(fn: Any) -> list[tuple[str, Any]]:
    """Return the values that are pickled with a callable that is sent by value, each with its name."""
    if not isinstance(fn, FunctionType):
        return list(getattr(fn, "__dict__", {}).items())
    found = [
        (name, cell.cell_contents) for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=False)
    ]
    return found + [(name, fn.__globals__[name]) for name in fn.__code__.co_names if name in fn.__globals__]


def warn_of_large_function(fn: Any, size: int) -> None:
    """Warn of a function that takes `size` bytes, at the line of the program that has sent it."""
    import warnings

    level = 2
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "fray":
        frame, level = frame.f_back, level + 1
    warnings.warn(_large_function_message(fn, size), stacklevel=level)


def _large_function_message(fn: Any, size: int) -> str:
    """Return the text of the warning, with the value that makes the function large."""
    import pickle

    sizes: dict[str, int] = {}
    for variable, value in captured_values(fn):
        try:
            sizes[variable] = len(pickle.dumps(value, protocol=5))
        except Exception:
            continue
    largest = max(sizes, key=lambda variable: sizes[variable], default=None)
    cause = f"; the largest part is {largest!r} with {sizes[largest]} bytes" if largest else ""
    return (
        f"function {name_of(fn)!r} is {size} bytes when pickled{cause}. "
        "Put the value with ctx.put() and pass the ref as an argument instead"
    )


def global_names(code: CodeType) -> tuple[str, ...]:
    """Return the names of the globals that the code, and the code inside of it, may read, and of some attributes."""
    names = code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names += global_names(constant)
    return names


def _is_immutable(value: Any) -> bool:
    if isinstance(value, (tuple, frozenset)):
        return all(_is_immutable(item) for item in value)  # pyright: ignore[reportUnknownVariableType]
    # Exactly these types: a subclass may hold more. A module travels by name; a function of one does too.
    return type(value) in _IMMUTABLE or (type(value) in (FunctionType, type) and is_importable(value))
