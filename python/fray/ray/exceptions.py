"""`ray.exceptions`: Ray's tree of errors.

What a program gets is of Ray's type and, beside it, of the type of `fray.errors` that the engine raised, or of the type
that the task's own function raised; `fray.ray._errors` derives those classes. The texts are the engine's.
"""

from __future__ import annotations

import os
from functools import cache
from types import FunctionType
from typing import Any, cast

from fray import _failures, errors

__all__ = [  # noqa: RUF022  (as a tree)
    "RayError",
    "RayTaskError",
    "TaskCancelledError",
    "WorkerCrashedError",
    "LocalRayletDiedError",
    "NodeDiedError",
    "RayActorError",
    "ActorDiedError",
    "ActorUnavailableError",
    "ActorPlacementGroupRemoved",
    "TaskPlacementGroupRemoved",
    "TaskUnschedulableError",
    "ActorUnschedulableError",
    "PendingCallsLimitExceeded",
    "ActorAlreadyExistsError",
    "ActorHandleNotFoundError",
    "RaySystemError",
    "UserCodeException",
    "AuthenticationError",
    "CrossLanguageError",
    "RpcError",
    "ObjectStoreFullError",
    "OutOfDiskError",
    "OutOfMemoryError",
    "ObjectLostError",
    "ObjectFetchTimedOutError",
    "ObjectFreedError",
    "ObjectReconstructionFailedError",
    "OwnerDiedError",
    "ReferenceCountingAssertionError",
    "GetTimeoutError",
    "PlasmaObjectNotAvailable",
    "AsyncioActorExit",
    "ObjectRefStreamEndOfStreamError",
    "OufOfBandObjectRefSerializationException",
    "RuntimeEnvSetupError",
    "UnserializableException",
    "StreamingGeneratorReplayInconsistentError",
    "RayChannelError",
    "RayChannelTimeoutError",
    "RayCgraphCapacityExceeded",
    "RayDirectTransportError",
    "RAY_EXCEPTION_TYPES",
]


class RayError(Exception):
    """Base of everything that Ray raises on its own account."""


class RayTaskError(RayError):
    """A task or a method raised; what `get` raises is of the type of `cause` as well.

    Attributes:
        function_name: of the task, or ``Class.method``.
        traceback_str: where it was raised, as text; also what `str` gives.
        cause: the exception itself.
        pid, ip, proctitle: of the process that ran it.
        actor_repr: ``repr()`` of the actor, None for a task.
    """

    function_name: str = ""
    traceback_str: str = ""
    cause: Any = None
    proctitle: str = ""
    pid: int = 0
    ip: str = ""
    actor_repr: str | None = None
    actor_id: str | None = None

    def __init__(
        self,
        function_name: str,
        traceback_str: str,
        cause: BaseException,
        proctitle: str | None = None,
        pid: int | None = None,
        ip: str | None = None,
        actor_repr: str | None = None,
        actor_id: str | None = None,
    ) -> None:
        super().__init__(cause)
        self.function_name = function_name
        self.traceback_str = traceback_str
        self.cause = cause
        self.pid = os.getpid() if pid is None else pid
        self.ip = "127.0.0.1" if ip is None else ip
        self.proctitle = proctitle or f"ray::{function_name}"
        self.actor_repr = actor_repr
        self.actor_id = actor_id

    def as_instanceof_cause(self) -> RayTaskError:
        """Return the same error as an instance of the type of `cause` too, where a class can be derived from both."""
        cause = self.cause
        if not isinstance(cause, Exception) or isinstance(cause, RayTaskError):
            return self
        try:
            made = _instance(_derived(type(cause)), cause)
        except Exception:
            return self
        made.__dict__.update({**vars(cause), **vars(self)})
        made.args = (cause,)
        return made

    def __str__(self) -> str:
        return self.traceback_str.strip()

    def __reduce__(self) -> Any:
        """Travel with the cause as exceptions of tasks do, and what else it knows in words."""
        facts = {
            name: getattr(self, name)
            for name in ("function_name", "traceback_str", "proctitle", "pid", "ip", "actor_repr", "actor_id")
        }
        return _restore_task_error, (facts, _failures.pack_exception(self.cause, self.function_name))


def _restore_task_error(facts: dict[str, Any], packed: bytes) -> RayTaskError:
    cause: Exception = _failures.unpack_exception(packed)
    cut_chain(cause)
    if type(cause) is errors.TaskError:  # it could not travel
        cause = RayError(str(cause))
    error = RayTaskError(cause=cause, **facts)
    return error if type(cause) is RayError else error.as_instanceof_cause()


def cut_chain(error: BaseException) -> None:
    """Take the text of the other process off the end of the chain of causes."""
    here = error
    while here.__cause__ is not None:
        if isinstance(here.__cause__, errors.RemoteTraceback):
            here.__cause__ = None
            return
        here = here.__cause__


@cache
def _derived(kind: type[Exception]) -> type[RayTaskError]:
    members = {"__module__": "ray.exceptions", "__getattr__": _from_cause}
    return cast("type[RayTaskError]", type(f"RayTaskError({kind.__name__})", (RayTaskError, kind), members))


def _from_cause(self: RayTaskError, name: str) -> Any:
    cause = self.__dict__.get("cause")
    if cause is None or name.startswith("__"):
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
    return getattr(cause, name)


