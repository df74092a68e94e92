"""Errors of the engine as exceptions of `fray.errors`."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from functools import partial
from types import CodeType, TracebackType
from typing import Any, Literal, NoReturn

from fray import errors

__all__ = ["actor_died", "can_pickle", "engine_error", "is_from_signal", "raise_unpicklable", "task_error"]

# Numbers of StatusCode in src/base/status.h.
_CODES: dict[int, type[Exception]] = {
    1: errors.InfeasibleError,
    5: errors.StoreFullError,
    6: errors.TaskTimeoutError,
    7: errors.TaskCancelledError,
    8: errors.NodeDiedError,
    9: errors.WorkerDiedError,
    10: errors.OwnerDiedError,
    11: errors.ObjectLostError,
    12: errors.DeadlockError,
    16: errors.VersionMismatchError,
    17: errors.OutOfMemoryError,
    19: errors.RuntimeEnvError,
}
_EXECUTED: tuple[Literal["no"], Literal["yes"], Literal["unknown"]] = ("no", "yes", "unknown")
_CLOSED = "the context was closed"
_INHERITED = "the ref or actor was made before this process was forked"


def engine_error(code: int, message: str) -> Exception:
    """Return the exception for a status of the engine."""
    if message == _CLOSED:
        return errors.ContextClosedError(f"{message}; make a new one, or call fray.init() again")
    if message == _INHERITED:
        return errors.ForeignRefError(f"{message}; get values before the fork, or make it again here")
    return _CODES.get(code, errors.FrayError)(message)


def actor_died(executed: int, class_name: str, name: str, cause: str, packed: bytes) -> Exception:
    """Return the error of a call that has no result; `packed` is what the actor's constructor raised, or empty."""
    ran = ("the call had not started", "the call had ended, its result is lost", "the call may have run")[executed]
    who = f"actor {class_name}" + (f" {name!r}" if name else "") if class_name else "the actor"
    error = errors.ActorDiedError(
        f"{who} has ended: {cause} ({ran})",
        executed=_EXECUTED[executed],
        class_name=class_name,
        actor_name=name or None,
    )
    if packed:
        from fray._failures import unpack_exception

        error.__cause__ = unpack_exception(packed)
    return error


def task_error(task: str, type_name: str, message: str, traceback: str) -> Exception:
    """Return the exception for a failure that came in words: of C++ code, or of Python code that C++ called."""
    error = errors.TaskError(
        f"task {task!r} failed with {type_name}: {message}",
        task_name=task,
        type_name=type_name,
        remote_traceback=traceback,
    )
    if traceback:
        error.__cause__ = errors.RemoteTraceback(traceback)
    return error


def raise_unpicklable(what: str, value: object, cause: BaseException) -> NoReturn:
    """Raise the SerializationError for a value that cannot travel; it names the part that is to blame."""
    from fray._unpicklable import serialization_error
    from fray.job.refs import ObjectRef

    if isinstance(value, ObjectRef):
        text = f"{what}: {value!r} belongs to another context than this one; get its value there and pass that"
        raise errors.ForeignRefError(text)
    raise serialization_error(what, value, cause, can_pickle)


def can_pickle(value: object) -> bool:
    """Return whether `value` could travel."""
    from fray._by_value import dumps

    try:
        dumps(value)
    except Exception as error:
        if is_from_signal(error.__traceback__):
            raise
        return False
    return True


def is_from_signal(traceback: TracebackType | None) -> bool:
    """Return whether an exception with this traceback was raised by the handler of a signal.

    Python runs handlers between two steps of whatever code the main thread is in, so what they raise comes out of that
    code, but no failure of its own.
    """
    codes = set(_handlers())
    while traceback is not None:
        if traceback.tb_frame.f_code in codes:
            return True
        traceback = traceback.tb_next
    return False


def _handlers() -> Iterator[CodeType]:
    for number in signal.valid_signals():
        handler: Any = signal.getsignal(number)
        while isinstance(handler, partial):
            handler = handler.func
        if not callable(handler):
            continue
        function = getattr(handler, "__func__", handler)
        if not hasattr(function, "__code__"):
            function = getattr(type(handler).__call__, "__func__", type(handler).__call__)
        if isinstance(code := getattr(function, "__code__", None), CodeType):
            yield code
