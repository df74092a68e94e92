"""Large functions inside of values, each an object of its own while it is unchanged (`fray._large_parts`).

Graphs of Dask, wrappers of libraries and the like have functions of the main script in them, which bring the lists and arrays
that they read. A function of a large value becomes an object when it is pickled for the second time. Who has loaded it calls
it again, with what it has changed in its globals, as those functions that tasks call.

Guarded by the GIL: two threads may make two objects of a function at once, which costs time only.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Collection
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

from fray._large_parts import LEAST_BYTES, LargePart, makes_parts, part_for
from fray._native import Snapshot, outside_values
from fray._recent import Recent
from fray._snapshots import state_of
from fray.job.interruption import is_from_signal

if TYPE_CHECKING:
    from fray._native import Client

__all__ = ["PartsOfValue", "load_function"]

_TOKEN_BYTES = 16
_MOST_BYTES = 64 << 20
_ENTRY_BYTES = 1024


class _Sent(NamedTuple):
    """A function that is an object.

    Attributes:
        state: all that it refers to.
        addresses: of all in there that may change.
        token: of that state.
        size: of its pickle, with the memory of arrays, in bytes.
        part: what stood for it in the last value.
    """

    state: Snapshot
    addresses: frozenset[int]
    token: bytes
    size: int
    part: LargePart


class _Here(NamedTuple):
    function: FunctionType
    size: int


_sent: Recent[FunctionType, _Sent] = Recent(_MOST_BYTES, lambda _, sent: _ENTRY_BYTES + sent.size)
_here: Recent[bytes, _Here] = Recent(_MOST_BYTES, lambda _, here: _ENTRY_BYTES + here.size)
"""The functions that were loaded lately, by their tokens."""
_large: WeakSet[FunctionType] = WeakSet()
"""What was in a large value."""
_whole: WeakSet[FunctionType] = WeakSet()
"""What has to come with each value: it could change unnoticed, or cannot be pickled by itself."""


class PartsOfValue:
    """The functions of one value that are objects of their own.

    Args:
        client: sends the value.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._used: dict[FunctionType, _Sent] = {}

    def reduced(self, fn: FunctionType) -> tuple[Callable[..., FunctionType], tuple[Any, ...]] | None:
        """Return how pickle is to bring a function; None where the value has to bring it itself."""
        sent = _sent[fn]
        if (sent is None and fn not in _large) or not makes_parts():
            return None
        if sent is None or not sent.state.holds() or not sent.part.is_of(self._client):
            sent = _put(fn, self._client)
            if sent is None:
                return None
        self._used[fn] = sent
        return load_function, (sent.token, sent.size, sent.part)

    def end_value(self, others: Collection[FunctionType], assigns: bool, size: int, memo: Any) -> bool:
        """Return whether what these functions may change is nowhere else in the value; else it has to be pickled again.

        Args:
            others: the functions that the value brings itself.
            assigns: whether one of them assigns globals.
            size: of the value, in bytes.
            memo: of its pickler.
        """
        if size >= LEAST_BYTES:
            _large.update(fn for fn in others if fn not in _whole)
        if not self._used:
            return True
        if not assigns and self._are_apart(set(memo.copy())):
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


def load_function(token: bytes, size: int, part: LargePart) -> FunctionType:
    """Return the function with this token; the counterpart of `PartsOfValue.reduced`."""
    here = _here[token]
    if here is None:
        pickled, *buffers = part.take()
        here = _here.keep(token, _Here(pickle.loads(pickled, buffers=buffers), size))
    return here.function


def _put(fn: FunctionType, client: Client) -> _Sent | None:
    """Make an object of a function; return None where each value has to bring it."""
    state = state_of(fn)
    if state is None or state.assigns or state.snapshot.classes():  # what else is in the value may see these
        return _refuse(fn)
    buffers: list[pickle.PickleBuffer] = []
    pickled: bytes | None = outside_values(lambda: _dumps(fn, buffers))
    if pickled is None:
        return _refuse(fn)
    size = len(pickled) + sum(buffer.raw().nbytes for buffer in buffers)
    if size < LEAST_BYTES:
        _sent[fn] = None
        _large.discard(fn)
        return None
    part = part_for(client, None, (pickle.PickleBuffer(pickled), *buffers))
    if part is None:
        return None
    addresses: list[int] = state.snapshot.addresses()
    sent = _Sent(state.snapshot, frozenset(addresses), os.urandom(_TOKEN_BYTES), size, part)
    return _sent.keep(fn, sent)


def _dumps(fn: FunctionType, buffers: list[pickle.PickleBuffer]) -> bytes | None:
    from fray._functions_by_value import dumps

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
