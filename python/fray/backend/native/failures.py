"""Errors of the engine as exceptions of `fray.errors`."""

from __future__ import annotations

from typing import Literal, NoReturn

from fray import errors
from fray._native import ActorFate, Executed, StatusCode
from fray.job.interruption import is_from_signal

__all__ = ["actor_died", "can_pickle", "engine_error", "raise_unpicklable", "task_error"]

_ERRORS: dict[int, type[Exception]] = {
    StatusCode.INVALID_ARGUMENT: errors.InfeasibleError,
    StatusCode.STORE_FULL: errors.StoreFullError,
    StatusCode.TIMED_OUT: errors.TaskTimeoutError,
    StatusCode.CANCELLED: errors.TaskCancelledError,
    StatusCode.UNAVAILABLE: errors.NodeDiedError,
    StatusCode.WORKER_DIED: errors.WorkerDiedError,
    StatusCode.OWNER_DIED: errors.OwnerDiedError,
    StatusCode.OBJECT_LOST: errors.ObjectLostError,
    StatusCode.DEADLOCK: errors.DeadlockError,
    StatusCode.VERSION_MISMATCH: errors.VersionMismatchError,
    StatusCode.WORKER_OUT_OF_MEMORY: errors.OutOfMemoryError,
    StatusCode.RUNTIME_ENV: errors.RuntimeEnvError,
    StatusCode.CLOSED: errors.ContextClosedError,
    StatusCode.FORKED: errors.ForeignRefError,
    StatusCode.RESERVATION_ENDED: errors.ReservationEndedError,
}
_NO_WORKER = (
    StatusCode.INVALID_ARGUMENT,
    StatusCode.RUNTIME_ENV,
    StatusCode.RESERVATION_ENDED,
    StatusCode.WORKER_OUT_OF_MEMORY,
)
"""Why an actor has no worker, or none any more, where that is no matter of the node's."""
_ADVICE: dict[int, str] = {
    StatusCode.CLOSED: "; make a new one, or call fray.init() again",
    StatusCode.FORKED: "; get values before the fork, or make it again here",
}
_EXECUTED: dict[int, tuple[Literal["no", "yes", "unknown"], str]] = {
    Executed.NO: ("no", "the call had not started"),
    Executed.YES: ("yes", "the call had ended, its result is lost"),
    Executed.UNKNOWN: ("unknown", "the call may have run"),
}
_FATES: dict[int, Literal["ended", "constructor_failed", "lives_on"]] = {
    ActorFate.ENDED: "ended",
    ActorFate.CONSTRUCTOR_FAILED: "constructor_failed",
    ActorFate.LIVES_ON: "lives_on",
}


def engine_error(code: int, message: str) -> Exception:
    """Return the exception for a status of the engine."""
    return _ERRORS.get(code, errors.FrayError)(message + _ADVICE.get(code, ""))


def actor_died(
    executed: int, fate: int, class_name: str, name: str, cause: str, packed: bytes, actor_id: str = "", code: int = 0
) -> Exception:
    """Return the error of a call that has no result.

    Args:
        executed, fate, class_name, name, cause, actor_id: what is known of the call and its actor.
        packed: what the actor's constructor raised, or empty.
        code: the status that says why the actor has no worker (any more); 0 where that is not the cause.
    """
    became = _FATES[fate]
    answer, ran = _EXECUTED[executed]
    who = f"actor {class_name}" + (f" {name!r}" if name else "") if class_name else "the actor"
    error = errors.ActorDiedError(
        f"{who} {'lost the call' if became == 'lives_on' else 'has ended'}: {cause} ({ran})",
        executed=answer,
        fate=became,
        class_name=class_name,
        actor_name=name or None,
        actor_id=actor_id,
    )
    if packed:
        from fray._failures import unpack_exception

        error.__cause__ = unpack_exception(packed)
    elif code in _NO_WORKER:
        error.__cause__ = engine_error(code, cause)
    return error


def task_error(task: str, type_name: str, message: str, traceback: str) -> Exception:
    """Return the exception for a failure that is described by texts: of C++ code, or of Python code that C++ called."""
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
    """Raise the SerializationError for a value that cannot travel; it names the part that cannot be pickled."""
    from fray._unpicklable import serialization_error
    from fray.job.refs import ObjectRef

    if isinstance(value, ObjectRef):
        text = f"{what}: {value!r} belongs to another context than this one; get its value there and pass that"
        raise errors.ForeignRefError(text)
    raise serialization_error(what, value, cause, can_pickle)


def can_pickle(value: object) -> bool:
    """Return whether `value` can be pickled."""
    from fray._by_value import dumps

    try:
        dumps(value)
    except Exception as error:
        if is_from_signal(error.__traceback__):
            raise
        return False
    return True
