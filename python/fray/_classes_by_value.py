"""Classes of the main script, pickled once while they are unchanged. Imported when a value has the first such class.

cloudpickle takes half a millisecond to pickle a class, and as long to load it, for each value that has it. Here each
state of a class has a token. A value brings the tokens of its class and of the classes that this one refers to, with
their pickle, which cloudpickle has made once; who has loaded these states already does not look into the pickle.

A token is the mark of a class, the same in all processes, and the number of a state. Where the class was defined it is
never loaded: results refer to the class as it is there.

Guarded by the GIL: two threads may give a class two tokens at once, which costs time only.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from fray import _shared_contents
from fray._functions import MAIN_MODULES, is_importable, thing_in_main
from fray._large_parts import LEAST_BYTES, LargePart, makes_parts, part_for
from fray._native import note_class, outside_values
from fray._recent import Recent
from fray._references import is_told_by_identity
from fray._snapshots import Snapshot, can_come_together, snapshot_of

if TYPE_CHECKING:
    from fray._native import Client

__all__ = ["Brought", "drop_if_separate", "forget", "load", "load_value", "reduced", "set_state", "wrapped"]

Reduced = tuple[Callable[..., Any], tuple[tuple[bytes, ...], "bytes | LargePart"]]

_MARK_BYTES = 8
_MOST_BYTES = 16 << 20
_ENTRY_BYTES = 4096


class _Sent:
    """A class in the state in which it travels.

    Attributes:
        state: see `fray._class_state`.
        token: of that state.
        tokens: its token, and those of the classes that it refers to.
        data: the pickle of all of them; nothing until it is asked for.
        part: with which this process was sent it; only in workers.
    """

    __slots__ = ("__weakref__", "data", "part", "state", "token", "tokens")

    def __init__(self, state: Snapshot, token: bytes) -> None:
        self.state = state
        self.token = token
        self.tokens: tuple[bytes, ...] = ()
        self.data = b""
        self.part: LargePart | None = None

    def note(self, tokens: tuple[bytes, ...], data: bytes, part: LargePart | None = None) -> None:
        """Note what there is of the class in this state."""
        self.tokens, self.data, self.part = tokens, data, part

    def pickle_for(self, client: Client | None) -> bytes | LargePart:
        """Return the pickle, or what stands for it in a value that this client sends."""
        if client is None or len(self.data) < LEAST_BYTES:
            return self.data
        known = self.part if self.part is not None and self.part.is_of(client) else None
        return known or part_for(client, self, lambda: self.data) or self.data


class Brought:
    """The classes that one pickle brings by their tokens.

    Attributes:
        tokens: of these classes.
        having: those that refer to containers or other objects, by their tokens.
    """

    __slots__ = ("having", "tokens")

    def __init__(self) -> None:
        self.tokens: set[bytes] = set()
        self.having: dict[bytes, type[Any]] = {}

    def addresses(self) -> set[int]:
        """Return those of what may change in the containers and objects that the classes refer to."""
        sent = [_sent_as(cls) for cls in self.having.values()]
        return {address for one in sent if one is not None for address in one.state.addresses()}


_sent: Recent[type[Any], _Sent] = Recent(_MOST_BYTES, lambda _, sent: _ENTRY_BYTES + _size_of(sent))
_together: Recent[frozenset[bytes], bool] = Recent(_MOST_BYTES, lambda tokens, _: _ENTRY_BYTES + 64 * len(tokens))
"""Whether classes in these states may come each by itself in one pickle."""
_marks: WeakKeyDictionary[type[Any], bytes] = WeakKeyDictionary()
_classes: WeakValueDictionary[bytes, type[Any]] = WeakValueDictionary()
"""The classes by their marks."""
_loaded: WeakKeyDictionary[type[Any], bytes] = WeakKeyDictionary()
"""The token of the state that was loaded last. A class that was defined in this process has none."""
_having: set[bytes] = set()
"""The marks of classes that were loaded and refer to containers or other objects."""
_NO_TOKEN = b""


def reduced(
    cls: type[Any], dumps: Callable[[object], bytes], brought: Brought, client: Client | None = None
) -> Reduced | None:
    """Return how pickle is to bring a class, None where cloudpickle has to look at it for each value.

    Args:
        cls: the class.
        dumps: pickles it by value.
        brought: what the same pickle brings before; this class is added.
        client: sends the value that is pickled; None for a pickle that no refs can be in.

    Raises:
        Exception: the class cannot be pickled.
    """
    sent = _sent_as(cls)
    if sent is None:
        return None
    if sent.token in brought.tokens:
        return load, ((sent.token,), b"")
    if not sent.data or not _has_tokens_of_now(sent):
        classes = sent.state.classes()
        all_sent = [_sent_as(inner) for inner in classes]
        if None in all_sent:
            return None
        try:
            data: bytes = outside_values(partial(dumps, classes))
        except _shared_contents.NotSharedError:
            _sent[cls] = None
            return None
        sent.note(tuple(each.token for each in all_sent if each), data)
        _sent.keep(cls, sent)
    if sent.state.has_contents():
        having = {**brought.having, sent.token: cls}
        if len(having) > 1 and not _can_come_together(having):
            return None
        brought.having = having
    brought.tokens.update(sent.tokens)
    return load, (sent.tokens, sent.pickle_for(client))


def _can_come_together(having: dict[bytes, type[Any]]) -> bool:
    tokens = frozenset(having)
    known = _together[tokens]
    return _together.keep(tokens, can_come_together(list(having.values()))) if known is None else known


def _has_tokens_of_now(sent: _Sent) -> bool:
    """Return whether the classes that this one refers to have no newer tokens, which the table may have given them."""
    if len(sent.tokens) == 1:
        return True
    inner = [_sent[cls] for cls in sent.state.classes()]
    return all(one is not None and one.token == token for one, token in zip(inner, sent.tokens, strict=True))


def load(tokens: tuple[bytes, ...], data: bytes | LargePart) -> type[Any]:
    """Return the class with the first of the tokens; the counterpart of `reduced`.

    Without data it is there already: the same pickle has brought it. If another thread has loaded another state of it
    since, it has that state.
    """
    mark = tokens[0][:_MARK_BYTES]
    known = _classes.get(mark)
    if known is not None and (not data or all(map(_is_here, tokens))):
        if mark in _having:
            note_class(False)
        return known
    part = None if isinstance(data, bytes) else data
    pickled = data if isinstance(data, bytes) else data.take()
    note_class(True)
    classes: list[type[Any]] = pickle.loads(pickled)
    for cls, token in zip(classes, tokens, strict=True):
        _note(cls, token)
    first = classes[0]
    sent = _sent[first]
    if sent is not None:
        sent.note(tokens, pickled, None if makes_parts() else part)
        _sent.keep(first, sent)
    return first


def wrapped(
    pickled: bytes,
    classes: Mapping[str, type[Any]],
    buffers: int,
    dumps: Callable[[object], bytes],
    client: Client | None = None,
) -> bytes | None:
    """Return a pickle of the same value as `pickled` that brings these classes, by which name it refers to each.

    None where cloudpickle has to look at one of them for each value.
    """
    parts: dict[str, tuple[tuple[bytes, ...], bytes | LargePart]] = {}
    brought = Brought()
    for name, cls in classes.items():
        one = reduced(cls, dumps, brought, client)
        if one is None:
            return None
        parts[name] = one[1]
    outside = [pickle.PickleBuffer(bytearray()) for _ in range(buffers)]
    return pickle.dumps(_Wrapped((pickled, parts, *outside)), 5, buffer_callback=_stays_outside)


class _Wrapped:
    """A value of which there is a pickle."""

    __slots__ = ("_parts",)

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self._parts = parts

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return load_value, self._parts


def _stays_outside(_: pickle.PickleBuffer) -> bool:
    return False


class _Unpickler(pickle.Unpickler):
    classes: Mapping[str, type[Any]] = {}

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if module_name in MAIN_MODULES:
            return self.classes[global_name]
        return super().find_class(module_name, global_name)


def load_value(
    pickled: bytes, brought: Mapping[str, tuple[tuple[bytes, ...], bytes | LargePart]], *buffers: Any
) -> Any:
    """Return the value; the counterpart of `wrapped`."""
    classes = {name: load(*one) for name, one in brought.items()}
    if all(thing_in_main(name) is cls for name, cls in classes.items()):
        return pickle.loads(pickled, buffers=buffers)
    unpickler = _Unpickler(io.BytesIO(pickled), buffers=buffers)
    unpickler.classes = classes
    return unpickler.load()


def set_state(set_members: Callable[[type[Any], Any], Any], cls: type[Any], state: Any) -> Any:
    """Give a class that comes without a token its members, as cloudpickle does, and take note of that."""
    if is_told_by_identity(cls) and cls in _loaded:
        _loaded[cls] = _NO_TOKEN
    note_class(True)
    return set_members(cls, state)


def drop_if_separate(cls: type[Any]) -> None:
    """Take note that a class travels without a token now.

    If it does so in another state, or with copies of what it has in common with functions, it needs a new token to be
    loaded once more.
    """
    if is_told_by_identity(cls):
        sent = _sent[cls]
        if sent is not None and (sent.state.has_contents() or not sent.state.holds()):
            _sent[cls] = None


def forget() -> None:
    """Start anew, in a copy of the process: its classes may become others than those of the original."""
    for table in (_sent, _marks, _classes, _loaded, _having):
        table.clear()
    _shared_contents.forget()


def _sent_as(cls: type[Any]) -> _Sent | None:
    if not is_told_by_identity(cls):
        return None
    sent = _sent[cls]
    if sent is not None and sent.state.holds():
        return sent
    state = None if is_importable(cls) else snapshot_of(cls)
    if state is None:
        _sent[cls] = None
        return None
    return _sent.keep(cls, _Sent(state, _new_token(cls)))


def _new_token(cls: type[Any]) -> bytes:
    mark = _marks.get(cls)
    if mark is None:
        mark = _marks[cls] = os.urandom(_MARK_BYTES)
        _classes[mark] = cls
    return mark + os.urandom(_MARK_BYTES)


def _is_here(token: bytes) -> bool:
    cls = _classes.get(token[:_MARK_BYTES])
    return cls is not None and _loaded.get(cls, token) == token


def _note(cls: type[Any], token: bytes) -> None:
    """Take note that this state of a class has just been loaded."""
    mark = token[:_MARK_BYTES]
    if mark in _classes and _classes.get(mark) not in _loaded:
        return  # it was defined here
    _marks[cls] = mark
    _classes[mark] = cls
    _loaded[cls] = token
    _show_in_main(cls)
    state = snapshot_of(cls)
    if state is None:
        _sent[cls] = None
    else:
        _sent.keep(cls, _Sent(state, token))
    if state is None or state.has_contents():
        _having.add(mark)
    else:
        _having.discard(mark)


def _show_in_main(cls: type[Any]) -> None:
    """Give a worker's main module the class, as that of the program has it: plain pickle looks for it there."""
    from fray.backend.native import seat

    if seat.client_of_worker is None or cls.__module__ not in MAIN_MODULES or not cls.__qualname__.isidentifier():
        return
    inside = sys.modules["__main__"].__dict__
    before = inside.get(cls.__qualname__)
    if before is None or (isinstance(before, type) and before in _loaded):
        inside[cls.__qualname__] = cls


def _size_of(sent: _Sent) -> int:
    return len(sent.data)
