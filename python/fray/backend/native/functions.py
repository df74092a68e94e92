"""How a callable gets to the workers: by name where they can import it, else by value, pickled once while unchanged.

A function by value (a closure, a lambda, anything of ``__main__``) is pickled again as soon as something that it refers
to has changed, see `fray._snapshots`. A function that refers to what could change unnoticed is pickled for every call.
So no stale closure runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pickle import PickleBuffer
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from fray import _native
from fray._functions import is_generator_function, is_importable, name_of, warn_of_large_function
from fray._functions_by_value import dumps as dumps_functions
from fray._native import FunctionKind
from fray._recent import Recent
from fray._ref_outside import RefOutsideError
from fray._sent_functions import SentFunctions
from fray._snapshots import has_shared_contents, snapshot_of
from fray.backend.native.detours import HoldsRefs, IsCpp, is_cpp_function
from fray.backend.native.failures import can_pickle
from fray.errors import SerializationError, StoreFullError
from fray.job.frozen import Frozen
from fray.job.interruption import is_from_signal

if TYPE_CHECKING:
    from fray.backend.native.needs import Needs

__all__ = ["Carried", "FunctionTable", "call", "checked_label", "cpp_function"]

_LARGE_BYTES = 1 << 20
_MORE_IN_ARRAYS = 16
"""A function with so many times as many bytes in arrays as elsewhere is best an object; each batch loads the rest."""
_MOST_NAME_BYTES = 1 << 20
_MOST_VALUE_BYTES = 64 << 20
_ENTRY_BYTES = 512
"""The size of an entry of the table with its key and its handle, without what they hold."""


def call(fn: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call `fn`: the function of tasks whose own function travels as an argument."""
    return fn(*args, **kwargs)


class Carried(NamedTuple):
    """How to call a function of a library with one of its user.

    Attributes:
        handle: the native handle.
        first: the first arguments: a ref to the user's function, unless the handle has it.
        size: bytes of the object of that ref.
    """

    handle: Any
    first: tuple[Any, ...]
    size: int


