"""`LocalJobContext`: tasks run at once, in order, in the thread that submits them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from fray.backend.local.actor import ActorCall
from fray.backend.local.call import Call, TaskCall
from fray.backend.local.codec import PickleCodec, PlainCodec
from fray.backend.local.engine import InProcessContext, InProcessEngine
from fray.backend.local.environment import outside_event_loops
from fray.backend.local.mailbox import Mailbox, Runner
from fray.backend.local.results import Cell
from fray.errors import DeadlockError

__all__ = ["LocalJobContext", "SyncContext", "SyncEngine"]


class LocalJobContext(InProcessContext):
    """For tests and for debugging: deterministic, no processes, no threads.

    `create_task` returns when the task has ended; what it raised is kept and raised by `get`. A generator task runs
    until its next item whenever an item is asked for. Constructors and methods of actors run at once too; a call of an
    actor by the code that runs in it waits until that code has ended. An actor with async methods is the exception: its
    event loop has a thread.

    Args:
        serialize: send every function, argument, result and object through pickle, as the native engine does, so that
            all are copies and what cannot be pickled is found.
    """

    def __init__(self, serialize: bool = False) -> None:
        super().__init__(SyncEngine(self, PickleCodec() if serialize else PlainCodec(), parallelism=0))


SyncContext = LocalJobContext
"""Older name of `LocalJobContext`."""


class SyncEngine(InProcessEngine):
    """Runs a task inside `submit`, and a call of an actor as soon as its turn comes."""

    def anew(self) -> SyncEngine:
        return SyncEngine(self.context, self.codec, self._parallelism)

    def _start(self, call: TaskCall) -> None:
        for dependency in call.dependencies:
            dependency.cell.pump_all()
        with outside_event_loops():
            call.run(drive_lazily)

    def _runner(self, mailbox: Mailbox[ActorCall], name: str) -> Runner[ActorCall]:
        return TurnRunner(mailbox, self)

    def _start_call(self, call: ActorCall) -> None:
        for dependency in call.dependencies:
            dependency.cell.pump_all()
        runner = call.actor.runner
        if isinstance(runner, TurnRunner):
            with outside_event_loops():
                runner.run(call)

    def _help(self, cell: Cell) -> None:
        call = cell.call
        if call is not None:
            call.help()


class TurnRunner(Runner[ActorCall]):
    """Runs each call in the thread that submits it, which waits for the call's turn.

    A thread cannot wait for a turn that comes only after a call which this thread itself runs. Such a call is left
    behind: the thread that has the turn before it runs it too, or else the thread that gets its result.
    """

    def __init__(self, mailbox: Mailbox[ActorCall], engine: InProcessEngine) -> None:
        super().__init__(mailbox)
        self._engine = engine

    def run(self, call: ActorCall) -> None:
        """Run a call that was put into the mailbox, or leave it behind."""
        mailbox = self._mailbox
        if not self._wait(call, lambda: mailbox.closed or call.settled() or mailbox.startable() is call):
            call.left_behind = True
            return
        if self._run(call, lambda: not (mailbox.closed or call.settled())):
            self.help()
        elif (runner := call.actor.runner) is not self and isinstance(runner, TurnRunner):  # the actor was restarted
            runner.run(call)

    def help(self) -> None:
        while True:
            with self._engine.condition:
                call = self._mailbox.startable()
            if call is None or not call.left_behind:
                return
            self._run(call, lambda call=call: self._mailbox.startable() is call)

    @contextmanager
    def turn(self, call: ActorCall) -> Generator[None, None, None]:
        """Take the turn again inside the block, for a further item of a generator.

        Raises:
            DeadlockError: this thread has the turn already, in the call that asks for the item.
        """
        mailbox, engine = self._mailbox, self._engine
        while True:
            if not self._wait(call, lambda: mailbox.closed or not mailbox.full()):
                raise DeadlockError(
                    f"the next item of {call.what()} can never come: its actor runs one call at a time, and that call "
                    "waits for the item"
                )
            try:
                with engine.condition:
                    if not mailbox.closed and mailbox.full():
                        continue
                    mailbox.resume(call)
                    call.thread = threading.get_ident()
                yield
                return
            finally:
                self._end(call)

    def wake(self) -> None:
        with self._engine.condition:
            self._engine.condition.notify_all()

    def close(self) -> None:
        with self._engine.condition:
            self._mailbox.close()
            self._engine.condition.notify_all()

    def join(self, deadline: float) -> None:
        """Do nothing: the runner has no thread of its own."""

    def _wait(self, call: ActorCall, reached: Callable[[], bool]) -> bool:
        """Wait until `reached()`; return False, at once, where the wait would never end."""
        engine = self._engine
        with engine.condition:
            if reached():
                return True
        with engine.waits.of_this_thread(call.cells[0]) as can_end:
            return can_end and engine.wait_until(reached, None)

    def _run(self, call: ActorCall, may_start: Callable[[], bool]) -> bool:
        """Run `call` if it may start, and return whether it has run."""
        try:
            with self._engine.condition:
                if not may_start():
                    return False
                self._mailbox.start(call)
            call.run(self._drive)
            return True
        finally:
            self._end(call)

    def _end(self, call: ActorCall) -> None:
        with self._engine.condition:
            if call not in self._mailbox.running():
                return
            call.thread = None
            self._mailbox.end(call)
            self._engine.condition.notify_all()

    def _drive(self, call: Call, items: Generator[Any, Any, Any]) -> None:
        assert isinstance(call, ActorCall)
        drive_lazily(call, items, lambda: self.turn(call))


def drive_lazily(
    call: Call,
    items: Generator[Any, Any, Any],
    around: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> None:
    """Make a stream of `items`; each step of the generator runs inside ``around()``."""
    cell = call.cells[0]
    turn = threading.RLock()

    def pump() -> None:
        with turn, around(), outside_event_loops():
            if cell.done:
                items.close()
                return
            try:
                item = call.next_item(items)
            except StopIteration:
                cell.finish(None)
            except BaseException as exc:
                call.fail(exc)
                if isinstance(exc, KeyboardInterrupt):
                    raise
            else:
                stream.items.append(item)

    stream = cell.start_stream(pump)
