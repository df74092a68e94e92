"""`CallPool`: the calls of one executor, and the thread that ends their futures.

No thread waits for a single future: one watch of the context reports all results that arrive. The pool holds no
reference to its `Executor`, so that a dropped executor can be collected while its last calls run.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict, deque
from concurrent.futures import BrokenExecutor
from contextlib import AbstractContextManager
from types import FunctionType, MethodType
from typing import Any
from weakref import WeakSet

from fray.errors import TaskCancelledError
from fray.executor.calls import InitializerFailedError, MappedFunction, with_initializer
from fray.executor.future import TaskFuture
from fray.job.context import JobContext
from fray.job.interruption import is_from_signal
from fray.types import TaskOptions

__all__ = ["CallPool"]

Call = tuple[Any, tuple[Any, ...], dict[str, Any]]


class CallPool:
    """Hands calls to a context, at most `limit` at a time, and ends their futures.

    Threading: `_lock` guards the attributes. User code (pickling, callbacks) never runs with it held.
    """

    def __init__(
        self, context: JobContext, options: TaskOptions, limit: int | None, initializer: tuple[str, bytes] | None
    ) -> None:
        self.context = context
        self._options = options
        self._limit = limit
        self._wrapper = None if initializer is None else with_initializer(*initializer)
        # Reentrant: the garbage collector may end an executor while this thread holds it.
        self._lock = threading.RLock()
        self._waiting: OrderedDict[TaskFuture[Any], Call] = OrderedDict()
        self._in_flight: set[TaskFuture[Any]] = set()
        self._arrived: deque[TaskFuture[Any]] = deque()
        self._connect()
        self._open = not _exiting
        self._broken: str | None = None
        self._broken_by: BaseException | None = None
        self._thread: threading.Thread | None = None
        self._idle = False
        self._work = threading.Lock()  # released to wake the thread when it is idle
        self._work.acquire()
        _living.add(self)

    def _connect(self) -> None:
        self._engine = self.context.engine
        self._watch = self._engine.watch()
        self._inherited = False

    def leave_to_parent(self) -> None:
        """Begin anew in a child of fork(): the thread, the engine and the calls are the parent's."""
        _parents.append((self._engine, self._watch))
        futures = [*self._in_flight, *self._waiting]
        self._lock = threading.RLock()
        self._waiting, self._in_flight, self._arrived = OrderedDict(), set(), deque()
        self._thread, self._idle, self._inherited = None, False, True
        self._work = threading.Lock()
        self._work.acquire()
        for future in futures:
            future.leave_to_parent()

    # ---- from any thread

    def submit(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TaskFuture[Any]:
        """Start a call, or queue it where as many calls run as may run at once.

        Args:
            fn: the function, or a `MappedFunction`.
            args: positional arguments.
            kwargs: keyword arguments; a `MappedFunction` has none.
        """
        future: TaskFuture[Any] = TaskFuture(self)
        try:
            with self._lock:
                if not self._open:
                    raise self._refusal()
                if self._inherited:
                    self._connect()
                if self._limit is not None and len(self._in_flight) >= self._limit:
                    self._waiting[future] = (fn, args, kwargs)
                    return future
                self._in_flight.add(future)
                if self._idle:
                    self._idle = False
                    self._work.release()
                elif self._thread is None:
                    self._start_thread()
            self._send(future, fn, args, kwargs)
        except BaseException:  # Ctrl-C, or the cancellation of the task that submits
            self._forget(future)
            raise
        return future

    def is_waiting(self, future: TaskFuture[Any], cancel: bool) -> bool:
        """Return whether the call of `future` has not begun; with `cancel`, prevent it from beginning."""
        with self._lock:
            if future in self._waiting:
                if cancel:
                    del self._waiting[future]
                return True
            ref = future.ref
        return ref is not None and self._engine.is_waiting(ref, cancel)

    def blocking(self) -> AbstractContextManager[None]:
        """Surround a wait for futures, because this thread may run a task, whose place is given away meanwhile."""
        return self._engine.blocking()

    def interrupt(self) -> None:
        """Cancel every call, also those that have begun."""
        with self._lock:
            futures = [*self._in_flight, *self._waiting]
        for future in reversed(futures):
            future.interrupted = True  # before its ref is read: see _send()
            ref = future.ref
            if not future.cancel() and ref is not None and not self.context.closed:
                self.context.cancel(ref)

    def close(self, cancel: bool = False) -> None:
        """Take no more calls. With `cancel`, those that have not begun are cancelled."""
        with self._lock:
            self._open = False
            # The newest first: cancelling an older one would let a newer one begin.
            futures = [*self._in_flight, *self._waiting] if cancel else []
            if self._idle:
                self._idle = False
                self._work.release()
        for future in reversed(futures):
            future.cancel()

    def join(self) -> None:
        """Wait for the end of all calls."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            with self.blocking():
                thread.join()

    # ---- sending

    def _send(self, future: TaskFuture[Any], fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        arrived = MethodType(self._arrived.append, future)  # a partial costs more
        try:
            if self._wrapper is None and callable(fn):
                future.ref = ref = self.context.engine.submit(fn, args, kwargs, self._options)
            else:
                future.ref = ref = self._start(fn, args, kwargs)
            self._watch.add(ref, arrived)
            if future.interrupted:  # perhaps before it had its ref
                self.context.cancel(ref)
        except Exception as error:
            if is_from_signal(error.__traceback__):
                raise
            future.finish(None, error)
            arrived()
            self._watch.wake()

    def _start(self, given: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the ref of a task that was started now: of a map, or with an initializer."""
        engine = self.context.engine
        mapped = given if type(given) is MappedFunction else None
        fn: Any = given if mapped is None else mapped.fn
        if not callable(fn):
            self.context.create_task(fn)  # raises the error
        if mapped is not None and self._wrapper is None:
            return mapped.start(engine, args, self._options)
        if mapped is not None:
            fn, args = mapped.call(args)
        assert self._wrapper is not None
        if type(fn) is FunctionType:
            return engine.caller(fn, self._options, self._wrapper)((args, kwargs))
        return engine.submit(self._wrapper, (fn, args, kwargs), {}, self._options)

    def _forget(self, future: TaskFuture[Any]) -> None:
        """Cancel a call whose future nobody gets, and wait no longer for it."""
        with self._lock:
            self._waiting.pop(future, None)
            if future not in self._in_flight:
                return
            self._in_flight.remove(future)
        if future.ref is not None and not self.context.closed:
            self.context.cancel(future.ref)
        self._watch.wake()

    def _send_waiting(self) -> None:
        while True:
            with self._lock:
                if not self._waiting or (self._limit is not None and len(self._in_flight) >= self._limit):
                    return
                future, call = self._waiting.popitem(last=False)
                self._in_flight.add(future)
            self._send(future, *call)

    # ---- the thread

    def _start_thread(self) -> None:
        _pools.add(self)
        thread = threading.Thread(target=self._serve, name="fray-executor")
        thread.start()
        self._thread = thread

    def _serve(self) -> None:
        here = threading.current_thread()
        with self._lock:
            self._thread = self._thread or here  # Ctrl-C may have come after the start of this thread
            if self._thread is not here:
                return
        while self._wait_for_work():
            try:
                self._watch.serve()
            except Exception as error:
                self._break(f"the executor's context is gone: {error}", error)
            self._settle()
            if self._limit is not None:
                self._send_waiting()

    def _wait_for_work(self) -> bool:
        """Sleep while no call is in flight; return False when the pool is closed and none ever will be."""
        while True:
            with self._lock:
                if self._in_flight:
                    return True
                if not self._open:
                    return False
                self._idle = True
            self._work.acquire()

    def _settle(self) -> None:
        """End the futures whose results have arrived."""
        while self._arrived:
            futures = [self._arrived.popleft() for _ in range(len(self._arrived))]
            values = self._values_of(futures)
            if values is None:
                for future in futures:
                    self._settle_alone(future)
            else:
                for future, value in zip(futures, values, strict=True):
                    future.finish(value)
            self._in_flight.difference_update(futures)

    def _values_of(self, futures: list[TaskFuture[Any]]) -> list[Any] | None:
        """Return the values of all, which costs much less than one at a time; None where one has none."""
        refs = [future.ref for future in futures]
        if None in refs:
            return None
        try:
            return self._engine.get_many(refs, None)
        except BaseException:
            return None

    def _settle_alone(self, future: TaskFuture[Any]) -> None:
        try:
            ref = future.ref
            if ref is not None:
                future.finish(self._engine.get(ref, None))
        except InitializerFailedError as error:
            self._break(f"the executor's initializer failed: {error.__cause__!r}", error.__cause__)
        except TaskCancelledError as error:
            if error.__cause__ is None:
                future.withdraw()
            else:  # the error of another task, which this task raised again
                future.finish(None, error.with_traceback(None))
        except BaseException as error:
            # Without the frames of this thread, which would hold the future in a circle.
            future.finish(None, error.with_traceback(None))

    def _break(self, why: str, cause: BaseException | None) -> None:
        """End all calls with an error, and refuse further ones with the same error."""
        with self._lock:
            self._open, self._broken, self._broken_by = False, why, cause
            futures = [*self._in_flight, *self._waiting]
            self._in_flight.clear()
            self._waiting.clear()
        for future in futures:
            future.finish(None, self._refusal())

    def _refusal(self) -> Exception:
        if self._broken is not None:
            error = BrokenExecutor(self._broken)
            error.__cause__ = self._broken_by
            return error
        what = "interpreter shutdown" if _exiting else "shutdown"
        return RuntimeError(f"cannot schedule new futures after {what}")


_living: WeakSet[CallPool] = WeakSet()
_pools: WeakSet[CallPool] = WeakSet()
"""Those that have had a thread."""
_parents: list[Any] = []
"""Never freed: at the time of the fork another thread may have held their locks, which a destructor would take."""
_exiting = False


def _after_fork_in_child() -> None:
    for pool in list(_living):
        pool.leave_to_parent()


os.register_at_fork(after_in_child=_after_fork_in_child)


def _finish_all() -> None:
    """End all calls before the interpreter ends, as the executors of the standard library do."""
    global _exiting
    _exiting = True
    pools = list(_pools)
    for pool in pools:
        pool.close()
    for pool in pools:
        pool.join()


# Runs before the interpreter joins threads; a function of atexit would run too late.
threading._register_atexit(_finish_all)  # type: ignore[attr-defined]  # pyright: ignore