class FunctionTable:
    """The callables that one context has sent lately. Guarded by the GIL.

    Args:
        needs: gets the pickles and modules of the callables, to find the packages that workers import with them.
    """

    def __init__(self, needs: Needs | None = None) -> None:
        self._needs = needs
        self._by_name: Recent[Any, tuple[Any, bool]] = Recent(_MOST_NAME_BYTES, _size_by_name)
        self._newly_by_name = self._by_name.get  # without a look into the older half
        self._by_value: SentFunctions[Any] = SentFunctions(_MOST_VALUE_BYTES, _size_by_value)

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
        shares = state is not None and has_shared_contents(state)
        payload = dumps_functions(fn, shares=True) if shares else None
        if payload is None:
            state, payload = None if shares else state, self._payload(fn)
        _warn_if_large(fn, payload)
        handle = self._made(payload, fn, name, max_calls)
        return handle if state is None else self._by_value.note(key, state, handle)

    def for_calls(
        self, fn: Any, carrier: Callable[..., Any], name: str, max_calls: int, put: Callable[[Any], Any]
    ) -> Carried | None:
        """Return how to call ``carrier(fn, ...)`` many times, with `fn` as it is now.

        None where `fn` is better off as an argument: what workers can import, C++ code, what captures refs, and what
        cannot be pickled, of which the arguments say why.

        Args:
            fn: the user's function.
            carrier: a function that workers can import.
            name: of the tasks.
            max_calls: see `TaskOptions`.
            put: makes an object of `fn`, and returns its ref. For one with large arrays, which workers then share.
        """
        if type(fn) is Frozen or is_cpp_function(fn) or is_importable(fn):
            return None
        is_function = type(fn) is FunctionType
        key = (carrier, fn, name, max_calls)
        known: Any = self._by_value.find(fn, key) if is_function else None
        if known is None:
            state = snapshot_of(fn) if is_function else None
            shares = state is not None and has_shared_contents(state)
            payload = dumps_functions(partial(carrier, fn), shares=True) if shares else None
            if shares and payload is None:
                state = None
            try:
                known = self._carried(fn, carrier, name, max_calls, put, payload)
            except (HoldsRefs, StoreFullError, SerializationError):
                return None
            # The table would hold what a large closure holds, after the program has dropped it.
            if state is not None and not (fn.__closure__ and _size_by_value(key, known) > _MOST_VALUE_BYTES // 2):
                self._by_value.note(key, state, known)
        return known

    def _carried(
        self, fn: Any, carrier: Any, name: str, max_calls: int, put: Callable[[Any], Any], payload: bytes | None
    ) -> Carried:
        arrays = _LargeArrays()
        payload = payload or self._payload(partial(carrier, fn), arrays.take)
        if arrays.size > _MORE_IN_ARRAYS * len(payload):
            handle, _ = self.handle(carrier, name, max_calls)
            return Carried(handle, (put(fn),), arrays.size)
        if arrays.size > 0:
            payload = self._payload(partial(carrier, fn))
        if carrier is call:
            _warn_if_large(fn, payload)  # else nothing that a program could do better
        return Carried(self._made(payload, fn, name, max_calls)[0], (), 0)

    def frozen(self, fn: Frozen, name: str | None, max_calls: int) -> tuple[Any, bool] | None:
        """Return what `handle` returned for `fn`, or None where the table has dropped it."""
        return self._by_value.find(fn, (fn, name, max_calls))

    def _freeze(self, key: Any, fn: Frozen, name: str | None, max_calls: int) -> tuple[Any, bool]:
        handle, _ = self._pickled(fn.fn, name or fn.__qualname__, max_calls)
        return self._by_value.note(key, None, (handle, fn.is_generator))

    def _pickled(self, fn: Any, name: str | None, max_calls: int) -> tuple[Any, bool]:
        payload = self._payload(fn)
        _warn_if_large(fn, payload)
        return self._made(payload, fn, name, max_calls)

    def _payload(self, fn: Any, buffer_callback: Callable[[Any], object] | None = None) -> bytes:
        try:
            return dumps_functions(fn, 5, buffer_callback) or _dumps(fn, buffer_callback)
        except Exception as error:
            if is_from_signal(error.__traceback__):
                raise
            if isinstance(error, RefOutsideError):
                raise HoldsRefs from None
            from fray._unpicklable import serialization_error

            raise serialization_error(f"function {name_of(fn)!r}", fn, error, can_pickle) from error

    def _made(self, payload: bytes, fn: Any, name: str | None, max_calls: int) -> tuple[Any, bool]:
        if self._needs is not None:
            self._needs.see_pickle(payload)
        return _make(FunctionKind.PICKLE, payload, fn, name, max_calls)


def _warn_if_large(fn: Any, payload: bytes) -> None:
    if len(payload) > _LARGE_BYTES:
        warn_of_large_function(fn, len(payload))


class _LargeArrays:
    """How much memory of a function's arrays is worth a place in shared memory."""

    def __init__(self) -> None:
        self.size = 0

    def take(self, buffer: PickleBuffer) -> bool:
        """Leave a large buffer out of the pickle; return whether it is in there."""
        try:
            size = buffer.raw().nbytes
        except BufferError:  # it is not contiguous
            return True
        if size < _LARGE_BYTES:
            return True
        self.size += size
        return False


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


def _size_by_value(key: Any, known: tuple[Any, bool] | Carried) -> int:
    # The table also holds what the function captures, which takes about as much memory as its pickle.
    shared = known.size if isinstance(known, Carried) else 0
    return _ENTRY_BYTES + 2 * sys.getsizeof(known[0]) + sys.getsizeof(key[-2]) + shared


def _dumps(fn: Any, buffer_callback: Callable[[Any], object] | None) -> bytes:
    from fray._by_value import dumps_for_workers, dumps_whole

    return dumps_for_workers(fn, 5, buffer_callback) or dumps_whole(fn, 5, buffer_callback)


def _make(kind: FunctionKind, payload: bytes, fn: Any, name: str | None, max_calls: int) -> tuple[Any, bool]:
    label = checked_label(name or name_of(fn).replace("<locals>.", ""))
    return _native.make_function(kind, payload, label, max_calls), is_generator_function(fn)
