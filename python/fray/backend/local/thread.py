"""`ThreadContext`: tasks run on threads of this process, side by side."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from fray.backend.local.base import CLOSE_GRACE_SECONDS, InProcessContext
from fray.backend.local.call import Call, TaskCall
from fray.backend.local.cell import STREAM_ITEMS, Cell, Stream
from fray.backend.local.codec import PlainCodec
from fray.backend.local.environment import suspended
from fray.backend.local.pool import ThreadPool

if TYPE_CHECKING:
    from fray.backend.local.actor_call import ActorCall
    from fray.backend.local.mailbox import Mailbox
    from fray.backend.local.runner import Runner

__all__ = ["ThreadContext"]


class ThreadContext(InProcessContext):
    """For work that waits, and for code that releases the interpreter lock.

    Values are not copied: caller and task see the same objects. A task that runs cannot be stopped from outside: when
    it is cancelled or over its `timeout` its ref says so at once, and what it still does goes unseen. An actor has
    threads of its own, which do not count as workers.

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
        super().__init__(PlainCodec())
        self._parallelism = max_workers
        self._pool = ThreadPool(self.lock, max_workers, self._run)

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

    def _runner(self, mailbox: Mailbox, name: str) -> Runner:
        from fray.backend.local.thread_runner import ThreadRunner

        return ThreadRunner(mailbox, name, self._drive)

    def _start_call(self, call: ActorCall) -> None:
        """Nothing is to be done: the actor's own threads take it from the mailbox."""

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
        """Wait for room; False when nobody wants another item."""

        def decided() -> bool:
            return cell.done or cell.abandoned or stream.unbounded or len(stream.items) < STREAM_ITEMS

        self.wait_until(decided, None)
        return not (cell.done or (cell.abandoned and not stream.unbounded))

    @contextmanager
    def _blocking(self) -> Generator[None, None, None]:
        with suspended(), self._pool.blocking():
            yield

    def _awaiting(self) -> AbstractContextManager[None]:
        return self._pool.awaiting()

    def _close(self) -> None:
        super()._close()
        self._pool.close(CLOSE_GRACE_SECONDS)


def _expire_in_time(call: TaskCall, over: threading.Event) -> None:
    """End `call` when an attempt runs longer than its timeout, unless it is over before."""
    while not over.wait(max(0.0, call.seconds_left())):
        if call.seconds_left() <= 0:
            call.expire()
            return
