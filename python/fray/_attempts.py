"""Calling a function again after an exception that its options allow to retry."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from fray.job.interruption import is_interrupt

if TYPE_CHECKING:
    from fray.types import TaskOptions

__all__ = ["call_with_retries", "may_retry"]

T = TypeVar("T")


def may_retry(exc: BaseException, attempt: int, options: TaskOptions) -> bool:
    """Return whether another attempt follows after `exc` ended attempt number `attempt` (the first is 0)."""
    allowed = options.retry_exceptions
    if allowed is False or (options.max_retries != -1 and attempt >= options.max_retries):
        return False
    return isinstance(exc, Exception if allowed is True else allowed)


def call_with_retries(call: Callable[[], T], options: TaskOptions, stop: Callable[[], bool] | None = None) -> T:
    """Return what `call` returns, or raise the exception of the last attempt; none follows once `stop` is true."""
    attempt = 0
    while True:
        try:
            return call()
        except Exception as exc:
            if not may_retry(exc, attempt, options) or (stop is not None and stop()) or is_interrupt(exc):
                raise
        attempt += 1
