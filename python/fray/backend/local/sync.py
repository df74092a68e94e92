"""`LocalJobContext`: tasks run at once, in order, in the thread that submits them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fray.backend.local.base import InProcessContext
from fray.backend.local.call import TaskCall
from fray.backend.local.cell import Cell
from fray.backend.local.codec import PickleCodec, PlainCodec
from fray.backend.local.event_loops import outside_event_loops
from fray.backend.local.lazy import drive_lazily

if TYPE_CHECKING:
    from fray.backend.local.actor_call import ActorCall
    from fray.backend.local.mailbox import Mailbox
    from fray.backend.local.runner import Runner

__all__ = ["LocalJobContext", "SyncContext"]


class LocalJobContext(InProcessContext):
    """For tests and for debugging: deterministic, no processes, no threads.

    `create_task` returns when the task has ended; what it raised is kept and raised by `get`. A generator task runs on
    when an item is asked for. Constructors and methods of actors run at once too; a call of an actor by the code that
    runs in it waits until that has ended. An actor with async methods is the exception: its event loop has a thread.

    Args:
        serialize: send every function, argument, result and object through pickle, as the native engine does, so that
            all are copies and what cannot be pickled is found.
    """

    _parallelism = 0

    def __init__(self, serialize: bool = False) -> None:
        super().__init__(PickleCodec() if serialize else PlainCodec())

    def _start(self, call: TaskCall) -> None:
        for dependency in call.dependencies:
            self._pump_all(dependency.cell)
        with outside_event_loops():
            call.run(drive_lazily)

    def _runner(self, mailbox: Mailbox, name: str) -> Runner:
        from fray.backend.local.turn_runner import TurnRunner

        return TurnRunner(mailbox, self)

    def _start_call(self, call: ActorCall) -> None:
        from fray.backend.local.turn_runner import TurnRunner

        for dependency in call.dependencies:
            self._pump_all(dependency.cell)
        runner = call.actor.runner
        if isinstance(runner, TurnRunner):
            with outside_event_loops():
                runner.run(call)

    def _help(self, cell: Cell) -> None:
        call = cell.call
        if call is not None:
            call.help()


SyncContext = LocalJobContext
"""Older name of `LocalJobContext`."""
