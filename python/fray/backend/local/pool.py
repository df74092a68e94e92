"""Threads that run calls: at most `max_workers` at a time, and more threads only in the place of blocked ones.

`Line` decides which call runs next. A thread that blocks in `get` gives its place to another thread; when it wakes it
takes a place again at once, even over the limit.
"""

from __future__ import annotations

import _thread
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, cast

from fray.backend.local.call import TaskCall
from fray.errors import DeadlockError

__all__ = ["BackgroundThread", "Line", "ThreadPool"]

MAX_THREADS = 1000
IDLE_SECONDS = 10.0

_here = threading.local()


class BackgroundThread(threading.Thread):
    """A daemon thread that `launch` starts without waiting for it.

    `Thread.start` waits until the new thread runs. The new thread may collect garbage before that, and a finalizer
    may want the lock that the caller of `start` holds: a deadlock.
    """

    def __init__(self, target: Callable[[], Any], name: str) -> None:
        super().__init__(target=target, name=name, daemon=True)
        self._launched = threading.Event()

    def launch(self, *sets: set[BackgroundThread]) -> None:
        """Start the thread, without waiting until it runs, and add it to `sets`.

        Where Ctrl-C comes in between it is in none of them, though it may run: it has to add itself as well.
        """
        try:
            for threads in sets:
                threads.add(self)
            _thread.start_new_thread(self._start, ())
        except BaseException:
            for threads in sets:
                threads.discard(self)
            raise

    def _start(self) -> None:
        self.start()
        self._launched.set()

    def join_until(self, deadline: float) -> None:
        """Wait for the end of the thread, at most until `deadline`; no effect in the thread itself."""
        if self is not threading.current_thread() and self._launched.wait(max(0.0, deadline - time.monotonic())):
            self.join(max(0.0, deadline - time.monotonic()))


class _Equals:
    """Calls of one depth and one priority, in the order of their arrival."""

    def __init__(self, now: float, first: tuple[int, TaskCall]) -> None:
        self.calls = deque([first])
        self.waits_since = now


class Line:
    """The calls that wait for a thread, and which of them goes next. Guarded by the lock of its `ThreadPool`.

    Deeper calls go first, so that nested work ends with few threads; of one depth those of the highest priority; of
    equal ones the first that was pushed. A call that others keep waiting gains a step of priority each second, up to
    the highest priority that waits, so none waits forever. The seconds are counted from when it came to the head of
    its line, or its line last gave a call. So the calls of a long backlog do not all gain priority because they were
    pushed long ago.

    It reads no clock and has no thread: the caller passes the time.
    """

    def __init__(self) -> None:
        self._by_depth: dict[int, dict[int, _Equals]] = {}
        self._order = itertools.count()

    def __bool__(self) -> bool:
        return bool(self._by_depth)

    def __len__(self) -> int:
        return sum(len(equals.calls) for of_depth in self._by_depth.values() for equals in of_depth.values())

    def push(self, call: TaskCall, now: float) -> None:
        """Queue a call behind the calls of its depth and priority."""
        numbered, priority = (next(self._order), call), call.options.priority
        of_depth = self._by_depth.get(call.depth)
        if of_depth is None:
            self._by_depth[call.depth] = {priority: _Equals(now, numbered)}
        elif priority not in of_depth:
            of_depth[priority] = _Equals(now, numbered)
        else:
            of_depth[priority].calls.append(numbered)

    def pop(self, now: float) -> TaskCall:
        """Take the call that runs next; the line must not be empty."""
        depth = max(self._by_depth)
        of_depth = self._by_depth[depth]
        priority = self._next_priority(of_depth, now) if len(of_depth) > 1 else next(iter(of_depth))
        equals = of_depth[priority]
        call = equals.calls.popleft()[1]
        equals.waits_since = now
        if not equals.calls:
            del of_depth[priority]
            if not of_depth:
                del self._by_depth[depth]
        return call

    def clear(self) -> None:
        """Drop all calls."""
        self._by_depth.clear()

    @staticmethod
    def _next_priority(of_depth: dict[int, _Equals], now: float) -> int:
        top = max(of_depth)

        def rank(priority: int) -> tuple[int, int]:
            equals = of_depth[priority]
            gained = min(top, priority + int(now - equals.waits_since))
            return gained, -equals.calls[0][0]

        return max(of_depth, key=rank)


