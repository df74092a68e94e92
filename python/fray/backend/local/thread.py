"""`ThreadContext`: tasks run on threads of this process, side by side."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, cast

from fray.backend.local.actor import ActorCall
from fray.backend.local.call import Call, TaskCall
from fray.backend.local.codec import PlainCodec
from fray.backend.local.engine import CLOSE_GRACE_SECONDS, InProcessContext, InProcessEngine
from fray.backend.local.environment import suspended
from fray.backend.local.mailbox import Mailbox, Runner
from fray.backend.local.pool import BackgroundThread, ThreadPool
from fray.backend.local.results import STREAM_ITEMS, Cell, Stream

__all__ = ["ThreadContext", "ThreadEngine"]

Drive = Callable[[Call, Generator[Any, Any, Any]], None]
"""Runs the generator of a call and fills its stream."""


class ThreadContext(InProcessContext):
    """For work that waits, and for code that releases the interpreter lock.

    Values are not copied: caller and task see the same objects. A running task cannot be stopped from outside: when it
    is cancelled or over its `timeout`, its ref fails at once, and the task goes on without its result being used. An
    actor has threads of its own, which do not count as workers.

    Args:
        max_workers: tasks that run at the same time; by default the CPUs of the machine. Tasks that wait for others do
            not count.
    """

    def __init__(self, max_workers: int | None = None) -> None:
        if max_workers is None:
            max_workers = os.cpu_count() or 1
        if isinstance(max_workers, bool) or not isinstance(max_workers, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"ThreadContext: max_workers must be a whole number of at least 1, got {max_workers!r}")
        if max_workers < 1:
            raise ValueError(f"ThreadContext: max_workers must be at least 1, got {max_workers}")
        super().__init__(ThreadEngine(self, max_workers))


class ThreadEngine(InProcessEngine):
    """Runs tasks on a pool of threads, and the calls of each actor on threads of its own."""

    def __init__(self, context: ThreadContext, max_workers: int) -> None:
        super().__init__(context, PlainCodec(), max_workers)
        self._pool = ThreadPool(self.lock, max_workers, self._run)

    def anew(self) -> ThreadEngine:
        return ThreadEngine(cast("ThreadContext", self.context), self._parallelism)

    def _start(self, call: TaskCall) -> None:
        """Queue the call when its last argument is ready."""
        waiting_for = [1]

        def one_ready() -> None:
            waiting_for[0] -= 1
            if waiting_for[0] == 0:
                self._pool.push(call)

        with self.condition:
            for dependency in call.dependencies:
                if dependency.cell.watch(one_ready):
                    waiting_for[0] += 1
            one_ready()

    def _runner(self, mailbox: Mailbox[ActorCall], name: str) -> Runner[ActorCall]:
        return ThreadRunner(mailbox, name, self._drive)

    def _start_call(self, call: ActorCall) -> None:
        """Do nothing: the actor's own threads take the call from the mailbox."""

    def _run(self, call: TaskCall) -> None:
        if call.options.timeout is None:
            call.run(self._drive)
            return
        over = threading.Event()
        watch = threading.Thread(target=_expire_in_time, args=(call, over), name="fray-timeout", daemon=True)
        call.attempt_started = time.monotonic()
        watch.start()
        try:
            call.run(self._drive)
        finally:
            over.set()

    def _drive(self, call: Call, items: Generator[Any, Any, Any]) -> None:
        """Run the generator here, a few items ahead of its reader."""
        cell = call.cells[0]
        stream = cell.start_stream(None)
        try:
            while self._may_go_on(cell, stream):
                item = call.next_item(items)
                with self.condition:
                    if not cell.done:
                        stream.items.append(item)
                        cell.notify()
        except StopIteration:
            cell.finish(None)
        except BaseException as exc:
            call.fail(exc)
        else:
            call.cancel()
            call.enter(items.close)

    def _may_go_on(self, cell: Cell, stream: Stream) -> bool:
        """Wait until the reader has taken enough items; return False when no further item is wanted."""

        def decided() -> bool:
            return cell.done or cell.abandoned or stream.unbounded or len(stream.items) < STREAM_ITEMS

        self.wait_until(decided, None)
        return not (cell.done or (cell.abandoned and not stream.unbounded))

    @contextmanager
    def blocking(self) -> Generator[None, None, None]:
        with suspended(), self._pool.blocking():
            yield

    def _awaiting(self) -> AbstractContextManager[None]:
        return self._pool.awaiting()

    def close(self) -> None:
        super().close()
        self._pool.close(CLOSE_GRACE_SECONDS)


def _expire_in_time(call: TaskCall, over: threading.Event) -> None:
    """End `call` when an attempt runs longer than its timeout; return when `over` is set."""
    while not over.wait(max(0.0, call.seconds_left())):
        if call.seconds_left() <= 0:
            call.expire()
            return


class ThreadRunner(Runner[ActorCall]):
    """As many threads as calls may run at once, started when they are first needed."""

    def __init__(self, mailbox: Mailbox[ActorCall], name: str, drive: Drive) -> None:
        super().__init__(mailbox)
        self._name = name
        self._drive = drive
        self._threads: set[BackgroundThread] = set()
        self._idle: set[BackgroundThread] = set()

    def wake(self) -> None:
        with self._mailbox.changed:
            if self._mailbox.startable() is None:
                return
            if not self._idle and len(self._threads) < self._mailbox.places:
                BackgroundThread(self._loop, f"fray-actor {self._name}").launch(self._threads, self._idle)
            self._mailbox.changed.notify_all()

    def close(self) -> None:
        with self._mailbox.changed:
            self._mailbox.close()

    def help(self) -> None:
        """Do nothing: the actor's own threads run every call."""

    def join(self, deadline: float) -> None:
        for thread in list(self._threads):
            thread.join_until(deadline)

    def _loop(self) -> None:
        here = cast("BackgroundThread", threading.current_thread())
        with self._mailbox.changed:
            self._threads.add(here)
            self._idle.add(here)
        while (call := self._take(here)) is not None:
            with suppress(KeyboardInterrupt):  # raised by the method's own code; the cells have it
                call.run(self._drive)
            with self._mailbox.changed:
                self._mailbox.end(call)
                self._idle.add(here)
                del call

    def _take(self, here: BackgroundThread) -> ActorCall | None:
        """Wait for a call that may run; None when this thread should end."""
        with self._mailbox.changed:
            while (call := self._mailbox.startable()) is None:
                if self._mailbox.closed:
                    return None
                self._mailbox.changed.wait()
            self._mailbox.start(call)
            self._idle.discard(here)
            self.wake()
            return call
