"""How a callable gets to the workers: by name where they can import it, else by value, pickled once while unchanged.

A function by value (a closure, a lambda, anything of ``__main__``) is pickled again as soon as something that it refers
to has changed, see `fray._snapshots`. A function that refers to what could change unnoticed is pickled for every call.
So no stale closure runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from functools import partial
from pickle import PickleBuffer
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from fray import _native
from fray._functions import is_generator_function, is_importable, name_of, warn_of_large_function
from fray._functions_by_value import dumps as dumps_functions
from fray._native import FunctionKind
from fray._recent import Recent
from fray._ref_outside import RefOutsideError
from fray._sent_functions import SentFunctions
from fray._snapshots import FunctionState, has_shared_contents, owner_of, state_of
from fray.backend.native.detours import HoldsRefs, IsCpp, IsPartial, is_cpp_function, is_own_partial
from fray.backend.native.failures import can_pickle
from fray.backend.native.retrying import Retrying
from fray.errors import SerializationError, StoreFullError
from fray.job.frozen import Frozen
from fray.job.interruption import is_from_signal

if TYPE_CHECKING:
    from fray.backend.native.needs import Needs

__all__ = ["FunctionTable", "call", "call_partial", "checked_label", "cpp_function"]

_LARGE_BYTES = 1 << 20
"""A function becomes an object, which workers load from where it lies, where it has an array of this size or its pickle
has. For smaller ones a place in the store costs more than the copies."""
_MOST_NAME_BYTES = 1 << 20
_MOST_VALUE_BYTES = 64 << 20
_ENTRY_BYTES = 512
"""The size of an entry of the table with its key and its handle, without what they hold."""


def call(fn: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call `fn`: the function of tasks whose own function travels as an argument."""
    return fn(*args, **kwargs)


def call_partial(fn: Any, bound: tuple[Any, tuple[Any, ...], dict[str, Any]], /, *args: Any) -> Any:
    """Call ``carrier(partial(fn, ...), *args)``, given the carrier and what is bound to the partial object."""
    carrier, positional, keywords = bound
    return carrier(partial(fn, *positional, **keywords), *args)


