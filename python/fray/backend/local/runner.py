"""What runs the calls of an actor."""

from __future__ import annotations

from abc import ABC, abstractmethod

from fray.backend.local.mailbox import Mailbox

__all__ = ["Runner"]


class Runner(ABC):
    """Takes calls from a mailbox and runs them.

    Ownership: a runner does not hold the actor while nothing is to be run; the actor closes it when it ends.
    """

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox

    @property
    def thread(self) -> int | None:
        """The one thread that all calls run on, where there is such a one."""
        return None

    @abstractmethod
    def wake(self) -> None:
        """Look whether a call may start; the lock may be held."""

    @abstractmethod
    def close(self) -> None:
        """Start nothing more; what still runs ends unseen."""

    @abstractmethod
    def help(self) -> None:
        """Run, in this thread, the calls that no other thread will run."""

    @abstractmethod
    def join(self, deadline: float) -> None:
        """Wait until all threads have ended, at most until `deadline`."""
