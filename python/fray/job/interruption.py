"""The exception that interrupts the code of a cancelled task; `fray.ray` replaces the default by one of its own."""

from __future__ import annotations

from collections.abc import Callable

from fray.errors import TaskCancelledError

__all__ = ["interrupt_cancelled", "on_cancelled"]


def _raise_cancelled() -> None:
    raise TaskCancelledError("the task was cancelled")


_interrupt: Callable[[], None] = _raise_cancelled


def on_cancelled(interrupt: Callable[[], None]) -> None:
    """Call `interrupt` in the thread of each task of this process that is cancelled while it runs.

    What `interrupt` raises interrupts the task. Where it raises nothing, or the task catches the exception, the task
    goes on to its end and keeps its result.
    """
    global _interrupt
    _interrupt = interrupt


def interrupt_cancelled() -> None:
    """Interrupt the running task, which was cancelled; backends call it in the task's thread."""
    _interrupt()
