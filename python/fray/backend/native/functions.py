"""How a callable gets to the workers: by name where they can import it, else by value, pickled once while unchanged.

A function by value (a closure, a lambda, anything of ``__main__``) is pickled again as soon as something that it refers
to has changed, see `fray._snapshots`. A function that refers to what could change unnoticed is pickled for every call.
So no stale closure runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any

from fray import _native
from fray._functions import is_generator_function, is_importable, name_of, warn_of_large_function
from fray._functions_by_value import dumps as dumps_functions
from fray._native import FunctionKind
from fray._recent import Recent
from fray._ref_outside import RefOutsideError
from fray._sent_functions import SentFunctions
from fray._snapshots import snapshot_of
from fray.backend.native.detours import HoldsRefs, IsCpp, is_cpp_function
from fray.backend.native.failures import can_pickle
from fray.errors import SerializationError
from fray.job.frozen import Frozen
from fray.job.interruption import is_from_signal

if TYPE_CHECKING:
    from fray.backend.native.needs import Needs

__all__ = ["FunctionTable", "call", "checked_label", "cpp_function"]

_LARGE_BYTES = 1 << 20
_MOST_NAME_BYTES = 1 << 20
_MOST_VALUE_BYTES = 64 << 20
_ENTRY_BYTES = 512
"""The size of an entry of the table with its key and its handle, without what they hold."""


def call(fn: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call `fn`: the function of tasks whose own function travels as an argument."""
    return fn(*args, **kwargs)


class FunctionTable:
    """The callables that one context has sent lately. Guarded by the GIL.

    Args:
        needs: gets the pickles and modules of the callables, to find the packages that workers import with them.
    """

    def __init__(self, needs: Needs | None = None) -> None:
        self._needs = needs
        self._by_name: Recent[Any, tuple[Any, bool]] = Recent(_MOST_NAME_BYTES, _size_by_name)
        self._newly_by_name = self._by_name.get  # without a look into the older half
        self._by_value: SentFunctions[tuple[Any, bool]] = SentFunctions(_MOST_VALUE_BYTES, _size_by_value)

    def handle(self, fn: Any, name: str | None, max_calls: int) -> tuple[Any, bool]:
        """Return (native handle, whether it is a generator function) of `fn`.

        Raises:
            HoldsRefs: `fn` captures refs or handles.
            IsCpp: `fn` is C++ code.
            SerializationError: `fn` cannot be pickled; the message names the captured variable.
        """
        key = (fn, name, max_calls)
        try:
            known = self._newly_by_name(key) or self._by_value.find(fn, key) or self._by_name[key]
        except TypeError:  # not hashable: a callable object with __eq__
            return self._pickled(fn, name, max_calls)
        if known is not None:
            return known
        if is_importable(fn):
            if self._needs is not None:
                self._needs.see_module(fn.__module__)
            handle = _make(FunctionKind.PYTHON_NAME, f"{fn.__module__}:{fn.__qualname__}".encode(), fn, name, max_calls)
            return self._by_name.keep(key, handle)
        if type(fn) is not FunctionType:
            if is_cpp_function(fn):
                raise IsCpp
            if type(fn) is Frozen:
                return self._freeze(key, fn, name, max_calls)
            return self._pickled(fn, name, max_calls)
        state = snapshot_of(fn)
        handle = self._pickled(fn, name, max_calls)
        return handle if state is None else self._by_value.note(key, state, handle)

    def for_calls(
        self, fn: Any, carrier: Callable[..., Any] | None, name: str | None, max_calls: int
    ) -> tuple[Any, bool] | None:
        """Return what `handle` does, of `fn` or of ``partial(carrier, fn)``, for many calls of `fn` as it is now.

        None for what is sent otherwise: what workers can import, C++ code, what captures refs, and what cannot be
        pickled, of which `handle` or the arguments say why.
        """
        if type(fn) is Frozen or is_cpp_function(fn) or is_importable(fn):
            return None
        is_function = type(fn) is FunctionType
        key = (fn, name, max_calls) if carrier is None else (carrier, fn, name, max_calls)
        known = self._by_value.find(fn, key) if is_function else None
        if known is not None:
            return known
        state = snapshot_of(fn) if is_function else None
        try:
            if carrier is None:
                handle = self._pickled(fn, name, max_calls)
            else:
                handle = self._pickled(partial(carrier, fn), name or name_of(carrier), max_calls, fn)
        except (HoldsRefs, SerializationError):
            return None
        return handle if state is None else self._by_value.note(key, state, handle)

    def frozen(self, fn: Frozen, name: str | None, max_calls: int) -> tuple[Any, bool] | None:
        """Return what `handle` returned for `fn`, or None where the table has dropped it."""
        return self._by_value.find(fn, (fn, name, max_calls))

    def _freeze(self, key: Any, fn: Frozen, name: str | None, max_calls: int) -> tuple[Any, bool]:
        handle, _ = self._pickled(fn.fn, name or fn.__qualname__, max_calls)
        return self._by_value.note(key, None, (handle, fn.is_generator))

    def _pickled(self, fn: Any, name: str | None, max_calls: int, of_user: Any = None) -> tuple[Any, bool]:
        try:
            payload = dumps_functions(fn) or _dumps(fn)
        except Exception as error:
            if is_from_signal(error.__traceback__):
                raise
            if isinstance(error, RefOutsideError):
                raise HoldsRefs from None
            from fray._unpicklable import serialization_error

            raise serialization_error(f"function {name_of(fn)!r}", fn, error, can_pickle) from error
        if len(payload) > _LARGE_BYTES:
            warn_of_large_function(fn if of_user is None else of_user, len(payload))
        if self._needs is not None:
            self._needs.see_pickle(payload)
        return _make(FunctionKind.PICKLE, payload, fn, name, max_calls)