def _instance(kind: type[RayTaskError], cause: Exception) -> RayTaskError:
    """Make one without a constructor in Python; those in C fill fields such as `errno`."""
    made = kind.__new__(kind, *cause.args)
    for base in kind.__mro__:
        init: Any = base.__dict__.get("__init__")
        if init is not None and not isinstance(init, FunctionType):
            init(made, *cause.args)
            break
    return made


class TaskCancelledError(RayError):
    """The task was cancelled."""

    task_id: Any = None
    error_message: str = ""


class NodeDiedError(RayError):
    """The node died."""

    message: str = ""


class RayActorError(RayError):
    """The actor of the call cannot answer it.

    Attributes:
        actor_id: its id in hexadecimal digits, where it is known.
        error_msg: why.
        actor_init_failed: whether its constructor raised.
    """

    actor_id: str | None = None
    error_msg: str = ""
    actor_init_failed: bool = False
    preempted: bool = False
    base_error_msg = "The actor experienced an error before finishing this task."


class RaySystemError(RayError):
    """The engine cannot go on, or was used before it was started."""

    client_exc: Any = None


class OutOfMemoryError(RayError):
    """The process was killed because it used too much memory."""

    message: str = ""


class ObjectLostError(RayError):
    """The object's bytes are gone."""

    object_ref_hex: str = ""
    owner_address: Any = None
    call_site: str = ""


class GetTimeoutError(RayError, TimeoutError):
    """Nothing came within the timeout of `get`."""


class RuntimeEnvSetupError(RayError):
    """The runtime environment cannot be made."""

    error_message: str = ""


class TaskUnschedulableError(RayError):
    """The task asks for what this machine never has."""

    error_message: str = ""


class ActorUnschedulableError(RayError):
    """The actor asks for what this machine never has."""

    error_message: str = ""


class ActorAlreadyExistsError(ValueError, RayError):
    """The name has an actor."""

    error_message: str = ""


class ActorHandleNotFoundError(ValueError, RayError):
    """The handle is of an actor of another session."""

    error_message: str = ""


def _kind(name: str, doc: str, *bases: type[Any]) -> type[RayError]:
    """Return a class without fields of its own."""
    return type(name, bases or (RayError,), {"__module__": __name__, "__doc__": doc})


WorkerCrashedError = _kind("WorkerCrashedError", "The worker process died while it ran the task.")
LocalRayletDiedError = _kind("LocalRayletDiedError", "The node of this machine died.")
ActorDiedError = _kind("ActorDiedError", "The actor has ended.", RayActorError)
ActorUnavailableError = _kind(
    "ActorUnavailableError", "The actor is being started again: the call may have run, or not.", RayActorError
)
UserCodeException = _kind("UserCodeException", "User code failed where no task ran.")
ObjectStoreFullError = _kind("ObjectStoreFullError", "Neither memory nor disk has room for the object.")
OutOfDiskError = _kind("OutOfDiskError", "The disk has no room.")
ObjectFreedError = _kind("ObjectFreedError", "The object was freed by hand.", ObjectLostError)
OwnerDiedError = _kind(
    "OwnerDiedError", "The process that made the object died before there was a value.", ObjectLostError
)
AsyncioActorExit = _kind("AsyncioActorExit", "An asynchronous actor ends itself.")
ObjectRefStreamEndOfStreamError = _kind("ObjectRefStreamEndOfStreamError", "A generator has no further item.")
OufOfBandObjectRefSerializationException = _kind(
    "OufOfBandObjectRefSerializationException", "A ref was pickled by the program itself."
)
TaskPlacementGroupRemoved = _kind("TaskPlacementGroupRemoved", "The placement group of the task was removed.")
ActorPlacementGroupRemoved = _kind("ActorPlacementGroupRemoved", "The placement group of the actor was removed.")
PendingCallsLimitExceeded = _kind(
    "PendingCallsLimitExceeded", "The actor has as many unanswered calls as its ``max_pending_calls`` allows."
)
UnserializableException = _kind("UnserializableException", "An exception that cannot be read where it arrives.")

_UNRAISED = "Never raised here; programs name it in ``except``."
AuthenticationError = _kind("AuthenticationError", _UNRAISED)
CrossLanguageError = _kind("CrossLanguageError", _UNRAISED)
RpcError = _kind("RpcError", _UNRAISED)
ObjectFetchTimedOutError = _kind("ObjectFetchTimedOutError", _UNRAISED, ObjectLostError)
ReferenceCountingAssertionError = _kind("ReferenceCountingAssertionError", _UNRAISED, ObjectLostError, AssertionError)
ObjectReconstructionFailedError = _kind("ObjectReconstructionFailedError", _UNRAISED, ObjectLostError)
PlasmaObjectNotAvailable = _kind("PlasmaObjectNotAvailable", _UNRAISED)
StreamingGeneratorReplayInconsistentError = _kind("StreamingGeneratorReplayInconsistentError", _UNRAISED)
RayChannelError = _kind("RayChannelError", _UNRAISED, RaySystemError)
RayChannelTimeoutError = _kind("RayChannelTimeoutError", _UNRAISED, RayChannelError, TimeoutError)
RayCgraphCapacityExceeded = _kind("RayCgraphCapacityExceeded", _UNRAISED, RaySystemError)
RayDirectTransportError = _kind("RayDirectTransportError", _UNRAISED, RaySystemError)

RAY_EXCEPTION_TYPES = [
    kind
    for name, kind in sorted(globals().items())
    if isinstance(kind, type) and issubclass(kind, RayError) and name != "RayError"
]