class ThreadPool:
    """Owns its threads and the queue of calls that can run.

    Threading: guarded by the lock that is handed in, which the cells of the context share.
    """

    def __init__(self, lock: threading.RLock, max_workers: int, run: Callable[[TaskCall], None]) -> None:
        self._lock = lock
        self._run = run
        self._max_workers = max_workers
        # A separate condition on the same lock: new work wakes one thread, not every thread that waits for a cell.
        self._work = threading.Condition(lock)
        self._queue = Line()
        self._threads: set[BackgroundThread] = set()
        self._active = 0
        self._blocked = 0
        self._closed = False

    def push(self, call: TaskCall) -> None:
        """Queue a call whose arguments are ready."""
        with self._lock:
            self._queue.push(call, time.monotonic())
            self._wake()

    @contextmanager
    def blocking(self) -> Generator[None, None, None]:
        """Give this thread's place to another thread while it waits; no effect in a thread of another owner.

        Raises:
            DeadlockError: every thread that there may be is blocked, and work is queued.
        """
        if getattr(_here, "pool", None) is not self or _here.awaits:
            yield
            return
        with self._lock:
            stuck = self._active == 1 and self._blocked + 1 >= MAX_THREADS and self._queue
            if stuck:
                raise DeadlockError(
                    f"all {MAX_THREADS} threads wait for tasks, and {len(self._queue)} tasks wait for a thread; "
                    "nest less deeply, or run on the native engine"
                )
            self._active -= 1
            self._blocked += 1
            self._wake()
        try:
            yield
        finally:
            with self._lock:
                self._active += 1
                self._blocked -= 1

    @contextmanager
    def awaiting(self) -> Generator[None, None, None]:
        """Give this thread's place away while coroutines of its event loop wait; no effect in other owners' threads."""
        if getattr(_here, "pool", None) is not self:
            yield
            return
        awaits: list[None] = _here.awaits
        with self._lock:
            awaits.append(None)
            if len(awaits) == 1:
                self._active -= 1
                self._blocked += 1
                self._wake()
        try:
            yield
        finally:
            with self._lock:
                awaits.pop()
                if not awaits:
                    self._active += 1
                    self._blocked -= 1

    def close(self, grace_seconds: float) -> None:
        """Drop the queued calls and wait for running ones, up to `grace_seconds`; later results are ignored."""
        with self._lock:
            self._closed = True
            self._queue.clear()
            self._work.notify_all()
            threads = list(self._threads)
        deadline = time.monotonic() + grace_seconds
        for thread in threads:
            thread.join_until(deadline)

    def _wake(self) -> None:
        """Wake or start a thread for each call that may run now."""
        wanted = min(len(self._queue), self._max_workers - self._active)
        if wanted <= 0 or self._closed:
            return
        spare = len(self._threads) - self._active - self._blocked
        while spare < wanted and len(self._threads) < MAX_THREADS:
            BackgroundThread(self._loop, "fray-task").launch(self._threads)
            spare += 1
        self._work.notify(wanted)

    def _loop(self) -> None:
        _here.pool = self
        _here.awaits = []  # one for each coroutine of this thread that waits for a ref
        with self._lock:
            self._threads.add(cast("BackgroundThread", threading.current_thread()))
        while (call := self._take()) is not None:
            try:
                self._run(call)
            except KeyboardInterrupt:
                pass  # raised by the task's own code; its cells have it
            finally:
                del call
                with self._lock:
                    self._active -= 1
                    self._wake()

    def _take(self) -> TaskCall | None:
        """Wait for a call that may run; None when this thread should end."""
        with self._lock:
            while not (self._queue and self._active < self._max_workers):
                in_time = not self._closed and self._work.wait(IDLE_SECONDS)
                if not in_time and not self._queue:
                    self._threads.discard(cast("BackgroundThread", threading.current_thread()))
                    return None
            self._active += 1
            return self._queue.pop(time.monotonic())
