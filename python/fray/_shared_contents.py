"""Lists, arrays and other objects that functions and classes of the main script have in common.

A class comes apart from the functions that use it, and each of them would bring a list that both read: what a method
adds to its own copy a function would not find in the other. So these travel as classes do (`fray._classes_by_value`):
by a token for the object and one for its state, with its pickle. Who has loaded that state already takes what it has,
with all that was changed in it there.

Guarded by the GIL: two threads may make two tokens of an object at once, and who gets one does not share with who gets
the other.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from fray._native import Snapshot, make_snapshot, outside_values, plain_pickle
from fray._recent import Recent

__all__ = ["NotSharedError", "SharedContent", "forget", "load_content", "share"]

_MARK_BYTES = 8
_MOST_BYTES = 128 << 20
_LARGE_BYTES = 32 << 20
"""Of an object whose pickle is not kept."""
_ENTRY_BYTES = 1024


class NotSharedError(Exception):
    """An object has to come with all that refers to it."""


class SharedContent:
    """Stands for an object in a pickle."""

    __slots__ = ("_parts",)

    def __init__(self, token: bytes, data: bytes) -> None:
        self._parts = token, data

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[bytes, bytes]]:
        return load_content, self._parts


class _Sent(NamedTuple):
    value: Any
    state: Snapshot
    token: bytes
    data: bytes


class _Here(NamedTuple):
    token: bytes
    value: Any
    size: int


_sent: Recent[int, _Sent] = Recent(_MOST_BYTES, lambda _, sent: _ENTRY_BYTES + len(sent.data))
"""By the addresses of the objects, which the entries hold."""
_here: Recent[bytes, _Here] = Recent(_MOST_BYTES, lambda _, here: _ENTRY_BYTES + here.size)
"""The state that was loaded last of each object that another process has sent, by its mark."""


def share(value: Any, dumps: Callable[[Any], bytes | None]) -> SharedContent:
    """Return what stands for the object in a pickle.

    Args:
        value: the object.
        dumps: pickles it, with the classes of the main script by their tokens; returns None where it cannot.

    Raises:
        NotSharedError: it could change unnoticed, or cannot be pickled so.
    """
    sent = _sent[id(value)]
    if sent is None or not sent.state.holds():
        state = make_snapshot()
        data = (
            None if state.add_content(value) is None else plain_pickle(value) or outside_values(partial(dumps, value))
        )
        if data is None or len(data) > _LARGE_BYTES:
            raise NotSharedError
        mark = os.urandom(_MARK_BYTES) if sent is None else sent.token[:_MARK_BYTES]
        sent = _keep(value, state, mark + os.urandom(_MARK_BYTES), data)
    return SharedContent(sent.token, sent.data)


def load_content(token: bytes, data: bytes) -> Any:
    """Return the object with this token; the counterpart of `share`."""
    mark = token[:_MARK_BYTES]
    here = _here[mark]
    if here is not None and here.token == token:
        return here.value
    value = pickle.loads(data)
    _here.keep(mark, _Here(token, value, len(data)))
    state = make_snapshot()
    if state.add_content(value) is not None:
        _keep(value, state, token, data)
    return value


def forget() -> None:
    """Start anew, in a copy of the process: its objects may become others than those of the original."""
    _sent.clear()
    _here.clear()


def _keep(value: Any, state: Snapshot, token: bytes, data: bytes) -> _Sent:
    return _sent.keep(id(value), _Sent(value, state, token, data))
