"""Large functions inside of values, each an object of its own while it is unchanged (`fray._large_parts`).

Graphs of Dask, wrappers of libraries and the like have functions of the main script in them, which bring the lists and
arrays that they read. A function of a large value becomes an object when it is pickled for the second time. A worker
that has loaded it calls it again, with what it has changed in its globals, like the functions that tasks call.

Guarded by the GIL: two threads may make two objects of a function at once, which costs time only.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Collection
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from fray._large_parts import LEAST_BYTES, LargePart, makes_parts, part_for
from fray._native import Snapshot, outside_values
from fray._recent import Recent
from fray._snapshots import state_of
from fray.job.interruption import is_from_signal

if TYPE_CHECKING:
    from fray._native import Client

__all__ = ["PartsOfValue", "load_function"]

Dumps = Callable[[FunctionType, int, Callable[[pickle.PickleBuffer], bool]], "bytes | None"]
"""Returns the pickle of a function in a protocol, and calls the last argument with the memory of arrays."""

_TOKEN_BYTES = 16
_MOST_BYTES = 64 << 20
_ENTRY_BYTES = 1024


class _Sent:
    """A function that is an object.

    Args:
        state: all that it refers to.

    Attributes:
        addresses: of all in there that may change.
        token: of that state.
        size: of its pickle, with the memory of arrays, in bytes.
    """

    __slots__ = ("__weakref__", "addresses", "size", "state", "token")

    def __init__(self, state: Snapshot) -> None:
        addresses: list[int] = state.addresses()
        self.state = state
        self.addresses = frozenset(addresses)
        self.token = os.urandom(_TOKEN_BYTES)
        self.size = 0


_sent: Recent[FunctionType, _Sent] = Recent(_MOST_BYTES, lambda _, sent: _ENTRY_BYTES + sent.size)
_here: Recent[bytes, tuple[FunctionType, int]] = Recent(_MOST_BYTES, lambda _, here: _ENTRY_BYTES + here[1])
"""The functions that were loaded lately, by their tokens, and their bytes."""
_large: WeakSet[FunctionType] = WeakSet()
"""What was in a large value."""
_whole: WeakSet[FunctionType] = WeakSet()
"""What has to come with each value: it could change unnoticed, or cannot be pickled by itself."""


class PartsOfValue:
    """The functions of one value that are objects of their own.

    Args:
        client: sends the value.
        dumps: pickles functions (`fray._functions_by_value`).
    """

    def __init__(self, client: Client, dumps: Dumps) -> None:
        self._client = client
        self._dumps = dumps
        self._used: dict[FunctionType, _Sent] = {}

    def reduced(self, fn: FunctionType) -> tuple[Callable[..., FunctionType], tuple[Any, ...]] | None:
        """Return how pickle is to bring a function; None where the value has to bring it itself."""
        sent = _sent[fn]
        if (sent is None and fn not in _large) or not makes_parts():
            return None
        if sent is None or not sent.state.holds():
            state = state_of(fn)
            if state is None or state.assigns or state.snapshot.classes():  # what else is in the value may see these
                return _refuse(fn)
            sent = _Sent(state.snapshot)
        part = part_for(self._client, sent, partial(_pickled, fn, sent, self._dumps))
        if part is None:
            return None
        if _sent[fn] is not sent:
            _sent.keep(fn, sent)
        self._used[fn] = sent
        return load_function, (sent.token, part)

    def end_value(
        self, others: Collection[FunctionType], assigns: bool, size: int, addresses: Callable[[], set[int]]
    ) -> bool:
        """Return whether what these functions may change is nowhere else in the value; else it has to be pickled again.

        Args:
            others: the functions that the value brings itself.
            assigns: whether one of them assigns globals.
            size: of the value, in bytes.
            addresses: returns those of all that it brings itself.
        """
        if size >= LEAST_BYTES:
            _large.update(fn for fn in others if fn not in _whole)
        if not self._used:
            return True
        if not assigns and self._are_apart(addresses()):
            return True
        for fn in self._used:
            _refuse(fn)
        return False

    def _are_apart(self, addresses: set[int]) -> bool:
        for sent in self._used.values():
            if not addresses.isdisjoint(sent.addresses):
                return False
            addresses |= sent.addresses
        return True


def load_function(token: bytes, part: LargePart) -> FunctionType:
    """Return the function with this token; the counterpart of `PartsOfValue.reduced`."""
    here = _here[token]
    if here is not None:
        return here[0]
    pickled, *buffers = part.take()
    function: FunctionType = pickle.loads(pickled, buffers=buffers)
    if not makes_parts():  # the program gets a copy each time, and keeps no memory of a context that it has closed
        _here.keep(token, (function, sum(memoryview(each).nbytes for each in (pickled, *buffers))))
    return function


def _pickled(fn: FunctionType, sent: _Sent, dumps: Dumps) -> tuple[pickle.PickleBuffer, ...] | None:
    """Return the pickle of a function, and what is outside of it; None where each value has to bring it."""
    buffers: list[pickle.PickleBuffer] = []
    pickled: bytes | None = outside_values(partial(_dumped, fn, buffers, dumps))
    if pickled is None:
        return _refuse(fn)
    sent.size = len(pickled) + sum(buffer.raw().nbytes for buffer in buffers)
    if sent.size < LEAST_BYTES:
        _sent[fn] = None
        _large.discard(fn)
        return None
    return pickle.PickleBuffer(pickled), *buffers


def _dumped(fn: FunctionType, buffers: list[pickle.PickleBuffer], dumps: Dumps) -> bytes | None:
    def take(buffer: pickle.PickleBuffer) -> bool:
        try:
            buffer.raw()
        except BufferError:  # it is not contiguous
            return True
        buffers.append(buffer)
        return False

    try:
        return dumps(fn, 5, take)
    except Exception as error:
        if is_from_signal(error.__traceback__):
            raise
        return None


def _refuse(fn: FunctionType) -> None:
    _whole.add(fn)
    _large.discard(fn)
    _sent[fn] = None
