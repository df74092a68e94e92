"""What an `Executor` runs in workers besides the user's function: chunks of a map, and initialisers."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fray._failures import pack_exception
from fray.job.interruption import is_interrupt

if TYPE_CHECKING:
    from fray.job.engine import Engine
    from fray.job.task_options import TaskOptions

__all__ = ["InitializerFailedError", "MappedFunction", "call_chunk", "with_initializer"]

_lock = threading.RLock()
_pools: dict[str, BaseException | None] = {}
"""The pools whose initialiser has run in this process, each with the exception that it raised, or None."""


class InitializerFailedError(Exception):
    """An executor's initializer raised; the cause says what."""


class MappedFunction:
    """The function of one `Executor.map`, which all its calls get as it was at the first of them.

    Two threads may begin at once, which costs time only.

    Args:
        fn: the user's function.
        carrier: called with it and the arguments, in place of it; None for none.
    """

    def __init__(self, fn: Callable[..., Any], carrier: Callable[..., Any] | None = None) -> None:
        self.fn = fn
        self._carrier = carrier
        self._started_by: tuple[Engine, Callable[[tuple[Any, ...]], Any]] | None = None

    def start(self, engine: Engine, args: tuple[Any, ...], options: TaskOptions) -> Any:
        """Return the ref of a new task."""
        if self._started_by is None or self._started_by[0] is not engine:  # a child of fork() has another one
            self._started_by = engine, engine.caller(self.fn, options, self._carrier)
        return self._started_by[1](args)

    def call(self, args: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Return the same call as a plain one: a function and its arguments."""
        return (self.fn, args) if self._carrier is None else (self._carrier, (self.fn, *args))


def call_chunk(fn: Callable[..., Any], chunk: list[tuple[Any, ...]]) -> tuple[list[Any], bytes | None]:
    """Return the values of ``fn(*arguments)`` up to the first that fails, and how that failed, packed."""
    values: list[Any] = []
    for arguments in chunk:
        try:
            values.append(fn(*arguments))
        except Exception as error:
            return values, pack_exception(error, getattr(fn, "__name__", "map"))
    return values, None


def with_initializer(pool: str, payload: bytes) -> Callable[..., Any]:
    """Return a function that calls its first argument, after the initialiser in `payload` has run in that process.

    It is a closure over immutable values, so that it is pickled once and sent to each worker once.
    """

    def call(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        initialize(pool, payload)
        return fn(*args, **kwargs)

    return call


def initialize(pool: str, payload: bytes) -> None:
    """Run the initialiser in `payload`, a pickled (function, arguments), once in this process.

    Raises:
        InitializerFailedError: it raised, now or before.
    """
    with _lock:
        if pool not in _pools:
            import pickle

            try:
                initializer, arguments = pickle.loads(payload)
                initializer(*arguments)
                _pools[pool] = None
            except Exception as error:
                if is_interrupt(error):  # this call was stopped; the next one tries again
                    raise
                print("Exception in initializer:", file=sys.stderr)
                traceback.print_exc()
                _pools[pool] = error
    failure = _pools[pool]
    if failure is not None:
        raise InitializerFailedError("an initializer failed") from failure
