"""`fray.ActorPool`: work for a fixed set of actors, each of which does one piece at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, cast

from fray.errors import ActorDiedError
from fray.job.actors import ActorHandle, actor_id_of
from fray.job.current import get_job_context
from fray.job.refs import ObjectRef

__all__ = ["ActorPool"]


class _Failed:
    """Stands for the ref of a piece that has none, because its function raised when an actor had become free."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class ActorPool:
    """Hands work to whichever actor is free.

    ``fn(actor, value)``, which the methods below are given, calls a method of the actor and returns its ref. An actor
    that has ended for good gets no further work. When the last one has ended, what waits fails with `ActorDiedError`,
    unless `push` brings another one.

    Args:
        actors: handles; idle ones are taken from the end.
    """

    def __init__(self, actors: Iterable[Any]) -> None:
        self._idle = list(actors)
        self._running: dict[int, tuple[Any, Any]] = {}
        """The ref (or `_Failed`) and the actor of each piece, by its number."""
        self._queued: deque[tuple[Callable[[Any, Any], Any], Any]] = deque()
        self._submitted = 0
        self._next = 0
        """The number of the piece that `get_next` returns."""
        self._has_lost_all = False
        """Whether the last actor has ended; the user may have taken others out, and may push them."""

    def _values_of(self, ref: Any) -> Any:
        context = get_job_context()
        return context.get(list(cast("tuple[Any, ...]", ref))) if type(ref) is tuple else context.get(ref)

    def _first_ready(self, refs: list[Any], timeout: float | None) -> list[Any]:
        return get_job_context().wait(refs, num_returns=1, timeout=timeout)[0]

    def map(self, fn: Callable[[Any, Any], Any], values: Iterable[Any]) -> Iterator[Any]:
        """Submit all `values` now; return an iterator of the results in their order."""
        self._submit_all(fn, values)
        return self._results(self.get_next)

    def map_unordered(self, fn: Callable[[Any, Any], Any], values: Iterable[Any]) -> Iterator[Any]:
        """Submit all `values` now; return an iterator of the results as they become ready."""
        self._submit_all(fn, values)
        return self._results(self.get_next_unordered)

    def _submit_all(self, fn: Callable[[Any, Any], Any], values: Iterable[Any]) -> None:
        while self.has_next():
            with suppress(Exception):  # of earlier work, whose results nobody has taken
                self.get_next_unordered(0, ignore_if_timedout=True)
        for value in values:
            self.submit(fn, value)

    def _results(self, take: Callable[[], Any]) -> Iterator[Any]:
        while self.has_next():
            yield take()

    def submit(self, fn: Callable[[Any, Any], Any], value: Any) -> None:
        """Have ``fn(actor, value)`` called as soon as an actor is free."""
        if not self._idle:
            self._queued.append((fn, value))
            return
        actor = self._idle[-1]
        try:
            self._idle.pop()
            ref = self._checked(fn(actor, value))
        except BaseException:
            if actor not in self._idle:
                self._idle.append(actor)
            raise
        self._running[self._submitted] = (ref, actor)
        self._submitted += 1

    def _checked(self, ref: Any) -> Any:
        """Return what `fn` has returned, the refs of a method with several results as a tuple."""
        several = type(ref) is list
        refs: tuple[Any, ...] = tuple(cast("list[Any]", ref)) if several else (ref,)
        if not refs or not all(map(self._is_ref, refs)):
            raise TypeError(f"ActorPool: fn(actor, value) must return the ref of a call of the actor, got {ref!r}")
        return refs if several else ref

    def _is_ref(self, value: Any) -> bool:
        return isinstance(value, ObjectRef)

    def has_next(self) -> bool:
        """Return whether there are results that were not taken."""
        return bool(self._running or (self._has_lost_all and self._queued))

    def get_next(self, timeout: float | None = None, ignore_if_timedout: bool = False) -> Any:
        """Return the next result in the order of submission, or raise what its piece raised.

        Args:
            timeout: seconds to wait.
            ignore_if_timedout: drop the piece and return None where it has no result by then.

        Raises:
            StopIteration: there is none.
            TimeoutError: it is not there in time.
            ValueError: it was taken by `get_next_unordered`.
            ActorDiedError: also where the piece waits for an actor, and none is left.
        """
        self._check_next()
        number = self._next
        if number not in self._running:
            raise ValueError("It is not allowed to call get_next() after get_next_unordered().")
        ref = self._running[number][0]
        ready = isinstance(ref, _Failed) or bool(self._first_ready([_last(ref)], timeout))
        if not ready and not ignore_if_timedout:
            raise TimeoutError("Timed out waiting for result")
        return self._take(number, ready)

    def get_next_unordered(self, timeout: float | None = None, ignore_if_timedout: bool = False) -> Any:
        """Return the next result that is ready, whatever its place; as `get_next` otherwise."""
        self._check_next()
        number, ready = self._ready_number(timeout)
        if not ready and not ignore_if_timedout:
            raise TimeoutError("Timed out waiting for result")
        return self._take(number, ready)

    def _check_next(self) -> None:
        """Raise where nothing is left to wait for; a piece that no actor can take any more is dropped as failed."""
        if not self.has_next():
            raise StopIteration("No more results to get")
        if not self._running:
            self._queued.popleft()
            self._submitted += 1
            self._next = self._submitted
            raise ActorDiedError(
                "ActorPool: a piece of work was not begun, because the last actor of the pool has ended"
            )

    def _ready_number(self, timeout: float | None) -> tuple[int, bool]:
        """Return the number of a piece, and whether its result is there within `timeout` seconds."""
        failed = next((number for number, (ref, _) in self._running.items() if isinstance(ref, _Failed)), None)
        if failed is not None:
            return failed, True
        numbers = {_last(ref): number for number, (ref, _) in self._running.items()}
        ready = self._first_ready(list(numbers), timeout)
        return (numbers[ready[0]], True) if ready else (next(iter(self._running)), False)

    def _take(self, number: int, ready: bool) -> Any:
        ref, actor = self._running.pop(number)
        self._next = max(self._next, number + 1)
        if isinstance(ref, _Failed):
            raise ref.error
        try:
            return self._values_of(ref) if ready else None
        except ActorDiedError as error:
            if _has_ended(actor, error):
                actor = None  # it takes no more work
                self._has_lost_all = not self._idle and all(busy is None for _, busy in self._running.values())
            raise
        finally:
            if actor is not None:
                self._give_back(actor)

    def _give_back(self, actor: Any) -> None:
        self._has_lost_all = False
        self._idle.append(actor)
        while self._queued and self._idle:
            try:
                self.submit(*self._queued.popleft())
            except Exception as error:  # whoever takes the result of this piece is to get it
                self._running[self._submitted] = (_Failed(error), None)
                self._submitted += 1

    def has_free(self) -> bool:
        """Return whether an actor is idle and nothing waits for one."""
        return bool(self._idle) and not self._queued

    def pop_idle(self) -> Any:
        """Take an idle actor out of the pool; None where there is none."""
        return self._idle.pop() if self.has_free() else None

    def push(self, actor: Any) -> None:
        """Put an actor into the pool."""
        if actor in self._idle or any(actor == busy for _, busy in self._running.values()):
            raise ValueError("Actor already belongs to current ActorPool")
        self._give_back(actor)


def _has_ended(actor: Any, error: ActorDiedError) -> bool:
    """Return whether an error says that this actor has ended: not that one call is lost, or that another has ended."""
    if error.fate == "lives_on":
        return False
    return not isinstance(actor, ActorHandle) or error.actor_id in ("", actor_id_of(actor))


def _last(ref: Any) -> Any:
    """Return the ref to wait for: the results of one call become ready together."""
    return cast("tuple[Any, ...]", ref)[-1] if type(ref) is tuple else ref