class FunctionTable:
    """The callables that one context has sent lately. Guarded by the GIL.

    Args:
        store: makes a function of an object, given its pickle, the memory outside of it, its label and `max_calls`.
        needs: gets the pickles and modules of the callables, to find the packages that workers import with them.
    """

    def __init__(
        self, store: Callable[[bytes, list[memoryview], str, int], _native.Function], needs: Needs | None = None
    ) -> None:
        self._store = store
        self._needs = needs
        self._by_name: Recent[Any, tuple[Any, bool]] = Recent(_MOST_NAME_BYTES, _size_by_name)
        self._newly_by_name = self._by_name.get  # without a look into the older half
        self._by_value: SentFunctions[Any] = SentFunctions(_MOST_VALUE_BYTES, _size_by_value)
        self._comes_again: Recent[int, bool] = Recent(_MOST_NAME_BYTES, lambda _, __: _ENTRY_BYTES)
        """Whether to compare a callable from now on, by its address, or that of the object whose method it is."""

    def handle(self, fn: Any, name: str | None, max_calls: int) -> tuple[Any, bool]:
        """Return (native handle, whether it is a generator function) of `fn`.

        Raises:
            HoldsRefs: `fn` captures refs or handles.
            IsCpp: `fn` is C++ code.
            IsPartial: the arguments of `fn` are best sent as those of a call.
            SerializationError: `fn` cannot be pickled; the message names the captured variable.
        """
        key = (fn, name, max_calls)
        try:
            known = self._newly_by_name(key) or self._by_value.find(fn, key) or self._by_name[key]
        except TypeError:  # not hashable: a callable object with __eq__
            return self._callable(fn, name, max_calls)
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
            if type(fn) is Retrying and type(fn.fn) is FunctionType and not is_importable(fn.fn):
                key = (fn.fn, fn.allowed, name, max_calls)
                return self._by_value.find(fn.fn, key) or self._by_value_of(key, fn.fn, fn, name, max_calls)
            if is_own_partial(fn):
                raise IsPartial
            return self._callable(fn, name, max_calls)
        return self._by_value_of(key, fn, fn, name, max_calls)

    def for_calls(
        self, fn: Any, carrier: Callable[..., Any] | None, name: str, max_calls: int
    ) -> tuple[Any, tuple[Any, ...]] | None:
        """Return (native handle, first arguments) of many calls of ``carrier(fn, ...)``, with `fn` as it is now.

        None where `fn` is better off as an argument: what workers can import, C++ code, what captures refs, and what
        cannot be pickled, of which the arguments say why.

        Args:
            fn: the user's function.
            carrier: what is called with `fn` and the arguments; None for `fn` itself. A worker loads `fn` once for the
                calls with all carriers that it can import, and for those without one.
            name: of the tasks.
            max_calls: see `TaskOptions`.
        """
        if type(fn) is Frozen or is_cpp_function(fn) or is_importable(fn):
            return None
        comes_along = carrier is not None and not is_importable(carrier)
        what = partial(carrier, fn) if carrier is not None and comes_along else fn
        label = name if comes_along else None
        is_function = type(fn) is FunctionType
        key = (carrier, fn, label, max_calls) if comes_along else (fn, None, max_calls)
        known = self._by_value.find(fn, key) if is_function else None
        if known is None:
            try:
                if is_function or comes_along:
                    known = self._by_value_of(key, fn, what, label, max_calls, is_for_calls=True, warns=carrier is None)
                else:
                    known = self._callable(fn, None, max_calls, is_for_calls=True, warns=carrier is None)
            except (HoldsRefs, SerializationError):
                return None
        if carrier is None or comes_along:
            return _native.make_same_function(known[0], checked_label(name), False), ()
        return _native.make_same_function(known[0], checked_label(name), True), (carrier,)

    def frozen(self, fn: Frozen, name: str | None, max_calls: int) -> tuple[Any, bool] | None:
        """Return what `handle` returned for `fn`, or None where the table has dropped it."""
        return self._by_value.find(fn, (fn, name, max_calls))

    def _freeze(self, key: Any, fn: Frozen, name: str | None, max_calls: int) -> tuple[Any, bool]:
        arrays = _Arrays()
        payload = self._payload(fn.fn, arrays)
        _warn_if_large(fn.fn, payload, arrays)
        whole = partial(self._payload, fn.fn)
        handle, _ = self._sent_once(payload, arrays, whole, fn.fn, name or fn.__qualname__, max_calls)
        return self._by_value.note(key, None, (handle, fn.is_generator))

    def _callable(
        self, fn: Any, name: str | None, max_calls: int, *, is_for_calls: bool = False, warns: bool = True
    ) -> tuple[Any, bool]:
        """Return what `handle` does for a callable that is no function, such as a method of an object."""
        owner = owner_of(fn)
        what = id(fn.__func__) if type(fn) is MethodType else name_of(fn)
        key = (id(owner), what, name, max_calls)
        known = self._by_value.find_same(key)
        if known is not None:
            return known
        compares = self._comes_again[id(owner)]
        state = state_of(fn) if compares else None
        if compares is None or (compares and state is None):
            self._comes_again.keep(id(owner), compares is None)
        return self._sent(key, fn, fn, name, max_calls, state, is_for_calls=is_for_calls, warns=warns)

    def _by_value_of(
        self,
        key: Any,
        fn: Any,
        what: Any,
        name: str | None,
        max_calls: int,
        *,
        is_for_calls: bool = False,
        warns: bool = True,
    ) -> tuple[Any, bool]:
        """Return what `handle` does for `what`: the function `fn`, or something with it that does not change.

        Args:
            key: of the entry in the table.
            fn, what, name, max_calls: as for `handle`.
            is_for_calls: whether the caller keeps what it gets for many calls.
            warns: whether a large function is warned of, because a program could do better.
        """
        state = state_of(fn) if type(fn) is FunctionType else None
        return self._sent(key, fn, what, name, max_calls, state, is_for_calls=is_for_calls, warns=warns)

    def _sent(
        self,
        key: Any,
        fn: Any,
        what: Any,
        name: str | None,
        max_calls: int,
        state: FunctionState | None,
        *,
        is_for_calls: bool,
        warns: bool,
    ) -> tuple[Any, bool]:
        """Return what `_by_value_of` does, given the state of the function."""
        shares = state is not None and type(fn) is FunctionType and has_shared_contents(state.snapshot)
        # What is pickled for each call is sent once, while the pickles are equal; two objects never are.
        arrays = None if state is None and not is_for_calls else _Arrays()
        payload = dumps_functions(what, 5, _begin(arrays), shares=True) if shares else None
        if payload is None:
            state, shares = None if shares else state, False
            payload = self._payload(what, arrays, state.separate if state is not None and what is fn else ())
        if warns:
            _warn_if_large(fn, payload, arrays)
        if arrays is None:
            return self._made(payload, fn, name, max_calls)

        def whole() -> bytes:
            return (dumps_functions(what, 5, shares=True) if shares else None) or self._payload(what)

        made = self._sent_once(payload, arrays, whole, fn, name, max_calls)
        if state is None:
            return made
        # The table would hold what a large closure holds, after the program has dropped it.
        if is_for_calls and getattr(fn, "__closure__", True) and _size_by_value(key, made) > _MOST_VALUE_BYTES // 2:
            return made
        return self._by_value.note(key, state.snapshot, made)

    def _sent_once(
        self,
        payload: bytes,
        arrays: _Arrays,
        whole: Callable[[], bytes],
        fn: Any,
        name: str | None,
        max_calls: int,
    ) -> tuple[Any, bool]:
        """Return what `handle` does for a pickle that is good for many calls.

        Args:
            payload: the pickle.
            arrays: what is outside of it.
            whole: makes a pickle with all in it.
            fn, name, max_calls: as for `handle`.
        """
        made = None
        if arrays.memory or len(payload) >= _LARGE_BYTES:
            made = self._stored(payload, arrays, fn, name, max_calls)
            if made is None and arrays.memory:
                payload = whole()
        return made or self._made(payload, fn, name, max_calls)

    def _payload(self, fn: Any, arrays: _Arrays | None = None, separate: Collection[int] = ()) -> bytes:
        try:
            return _dumps(fn, arrays, separate)
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

    def _stored(
        self, payload: bytes, arrays: _Arrays, fn: Any, name: str | None, max_calls: int
    ) -> tuple[Any, bool] | None:
        """Return what `_made` does, with the function in an object; None where the store has no room for it."""
        if self._needs is not None:
            self._needs.see_pickle(payload)
        try:
            handle = self._store(payload, arrays.memory, _label(fn, name), max_calls)
        except StoreFullError:
            return None
        return handle, is_generator_function(fn)


