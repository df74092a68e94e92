"""`ray.exceptions`: Ray's tree of errors.

An error that a program gets is of Ray's type, and also of the type in `fray.errors` that the engine raised, or of the
type that the task's own function raised; `fray.ray._errors` derives these classes. The texts are the engine's.
"""

from __future__ import annotations

import os
from functools import cache
from types import FunctionType
from typing import Any, cast

from fray import _failures, errors
from fray.ray._ids import ActorID


class RayError(Exception):
    """The base of all errors that Ray itself raises."""


class RayTaskError(RayError):
    """A task or a method raised an exception; the error that `get` raises is of the type of `cause` as well.

    Attributes:
        function_name: the name of the task, or ``Class.method``.
        traceback_str: the traceback as text, which is also the text of the error.
        cause: the exception.
        pid, ip, proctitle: of the process that ran the task.
        actor_repr: ``repr()`` of the actor, None for a task.
    """

    function_name: str = ""
    traceback_str: str = ""
    cause: Any = None
    proctitle: str = ""
    pid: int = 0
    ip: str = ""
    actor_repr: str | None = None
    _actor_id: str | None = None
    """Of the actor whose method raised; `actor_id` is that of the cause, where the cause is the end of another one."""

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
        self._actor_id = actor_id

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
        """Pickle the cause as exceptions of tasks are pickled, and the other facts as they are."""
        names = ("function_name", "traceback_str", "proctitle", "pid", "ip", "actor_repr")
        facts = {name: getattr(self, name) for name in names} | {"actor_id": self._actor_id}
        return _restore_task_error, (facts, _failures.pack_exception(self.cause, self.function_name))


def _restore_task_error(facts: dict[str, Any], packed: bytes) -> RayTaskError:
    cause: Exception = _failures.unpack_exception(packed)
    cut_chain(cause)
    if type(cause) is errors.TaskError:  # it could not travel
        cause = RayError(str(cause))
    error = RayTaskError(cause=cause, **facts)
    return error if type(cause) is RayError else error.as_instanceof_cause()


def cut_chain(error: BaseException) -> None:
    """Remove the traceback of the other process from the end of the chain of causes."""
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
    """Return an instance without a call of a constructor in Python; those in C fill fields such as `errno`."""
    made = kind.__new__(kind, *cause.args)
    for base in kind.__mro__:
        init: Any = base.__dict__.get("__init__")
        if init is not None and not isinstance(init, FunctionType):
            init(made, *cause.args)
            break
    return made


class RayActorError(RayError):
    """The actor of the call cannot answer it.

    Attributes:
        error_msg: why.
        actor_init_failed: whether its constructor raised.
    """

    error_msg: str = ""
    actor_init_failed: bool = False
    preempted: bool = False
    base_error_msg = "The actor experienced an error before finishing this task."

    @property
    def actor_id(self) -> str | None:
        """The actor's id in hexadecimal digits, where it is known; among the attributes lies the engine's id."""
        of_engine = self.__dict__.get("actor_id")
        return ActorID.of(of_engine).hex() if of_engine else None


def _kind(name: str, doc: str, *bases: type[Any], **fields: Any) -> type[RayError]:
    """Return a class; `fields` are its attributes where an error has none of its own."""
    return type(name, bases or (RayError,), {"__module__": __name__, "__doc__": doc, **fields})


_MESSAGE = {"error_message": ""}
TaskCancelledError = _kind("TaskCancelledError", "The task was cancelled.", task_id=None, **_MESSAGE)
WorkerCrashedError = _kind("WorkerCrashedError", "The worker process died while it ran the task.")
LocalRayletDiedError = _kind("LocalRayletDiedError", "The node of this machine died.")
NodeDiedError = _kind("NodeDiedError", "The node died.", message="")
ActorDiedError = _kind("ActorDiedError", "The actor has ended.", RayActorError)
ActorUnavailableError = _kind(
    "ActorUnavailableError", "The actor is being started again: the call may have run, or not.", RayActorError
)
ActorPlacementGroupRemoved = _kind("ActorPlacementGroupRemoved", "The placement group of the actor was removed.")
TaskPlacementGroupRemoved = _kind("TaskPlacementGroupRemoved", "The placement group of the task was removed.")
TaskUnschedulableError = _kind("TaskUnschedulableError", "The task asks for what this machine never has.", **_MESSAGE)
ActorUnschedulableError = _kind(
    "ActorUnschedulableError", "The actor asks for what this machine never has.", **_MESSAGE
)
PendingCallsLimitExceeded = _kind(
    "PendingCallsLimitExceeded", "The actor has as many unanswered calls as its ``max_pending_calls`` allows."
)
ActorAlreadyExistsError = _kind(
    "ActorAlreadyExistsError", "Another actor has the name.", ValueError, RayError, **_MESSAGE
)
ActorHandleNotFoundError = _kind(
    "ActorHandleNotFoundError", "The handle belongs to an actor of another session.", ValueError, RayError, **_MESSAGE
)
RaySystemError = _kind("RaySystemError", "The engine cannot go on, or was used before it was started.", client_exc=None)
UserCodeException = _kind("UserCodeException", "User code failed outside of tasks.")
ObjectStoreFullError = _kind("ObjectStoreFullError", "Neither memory nor disk has room for the object.")
OutOfDiskError = _kind("OutOfDiskError", "The disk has no room.")
OutOfMemoryError = _kind("OutOfMemoryError", "The process was killed because it used too much memory.", message="")
ObjectLostError = _kind(
    "ObjectLostError", "The object's bytes are gone.", RayError, object_ref_hex="", owner_address=None, call_site=""
)
ObjectFreedError = _kind("ObjectFreedError", "The object was freed by hand.", ObjectLostError)
OwnerDiedError = _kind(
    "OwnerDiedError", "The process that made the object died before there was a value.", ObjectLostError
)
GetTimeoutError = _kind("GetTimeoutError", "Nothing came within the timeout of `get`.", RayError, TimeoutError)
AsyncioActorExit = _kind("AsyncioActorExit", "An asynchronous actor ends itself.")
ObjectRefStreamEndOfStreamError = _kind("ObjectRefStreamEndOfStreamError", "A generator has no further item.")
OufOfBandObjectRefSerializationException = _kind(
    "OufOfBandObjectRefSerializationException", "A ref was pickled by the program itself."
)
RuntimeEnvSetupError = _kind("RuntimeEnvSetupError", "The runtime environment cannot be made.", **_MESSAGE)
UnserializableException = _kind("UnserializableException", "An exception cannot be unpickled where it arrives.")

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
__all__ = ["RAY_EXCEPTION_TYPES", "RayError", *(kind.__name__ for kind in RAY_EXCEPTION_TYPES)]  # pyright: ignore