def cpp_function(name: str, label: str | None = None, retrying: bool = False) -> _native.Function:
    """Return the native handle of a function or class that a C++ library registers under `name`."""
    key = (name, label, retrying)
    return _cpp_functions[key] or _cpp_functions.keep(
        key,
        _native.make_function(
            FunctionKind.CPP_RETRYING if retrying else FunctionKind.CPP, name.encode(), checked_label(label or name), 0
        ),
    )


def checked_label(label: str) -> str:
    """Return the name of a task unchanged.

    Raises:
        ValueError: the name has a NUL character, or one that cannot be encoded as UTF-8.
    """
    if "\0" in label:
        raise ValueError(f"the name of a task must not have a zero character, got {label!r}")
    label.encode()
    return label


def _size_of_cpp(key: tuple[str, str | None, bool], handle: Any) -> int:
    return _ENTRY_BYTES + sys.getsizeof(handle) + sys.getsizeof(key[0]) + sys.getsizeof(key[1])


_cpp_functions: Recent[tuple[str, str | None, bool], Any] = Recent(_MOST_NAME_BYTES, _size_of_cpp)


def _size_by_name(key: Any, known: tuple[Any, bool]) -> int:
    return _ENTRY_BYTES + sys.getsizeof(known[0]) + sys.getsizeof(key[1])


def _size_by_value(key: Any, known: tuple[Any, bool]) -> int:
    # The table also holds what the function captures, which takes about as much memory as its pickle.
    return _ENTRY_BYTES + 2 * sys.getsizeof(known[0]) + sys.getsizeof(key[1])


def _dumps(fn: Any) -> bytes:
    from fray._by_value import dumps, dumps_for_workers

    return dumps_for_workers(fn) or dumps(fn)


def _make(kind: FunctionKind, payload: bytes, fn: Any, name: str | None, max_calls: int) -> tuple[Any, bool]:
    label = checked_label(name or name_of(fn).replace("<locals>.", ""))
    return _native.make_function(kind, payload, label, max_calls), is_generator_function(fn)
