"""The exceptions that interrupt code from outside; `fray.ray` replaces that of a cancelled task by one of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from types import CodeType, TracebackType
from typing import Any

from fray._signals import signals
from fray.errors import TaskCancelledError, TaskTimeoutError

__all__ = ["interrupt_cancelled", "is_from_signal", "is_interrupt", "on_cancelled"]


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


def is_interrupt(error: BaseException) -> bool:
    """Return whether `error` was raised to end the running task, which was cancelled or is past its timeout."""
    return isinstance(error, (TaskCancelledError, TaskTimeoutError)) and is_from_signal(error.__traceback__)


def is_from_signal(traceback: TracebackType | None) -> bool:
    """Return whether an exception with this traceback was raised by the handler of a signal.

    Python runs handlers between two steps of the code that the main thread runs. What a handler raises thus comes out
    of that code, although it is not a failure of that code.
    """
    codes = set(_handlers())
    while traceback is not None:
        if traceback.tb_frame.f_code in codes:
            return True
        traceback = traceback.tb_next
    return False


def _handlers() -> Iterator[CodeType]:
    for number in signals.valid_signals():
        handler: Any = signals.getsignal(number)
        while isinstance(handler, partial):
            handler = handler.func
        if not callable(handler):
            continue
        function = getattr(handler, "__func__", handler)
        if not hasattr(function, "__code__"):
            function = getattr(type(handler).__call__, "__func__", type(handler).__call__)
        if isinstance(code := getattr(function, "__code__", None), CodeType):
            yield code
