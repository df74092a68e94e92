"""A function that may be called again after some exceptions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fray._functions import is_generator_function
from fray.errors import UnsupportedError

__all__ = ["Retrying"]


class Retrying:
    """A task's function, and the exceptions after which the task may be tried again.

    The worker only reports that another attempt is allowed: the submitter counts the attempts, including those that
    ended because their worker died, and starts the next one.

    Raises:
        UnsupportedError: the function is a generator function.
    """

    def __init__(self, fn: Callable[..., Any], allowed: bool | tuple[type[BaseException], ...]) -> None:
        if is_generator_function(fn):
            raise UnsupportedError(
                "retry_exceptions: a generator task cannot be retried, for its items may have been taken"
            )
        self.fn = fn
        self.allowed = allowed
        self.__qualname__ = getattr(fn, "__qualname__", type(fn).__qualname__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*args, **kwargs)

    def retries_after(self, error: BaseException) -> bool:
        """Return whether `error` is an exception after which the task may be tried again."""
        return isinstance(error, Exception) and (self.allowed is True or isinstance(error, self.allowed or ()))
