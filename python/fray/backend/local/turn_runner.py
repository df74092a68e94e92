"""Running an actor's calls in the threads that submit them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fray.backend.local.actor_call import ActorCall
from fray.backend.local.call import Call
from fray.backend.local.lazy import drive_lazily
from fray.backend.local.mailbox import Mailbox
from fray.backend.local.runner import Runner
from fray.errors import DeadlockError

if TYPE_CHECKING:
    from fray.backend.local.base import InProcessContext

__all__ = ["TurnRunner"]


class TurnRunner(Runner):
    """The submitter's own thread, which waits for its turn.

    A call that its submitter cannot wait for, because the turn comes only after what runs in that very thread, is left
    behind: whoever has the turn before it runs it too, or else whoever gets its result.
    """

    def __init__(self, mailbox: Mailbox, context: InProcessContext) -> None:
        super().__init__(mailbox)
        self._context = context

    def run(self, call: ActorCall) -> None:
        """Run a call that was put into the mailbox, or leave it behind."""
        mailbox, context = self._mailbox, self._context
        if not self._wait(call, lambda: mailbox.closed or call.settled() or mailbox.startable() is call):
            call.left_behind = True
            return
        with context.condition:
            runner = call.actor.runner
            may_run = not (mailbox.closed or call.settled())
            if may_run:
                mailbox.start(call)
        if may_run:
            self._run(call)
            self.help()
        elif runner is not self and isinstance(runner, TurnRunner):  # the actor was started anew
            runner.run(call)

    def help(self) -> None:
        while True:
            with self._context.condition:
                call = self._mailbox.startable()
                if call is None or not call.left_behind:
                    return
                self._mailbox.start(call)
            self._run(call)

    @contextmanager
    def turn(self, call: ActorCall) -> Generator[None, None, None]:
        """Have the turn again for a further item of a generator.

        Raises:
            DeadlockError: the turn is this thread's own already, in a call that asks for the item.
        """
        mailbox, context = self._mailbox, self._context
        while True:
            if not self._wait(call, lambda: mailbox.closed or not mailbox.full()):
                raise DeadlockError(
                    f"the next item of {call.what()} can never come: its actor runs one call at a time, and that call "
                    "waits for the item"
                )
            with context.condition:
                if mailbox.closed or not mailbox.full():
                    mailbox.resume(call)
                    call.thread = threading.get_ident()
                    break
        try:
            yield
        finally:
            self._end(call)

    def wake(self) -> None:
        with self._context.condition:
            self._context.condition.notify_all()

    def close(self) -> None:
        with self._context.condition:
            self._mailbox.close()
            self._context.condition.notify_all()

    def join(self, deadline: float) -> None:
        """There is no thread to wait for."""

    def _wait(self, call: ActorCall, reached: Callable[[], bool]) -> bool:
        """Wait; False, at once, where that would never end."""
        context = self._context
        with context.condition:
            if reached():
                return True
        with context.waits.of_this_thread(call.cells[0]) as can_end:
            return can_end and context.wait_until(reached, None)

    def _run(self, call: ActorCall) -> None:
        try:
            call.run(self._drive)
        finally:
            self._end(call)

    def _end(self, call: ActorCall) -> None:
        with self._context.condition:
            call.thread = None
            self._mailbox.end(call)
            self._context.condition.notify_all()

    def _drive(self, call: Call, items: Generator[Any, Any, Any]) -> None:
        assert isinstance(call, ActorCall)
        drive_lazily(call, items, lambda: self.turn(call))