def _warn_if_large(fn: Any, payload: bytes, arrays: _Arrays | None) -> None:
    size = len(payload) + (arrays.pickled_bytes if arrays is not None else 0)
    if size > _LARGE_BYTES:
        warn_of_large_function(fn, size, _Arrays().take if arrays is not None and arrays.are_any_shared() else None)


class _Arrays:
    """The memory of a function's large arrays, which stays outside of its pickle, and large pickles in it.

    Attributes:
        memory: of each array, and each of these pickles.
        pickled_bytes: of the latter.
    """

    def __init__(self) -> None:
        self.memory: list[memoryview] = []
        self.pickled_bytes = 0

    def are_any_shared(self) -> bool:
        """Return whether workers have some of the memory in common: pickles they load, each of them."""
        return any(type(memory.obj) is not bytes for memory in self.memory)

    def take(self, buffer: PickleBuffer) -> bool:
        """Take the memory of a large array; return whether it is to be in the pickle."""
        try:
            memory = buffer.raw()
        except BufferError:  # it is not contiguous
            return True
        if memory.nbytes < _LARGE_BYTES:
            return True
        self.memory.append(memory)
        if type(memory.obj) is bytes:
            self.pickled_bytes += memory.nbytes
        return False


def _begin(arrays: _Arrays | None) -> Callable[[PickleBuffer], bool] | None:
    """Return the `buffer_callback` of a pickle that is to be made now; None for one with all arrays in it."""
    if arrays is None:
        return None
    arrays.memory.clear()
    arrays.pickled_bytes = 0
    return arrays.take


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
    return _ENTRY_BYTES + 2 * sys.getsizeof(known[0]) + sys.getsizeof(key[-2])


def _dumps(fn: Any, arrays: _Arrays | None, separate: Collection[int]) -> bytes:
    payload = dumps_functions(fn, 5, _begin(arrays), separate=separate)
    if payload is None:
        from fray._by_value import dumps_for_workers, dumps_whole

        payload = dumps_for_workers(fn, 5, _begin(arrays)) or dumps_whole(fn, 5, _begin(arrays))
    return payload


def _make(kind: FunctionKind, payload: bytes, fn: Any, name: str | None, max_calls: int) -> tuple[Any, bool]:
    return _native.make_function(kind, payload, _label(fn, name), max_calls), is_generator_function(fn)


def _label(fn: Any, name: str | None) -> str:
    return checked_label(name or name_of(fn).replace("<locals>.", ""))
