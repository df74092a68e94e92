"""`TaskFuture`: the `concurrent.futures.Future` of a task, cheap to make and to end.

A plain Future has a condition of its own, which costs more than a task does. A TaskFuture has a lock under the same
name, because `concurrent.futures.wait` and `as_completed` acquire it. A thread that waits in `result` sleeps on a lock
of its own. All methods of Future that use the condition are overridden here.
"""

from __future__ import annotations

import threading
from _thread import RLock  # the class behind threading.RLock, without the choice at each call
from concurrent.futures import CancelledError, Future, InvalidStateError
from concurrent.futures import TimeoutError as FutureTimeoutError
from concurrent.futures import _base as base  # pyright: ignore[reportPrivateUsage]
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from fray.errors import ForeignRefError
from fray.job.checks import check_timeout

__all__ = ["Owner", "TaskFuture", "checked_seconds"]

T = TypeVar("T")

_PENDING, _FINISHED = base.PENDING, base.FINISHED
_CANCELLED, _NOTIFIED = base.CANCELLED, base.CANCELLED_AND_NOTIFIED
_DONE = (_FINISHED, _NOTIFIED, _CANCELLED)


def checked_seconds(timeout: Any) -> float | None:
    """Return `timeout` as `check_timeout` does, but 0 for one below 0, which concurrent.futures allows."""
    return check_timeout(0 if isinstance(timeout, (int, float)) and timeout < 0 else timeout)


class Owner(Protocol):
    """The pool of a future, as the future sees it."""

    def is_waiting(self, future: TaskFuture[Any], cancel: bool) -> bool:
        """Return whether the task has not begun; with `cancel`, prevent it from beginning."""
        ...

    def blocking(self) -> AbstractContextManager[None]:
        """Surround a wait of this thread."""
        ...


class _Listeners:
    """A list of a future that is made when `concurrent.futures` first asks for it, with the future's condition held."""

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    def __get__(self, future: TaskFuture[Any] | None, kind: type[Any]) -> Any:
        if future is None:
            return self
        made: list[Any] = []
        setattr(future, self._name, made)
        future.has_listeners = True
        return made


class TaskFuture(Future[T]):
    """The result of a call that `Executor.submit` was given.

    Threading: `_condition`, a lock, guards the state, the listeners and the sleepers.
    """

    # What concurrent.futures reads, as it is while the call is pending: most futures change little of it.
    _state = _PENDING
    _result: Any = None
    _exception: BaseException | None = None
    _waiters: Any = _Listeners()
    _done_callbacks: Any = _Listeners()
    _sleepers: tuple[Any, ...] = ()
    has_listeners = False
    """Whether `concurrent.futures` has asked for waiters or callbacks."""
    ref: Any = None
    """The task's ref from when it is handed to the context until it has ended."""
    interrupted = False
    """Whether the call is to be cancelled as soon as it has its ref."""

    def __init__(self, owner: Owner) -> None:
        # Not super().__init__(), which makes a condition and two lists.
        self._condition: Any = RLock()
        self.owner = owner

    # ---- asked by users

    def cancel(self) -> bool:
        """Cancel the call if it has not begun, which its worker is asked, and return whether it is cancelled.

        A worker that does not answer for a second counts as having begun the call.
        """
        if not self.done():
            if not self.owner.is_waiting(self, cancel=True):
                return False
            self.withdraw()
        return self.cancelled()

    def running(self) -> bool:
        """Return whether the call has begun and not ended, as far as this process knows."""
        return self._state not in _DONE and not self.owner.is_waiting(self, cancel=False)

    def done(self) -> bool:
        """Return whether the call has ended or was cancelled."""
        return self._state in _DONE

    def result(self, timeout: float | None = None) -> T:
        """Return what the call returned, or raise what it raised; wait at most `timeout` seconds for it."""
        try:
            if self._state not in _DONE:
                self._sleep(timeout)
            if self._state != _FINISHED:
                raise CancelledError()
            if self._exception is not None:
                raise self._exception
            return self._result
        finally:
            self = None  # pyright: ignore[reportAssignmentType]  # the exception's frames must not hold the future

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Return what the call raised, or None; wait at most `timeout` seconds for it."""
        if self._state not in _DONE:
            self._sleep(timeout)
        if self._state != _FINISHED:
            raise CancelledError()
        return self._exception

    # ---- called by the owner, or by tests

    def set_result(self, result: T) -> None:
        """End with a value."""
        if not self._end(_FINISHED, result, None):
            raise InvalidStateError(f"{self._state}: {self!r}")

    def set_exception(self, exception: BaseException | None) -> None:
        """End with an exception."""
        if not self._end(_FINISHED, None, exception):
            raise InvalidStateError(f"{self._state}: {self!r}")

    def finish(self, result: Any, exception: BaseException | None = None) -> None:
        """End, unless it has ended."""
        self._end(_FINISHED, result, exception)

    def withdraw(self) -> None:
        """End as cancelled, unless it has ended."""
        self._end(_NOTIFIED, None, None)

    def leave_to_parent(self) -> None:
        """End in a child of fork(), where the result never arrives. Callbacks and waiters are the parent's."""
        self._condition, self._waiters, self._done_callbacks = RLock(), [], []
        self.finish(
            None,
            ForeignRefError(
                "this call belongs to the process that forked this one, and so does its result; wait for it before the "
                "fork, or submit the call again here"
            ),
        )

    def __reduce__(self) -> Any:
        raise TypeError(
            "a future of a fray.Executor cannot be pickled; pass what its result() returns, or a ref, which ctx.run "
            "returns and which a task gets as its value"
        )

    def _end(self, state: str, result: Any, exception: BaseException | None) -> bool:
        with self._condition:
            if self._state in _DONE:
                return False
            self._result, self._exception, self._state = result, exception, state
            if self.has_listeners:
                self._tell_waiters(state, exception)
            for sleeper in self._sleepers:
                sleeper.release()
            self._sleepers = ()
        self.ref = None
        if self.has_listeners:
            self._invoke_callbacks()  # pyright: ignore
        return True

    def _tell_waiters(self, state: str, exception: BaseException | None) -> None:
        for waiter in self._waiters:
            if state == _NOTIFIED:
                waiter.add_cancelled(self)
            elif exception is not None:
                waiter.add_exception(self)
            else:
                waiter.add_result(self)

    def _sleep(self, timeout: float | None) -> None:
        seconds = checked_seconds(timeout)
        sleeper = threading.Lock()
        sleeper.acquire()
        with self._condition:
            if self._state in _DONE:
                return
            self._sleepers += (sleeper,)
        woken = False
        try:
            with self.owner.blocking():
                woken = sleeper.acquire(timeout=-1 if seconds is None else seconds)
        finally:
            if not woken:
                with self._condition:
                    self._sleepers = tuple(other for other in self._sleepers if other is not sleeper)
        if self._state not in _DONE:
            raise FutureTimeoutError()
