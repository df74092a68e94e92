"""`RayRef`: a ref of the Ray backend, around a ref of Ray's; and how refs are pickled."""

from __future__ import annotations

import threading
from abc import ABCMeta
from collections.abc import Callable, Generator
from contextlib import contextmanager
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from fray._ray_refs import HeldRef, uncollected
from fray._ref_outside import RefOutsideError
from fray.backend.ray.library import global_worker
from fray.job.refs import ObjectRef

if TYPE_CHECKING:
    from fray.backend.ray.connection import Connection, Holder

__all__ = ["HINT", "RayRef", "RefType", "is_pickling", "is_trial", "nothing", "packed", "raw_of", "trial_pickling"]

T = TypeVar("T")

_OUTSIDE = "a ref of Fray's can only be pickled inside an argument, a result or an object"
HINT = "a Fray ref: get it with ctx.get(ref) or ref.result(); Ray's own is ref.ray_ref"
_NO_GENERATOR = "this task is no generator; use get or ref.result() for its value"
_trial = threading.local()
_current: Callable[[], Connection] | None = None
"""Set by the context's module: returns the connection of refs that were made by unpickling."""


class RefType(ABCMeta):
    """Ray shows the type of a value that it cannot get; this `repr` tells the user what to do instead."""

    def __repr__(cls) -> str:
        return f"{super().__repr__()} ({HINT})"


@uncollected
class RayRef(HeldRef, ObjectRef[T], metaclass=RefType):
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
        raise TypeError(_NO_GENERATOR)

    async def __anext__(self) -> RayRef[Any]:
        raise TypeError(_NO_GENERATOR)

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is RayRef and self._raw == other._raw)

    def __hash__(self) -> int:
        return hash(self._raw)

    def __repr__(self) -> str:
        return f"<ref {self._raw.hex()[:16]} of Ray ({HINT})>"

    def __reduce__(self) -> Any:
        if is_trial():
            return nothing, ()
        if not is_pickling():
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
        if is_trial():
            return _restored, ([],)
        if not is_pickling():
            raise RefOutsideError(f"{_OUTSIDE}; get their values, or pass the list itself")
        return _restored, (list(map(raw_of, self._refs)),)


def packed(value: Any) -> Any:
    """Return what is pickled in the place of a value: `_RefList` for a list of refs, other values as they are."""
    kind: type[Any] = type(value)  # pyright: ignore[reportUnknownVariableType]
    return _RefList(value) if kind is list and value and all(type(item) is RayRef for item in value) else value


def _restored(raws: list[Any]) -> list[Any]:
    return list(map(RayRef, raws))


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


def is_trial() -> bool:
    """Return whether this thread pickles something only to find out whether it can be pickled."""
    return getattr(_trial, "on", False)


def is_pickling() -> bool:
    """Return whether this thread pickles something for Ray, which then counts the refs in it."""
    return global_worker.get_serialization_context().is_in_band_serialization()


def nothing() -> None:
    """Be what a ref is in a pickle that was made for trial."""


def use_for_unpickled(current: Callable[[], Connection]) -> None:
    """Set what returns the connection of refs that were made by unpickling."""
    global _current
    _current = current
