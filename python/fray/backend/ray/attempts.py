"""How an attempt at a job ended, and whether another attempt follows. Decisions only: no I/O, clock or thread."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from fray import errors
from fray.backend.ray.library import theirs

__all__ = ["Budget", "Ending", "ending_of", "worst"]


class Ending(IntEnum):
    """How an attempt, or one process of it, ended; where processes differ, the greatest value counts."""

    SUCCEEDED = 0
    CANCELLED = 1
    """The process was cancelled because another process of the attempt did not succeed."""
    FAILED = 2
    """The user's code raised, or ended its process."""
    PREEMPTED = 3
    """Its machine or its process was taken away."""


_TAKEN_AWAY = (
    theirs.NodeDiedError,
    theirs.OwnerDiedError,
    theirs.ActorDiedError,
    theirs.ActorUnavailableError,
    theirs.WorkerCrashedError,
    theirs.ObjectLostError,
    errors.WorkerDiedError,
    errors.ActorDiedError,
    errors.NodeDiedError,
    errors.OwnerDiedError,
    errors.ObjectLostError,
)
_CANCELLED = (theirs.TaskCancelledError, errors.TaskCancelledError)


def ending_of(error: BaseException | None, timeouts_are_preemptions: bool = False) -> Ending:
    """Return how a process ended that raised `error`, which is None where it raised nothing.

    With `timeouts_are_preemptions`, code that gave up waiting counts as preempted: on a TPU pod the remaining machines
    notice only by such a timeout that a machine is gone.
    """
    if error is None:
        return Ending.SUCCEEDED
    if isinstance(error, _CANCELLED):
        return Ending.CANCELLED
    if isinstance(error, errors.OutOfMemoryError):
        return Ending.FAILED
    if isinstance(error, _TAKEN_AWAY):
        return Ending.PREEMPTED
    if timeouts_are_preemptions and (isinstance(error, TimeoutError) or "timed out" in str(error).lower()):
        return Ending.PREEMPTED
    return Ending.FAILED


def worst(endings: Iterable[Ending]) -> Ending:
    """Return the ending of an attempt from those of its processes: one preemption hides failures."""
    return max(endings, default=Ending.SUCCEEDED)


class Budget:
    """The remaining attempts after failures and after preemptions, which are counted separately."""

    def __init__(self, failures: int, preemptions: int) -> None:
        self.failures_left = failures
        self.preemptions_left = preemptions

    def again(self, ending: Ending) -> bool:
        """Count one ending that was not a success; return whether another attempt follows."""
        if ending is Ending.PREEMPTED:
            self.preemptions_left -= 1
            return self.preemptions_left >= 0
        self.failures_left -= 1
        return self.failures_left >= 0
