"""What Ray raises, as errors of `fray.errors`; and `TaskFailure`, in which a task's own exception travels."""

from __future__ import annotations

import re
from typing import Any, Literal

from fray import errors
from fray._failures import summary, unpack_exception
from fray._passwords import without_passwords
from fray.backend.ray.library import theirs

__all__ = ["RetryableFailure", "TaskFailure", "actor_died", "connection_error", "converted"]

_MOST_LINES = 12
_COLOURS = re.compile("\x1b\\[[0-9;]*m")


class TaskFailure(Exception):
    """What a task of Fray raises on Ray: the user's exception, packed, and its text for Ray's dashboard and logs."""

    def __init__(self, text: str, packed: bytes) -> None:
        super().__init__(text, packed)
        self.text = text
        self.packed = packed

    def __str__(self) -> str:
        return self.text


class RetryableFailure(TaskFailure):
    """A failure after which the task may be tried again."""


def converted(error: Any) -> Exception:
    """Return what a caller of Fray gets for an exception that Ray's get, wait or submission raised."""
    if isinstance(error, theirs.RayTaskError):
        return _task_failed(error)
    if isinstance(error, theirs.RayActorError):
        return actor_died(error)
    for kind, ours in _KINDS:
        if isinstance(error, kind):
            return ours(_text(error))
    if isinstance(error, theirs.RaySystemError):
        return _system_error(error)
    if isinstance(error, Exception) and not isinstance(error, theirs.RayError):
        return error
    return errors.FrayError(f"{type(error).__name__}: {_text(error)}")


def actor_died(error: Any, class_name: str = "", name: str | None = None) -> Exception:
    """Return the error of a call whose actor has ended; Ray does not tell whether the call had started."""
    cause = error.args[0] if error.args and isinstance(error.args[0], theirs.RayTaskError) else None
    reason = _task_failed(cause) if cause is not None else None
    never_ran = reason is not None or "never ran" in str(error)
    who = f"actor {class_name}" + (f" {name!r}" if name else "") if class_name else "the actor"
    fate: Literal["ended", "constructor_failed", "lives_on"] = "ended"
    if isinstance(error, theirs.ActorUnavailableError):
        fate = "lives_on"
        text = f"{who} cannot be reached: {_text(error)}"
    elif reason is not None:
        fate = "constructor_failed"
        text = f"{who} has ended: its constructor raised {summary(reason)}"
    elif "killed by `ray.kill`" in str(error):
        text = f"{who} has ended: it was killed"
    else:
        text = f"{who} has ended: {_text(error)}"
    actor_id: Any = getattr(error, "actor_id", None)
    died = errors.ActorDiedError(
        text,
        executed="no" if never_ran else "unknown",
        fate=fate,
        class_name=class_name,
        actor_name=name,
        actor_id=actor_id if isinstance(actor_id, str) else "",
    )
    died.__cause__ = reason
    return died


def connection_error(error: BaseException, address: str | None) -> Exception:
    """Return the error for a Ray that cannot be started or reached."""
    where = f"the Ray at {address!r}" if address else "Ray"
    where, text = without_passwords(where), without_passwords(_text(error))
    if "ersion mismatch" in text:
        return errors.VersionMismatchError(
            f"{where}: {text}; install the same versions of Ray and Python on both sides"
        )
    if isinstance(error, theirs.AuthenticationError) or "uthenticat" in text:
        return errors.NodeDiedError(
            f"{where} refused this program: {text}; set RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH to the cluster's token"
        )
    return errors.NodeDiedError(f"{where} cannot be reached: {text}; start it with `ray start`, or set RAY_ADDRESS")


def _task_failed(error: Any) -> Exception:
    cause: Any = error.cause
    if isinstance(cause, TaskFailure):
        return unpack_exception(cause.packed)
    if isinstance(cause, theirs.RayTaskError):
        return _task_failed(cause)
    if isinstance(cause, theirs.RayError):
        return converted(cause)
    text = _COLOURS.sub("", str(error))
    if isinstance(cause, TypeError) and ("erializ" in str(cause) or "pickle" in str(cause)):
        made: Exception = errors.SerializationError(f"the result cannot be pickled: {cause}")
    elif isinstance(cause, Exception):
        made = cause
    else:
        made = errors.TaskError(f"a task failed: {_text(error)}", remote_traceback=text)
    made.__cause__ = errors.RemoteTraceback(text)
    return made


def _system_error(error: BaseException) -> Exception:
    text = _text(error)
    if "has not been started" in text or "not been initialized" in text:
        return errors.ContextClosedError("Ray was shut down; call ray.init(), with which the context goes on")
    return errors.NodeDiedError(text)


def _text(error: BaseException) -> str:
    """Return the first lines of Ray's message, which can be long."""
    lines = str(error).strip().splitlines()
    kept = " ".join(line.strip() for line in lines[:_MOST_LINES])
    return kept or type(error).__name__


_KINDS: tuple[tuple[Any, type[Exception]], ...] = (
    (theirs.TaskCancelledError, errors.TaskCancelledError),
    (theirs.GetTimeoutError, errors.GetTimeoutError),
    (theirs.OutOfMemoryError, errors.OutOfMemoryError),
    (theirs.WorkerCrashedError, errors.WorkerDiedError),
    (theirs.NodeDiedError, errors.WorkerDiedError),
    (theirs.OwnerDiedError, errors.OwnerDiedError),
    (theirs.ObjectLostError, errors.ObjectLostError),
    (theirs.ObjectStoreFullError, errors.StoreFullError),
    (theirs.OutOfDiskError, errors.StoreFullError),
    (theirs.PendingCallsLimitExceeded, errors.PendingCallsLimitError),
    (theirs.TaskUnschedulableError, errors.InfeasibleError),
    (theirs.ActorUnschedulableError, errors.InfeasibleError),
    (theirs.LocalRayletDiedError, errors.NodeDiedError),
)
