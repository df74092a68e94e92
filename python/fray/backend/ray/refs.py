"""Refs of the Ray backend: `RayRef` around a ref of Ray's, `RayStream` around a generator of refs."""

from __future__ import annotations

import threading
from abc import ABCMeta
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from fray._ray_refs import HeldRef, uncollected
from fray._ref_outside import RefOutsideError
from fray.job.refs import ObjectRef

if TYPE_CHECKING:
    from fray.backend.ray.connection import Connection, Holder

__all__ = ["RayRef", "RayStream", "packed", "raw_of", "trial_pickling"]

T = TypeVar("T")

_OUTSIDE = "a ref of Fray's can only be pickled inside an argument, a result or an object"
_HINT = "a Fray ref: get it with ctx.get(ref) or ref.result(); Ray's own is ref.ray_ref"
_trial = threading.local()
_current: Callable[[], Connection] | None = None
"""Set by the context's module: returns the connection of refs that were made by unpickling."""


class _RefType(ABCMeta):
    """Ray shows the type of a value that it cannot get; this `repr` tells the user what to do instead."""

    def __repr__(cls) -> str:
        return f"{super().__repr__()} ({_HINT})"


@uncollected
class RayRef(HeldRef, ObjectRef[T], metaclass=_RefType):
    """A ref to a value that Ray holds or will hold. Ray counts it while this object lives; equal where Ray's refs are.

    A program may make millions, so they are made in C alone: neither ``__init__`` nor an attribute may be added.
    """

    __slots__ = ()

    @property
    def connection(self) -> Connection:
        """The engine and the Ray that the ref belongs to; the newest ones for a ref that came out of a pickle."""
        if self._context is None:
            assert _current is not None
            self._context = _current()
        return self._context

    @property
    def engine(self) -> Holder:
        """The engine that it belongs to."""
        return self.connection.engine

    @property
    def ray_ref(self) -> Any:
        """Ray's own ref, for programs that use both."""
        return self._raw

    def waitable(self) -> Any:
        """Return what Ray can wait for."""
        return self._raw

    def task_ref(self) -> Any:
        """Return Ray's ref of the task itself."""
        return self._raw

    def result(self, timeout: float | None = None) -> T:
        return self.engine.context.get(self, timeout)

    def __await__(self) -> Generator[Any, None, T]:
        return self.engine.wait_in_loop(self)

    def __next__(self) -> RayRef[Any]:
        raise TypeError("this task is no generator; use get or ref.result() for its value")

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is RayRef and self._raw == other._raw)

    def __hash__(self) -> int:
        return hash(self._raw)

    def __repr__(self) -> str:
        return f"<ref {self._raw.hex()[:16]} of Ray ({_HINT})>"

    def __reduce__(self) -> Any:
        if getattr(_trial, "on", False):
            return _nothing, ()
        if not self.engine.is_pickling():
            raise RefOutsideError(f"{_OUTSIDE}; get its value, or pass the ref itself")
        return RayRef, (self._raw,)

    def __copy__(self) -> RayRef[T]:
        return self

    def __deepcopy__(self, memo: Any) -> RayRef[T]:
        raise RefOutsideError(f"{_OUTSIDE}; it cannot be copied deeply")


class _RefList:
    """A list of refs, pickled as a list of Ray's refs, so that each ref costs no more than one of Ray's."""

    def __init__(self, refs: list[RayRef[Any]]) -> None:
        self._refs = refs

    def __reduce__(self) -> Any:
        if not getattr(_trial, "on", False) and not self._refs[0].engine.is_pickling():
            raise RefOutsideError(f"{_OUTSIDE}; get their values, or pass the list itself")
        return _restored, ([] if getattr(_trial, "on", False) else list(map(raw_of, self._refs)),)


def packed(value: Any) -> Any:
    """Return what is pickled in the place of a value: `_RefList` for a list of refs, other values as they are."""
    kind: type[Any] = type(value)  # pyright: ignore[reportUnknownVariableType]
    return _RefList(value) if kind is list and value and all(type(item) is RayRef for item in value) else value


def _restored(raws: list[Any]) -> list[Any]:
    return list(map(RayRef, raws))


class RayStream(ObjectRef[T], metaclass=_RefType):
    """The ref of a generator task: an iterator of refs to its items.

    Items that were read from Ray but not yet taken by the user are in `_items`. Dropping the stream ends its
    producer. Threading: `_lock` is held while an item is read.
    """

    __slots__ = ("__weakref__", "_engine", "_failure", "_generator", "_items", "_lock", "connection")

    def __init__(self, generator: Any, connection: Connection) -> None:
        self._generator = generator
        self.connection = connection
        self._engine = connection.engine
        self._items: deque[Any] = deque()
        self._failure: Exception | None = None
        self._lock = threading.Lock()

    @property
    def ray_ref(self) -> Any:
        """Ray's own generator of refs."""
        return self._generator

    def is_exhausted(self) -> bool:
        """Return whether the producer has ended."""
        return self._generator._stream_exhausted()

    def task_ref(self) -> Any:
        """Return Ray's ref of the task itself."""
        return self._generator.completed()

    @property
    def engine(self) -> Holder:
        """The engine that it belongs to."""
        return self._engine

    def waitable(self) -> Any:
        """Return what Ray can wait for: the next item."""
        return self._items[0] if self._items else self._generator

    def result(self, timeout: float | None = None) -> T:
        return self._engine.context.get(self, timeout)

    def __await__(self) -> Generator[Any, None, T]:
        import asyncio

        return asyncio.to_thread(self.result).__await__()

    def __next__(self) -> RayRef[Any]:
        self._engine.check_holds(self)
        with self._lock:
            raw = self._items.popleft() if self._items else self._read()
        return RayRef(raw, self.connection)

    def items(self) -> list[Any]:
        """Return Ray's refs of all items not taken, waiting for the end of the generator; they stay to be taken."""
        with self._lock:
            with suppress(StopIteration):
                while True:
                    self._items.append(self._read())
            return list(self._items)

    def is_ready(self) -> bool:
        """Return whether the next item, or the end, is there."""
        return bool(self._items) or self._failure is not None

    def _read(self) -> Any:
        """Return Ray's ref of the next item; what the generator raised is raised here, again and again."""
        if self._failure is not None:
            raise self._failure
        raw = self._engine.next_raw(self._generator)
        failure = self._engine.failure_of(raw)
        if failure is not None:
            self._failure = failure
            raise failure
        return raw

    def __repr__(self) -> str:
        return f"<ref of a generator task of Ray ({_HINT})>"

    def __reduce__(self) -> Any:
        if getattr(_trial, "on", False):
            return _nothing, ()
        raise TypeError("the ref of a generator task cannot be pickled on Ray; pass list(ref), the refs of its items")

    def __del__(self) -> None:
        with suppress(Exception):
            self._engine.end_stream(self)


raw_of = attrgetter("_raw")
"""Ray's ref of a `RayRef`; AttributeError for everything else."""


@contextmanager
def trial_pickling() -> Generator[None]:
    """Pickle refs as nothing inside the block, which pickles a value only to find out whether it can be pickled."""
    _trial.on = True
    try:
        yield
    finally:
        _trial.on = False


def _nothing() -> None:
    return None


def use_for_strangers(current: Callable[[], Connection]) -> None:
    """Set what returns the connection of refs that were made by unpickling."""
    global _current
    _current = current
