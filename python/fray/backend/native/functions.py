"""How a callable gets to the workers: by name where they can import it, else by value, pickled once while unchanged.

A function by value (a closure, a lambda, anything of ``__main__``) is pickled again as soon as something that it refers
to could have changed: its code, its defaults, its cells and the globals it names must be the same immutable values as
when it was pickled. Anything else among them means that it is pickled for every call. So a stale closure never runs.
"""

from __future__ import annotations

import sys
import warnings
from functools import lru_cache
from inspect import isgeneratorfunction
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from fray import _native
from fray._cpp_library import CppFunction
from fray.backend.native.failures import can_pickle

__all__ = ["FunctionTable", "HoldsRefs", "IsCpp", "call", "cpp_function"]

_LARGE_BYTES = 1 << 20
_BY_NAME, _BY_VALUE = 0, 1
_CPP = 3
_IMMUTABLE = (int, float, complex, bool, str, bytes, type(None), type(Ellipsis), range, BuiltinFunctionType, ModuleType)


_REF_OUTSIDE = "a ref can only be pickled by Fray"
"""What a ref says that is pickled with a function; see note_nested_ref in bindings/values.cc."""


class HoldsRefs(Exception):
    """A function captures refs or handles: they must be counted on their way, so it has to travel as an argument."""


class IsCpp(Exception):
    """A function is C++ code: its workers are others than this context's own."""


def call(fn: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call `fn`: the function of tasks whose own function travels as an argument."""
    return fn(*args, **kwargs)


class FunctionTable:
    """The callables that one context has sent. Guarded by the GIL."""

    def __init__(self) -> None:
        self._by_name: dict[Any, tuple[Any, bool]] = {}
        self._by_value: dict[Any, tuple[tuple[Any, ...], tuple[Any, bool]]] = {}

    def handle(self, fn: Any, name: str | None, max_calls: int) -> tuple[Any, bool]:
        """Return (native handle, whether it is a generator function) of `fn`.

        Raises:
            HoldsRefs: it captures refs or handles.
            IsCpp: it is C++ code.
            SerializationError: it cannot be pickled; the message names the captured variable.
        """
        key = (fn, name, max_calls)
        try:
            known = self._by_name.get(key)
        except TypeError:  # not hashable: a callable object with __eq__
            return _pickled(fn, name, max_calls)
        if known is not None:
            return known
        if _importable(fn):
            handle = _make(_BY_NAME, f"{fn.__module__}:{fn.__qualname__}".encode(), fn, name, max_calls)
            self._by_name[key] = handle
            return handle
        if type(fn) is not FunctionType:
            if type(fn) is CppFunction:
                raise IsCpp
            return _pickled(fn, name, max_calls)
        state = _state(fn)
        cached = self._by_value.get(key)
        if cached is not None and state is not None and _same(cached[0], state):
            return cached[1]
        handle = _pickled(fn, name, max_calls)
        if state is not None:
            if len(self._by_value) >= 1024:
                self._by_value.clear()
            self._by_value[key] = (state, handle)
        return handle


@lru_cache(maxsize=1024)
def cpp_function(name: str, label: str | None = None) -> Any:
    """Return the native handle of a function or class that a C++ library registers under `name`."""
    return _native.make_function(_CPP, name.encode(), label or name, 0)


def _name_of(fn: Any) -> str:
    return getattr(fn, "__qualname__", None) or type(fn).__qualname__


def _make(kind: int, payload: bytes, fn: Any, name: str | None, max_calls: int) -> tuple[Any, bool]:
    label = name or _name_of(fn).replace("<locals>.", "")
    return _native.make_function(kind, payload, label, max_calls), isgeneratorfunction(fn)


def _pickled(fn: Any, name: str | None, max_calls: int) -> tuple[Any, bool]:
    import cloudpickle

    try:
        payload = cloudpickle.dumps(fn, protocol=5)  # pyright: ignore[reportUnknownMemberType]
    except Exception as error:
        if isinstance(error, TypeError) and _REF_OUTSIDE in str(error):
            raise HoldsRefs from None
        from fray._unpicklable import serialization_error

        raise serialization_error(f"function {_name_of(fn)!r}", fn, error, can_pickle) from error
    if len(payload) > _LARGE_BYTES:
        warnings.warn(_large_message(fn, len(payload)), stacklevel=5)
    return _make(_BY_VALUE, payload, fn, name, max_calls)


def _large_message(fn: Any, size: int) -> str:
    import pickle

    sizes: dict[str, int] = {}
    for variable, value in _captured(fn):
        try:
            sizes[variable] = len(pickle.dumps(value, protocol=5))
        except Exception:
            continue
    largest = max(sizes, key=lambda variable: sizes[variable], default=None)
    cause = f"; the largest part is {largest!r} with {sizes[largest]} bytes" if largest else ""
    return (
        f"function {_name_of(fn)!r} is {size} bytes when pickled{cause}. "
        "Put the value with ctx.put() and pass the ref as an argument instead"
    )


def _captured(fn: Any) -> list[tuple[str, Any]]:
    if not isinstance(fn, FunctionType):
        return list(getattr(fn, "__dict__", {}).items())
    found = [
        (name, cell.cell_contents) for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=False)
    ]
    return found + [(name, fn.__globals__[name]) for name in fn.__code__.co_names if name in fn.__globals__]


def _importable(fn: Any) -> bool:
    """Whether a worker finds this very object under its name. Modules without a file may not exist there."""
    module_name = getattr(fn, "__module__", None)
    path = getattr(fn, "__qualname__", None)
    if not module_name or not path or module_name == "__main__" or "<" in path:
        return False
    module = sys.modules.get(module_name)
    if module is None or getattr(module, "__spec__", None) is None:
        return False
    found: Any = module
    for part in path.split("."):
        found = getattr(found, part, None)
    return found is fn


def _state(fn: FunctionType) -> tuple[Any, ...] | None:
    """Return all that `fn` refers to, or None where some of it could change unseen."""
    values: list[Any] = [fn.__code__, fn.__defaults__, fn.__kwdefaults__]
    if not all(_is_immutable(value) for value in fn.__defaults__ or ()) or fn.__kwdefaults__ or fn.__dict__:
        return None
    for cell in fn.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:
            return None
        if not _is_immutable(values[-1]):
            return None
    for name in _global_names(fn.__code__):
        value = fn.__globals__.get(name, _native)  # a builtin, or missing: the same object both times
        if not _is_immutable(value):
            return None
        values.append(value)
    return tuple(values)


def _global_names(code: CodeType) -> tuple[str, ...]:
    names = code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names += _global_names(constant)
    return names


def _is_immutable(value: Any) -> bool:
    if isinstance(value, (tuple, frozenset)):
        return all(_is_immutable(item) for item in value)  # pyright: ignore[reportUnknownVariableType]
    # Exactly these types: a subclass may hold more. A module travels by name; a function of one does too.
    return type(value) in _IMMUTABLE or (type(value) in (FunctionType, type) and _importable(value))


def _same(old: tuple[Any, ...], new: tuple[Any, ...]) -> bool:
    # Identity, not equality: 1 == True, and a changed value of a cell is another object.
    return len(old) == len(new) and all(a is b for a, b in zip(old, new, strict=True))
