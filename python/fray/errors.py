"""Every exception that Fray raises on its own account.

A task's own exception reaches the caller as itself (``except ValueError`` works); its ``__cause__`` chain ends in a
`RemoteTraceback` where the task ran in another process. The classes below are for everything else:

    FrayError
    ├── TaskError                   the task raised something that could not travel as itself
    ├── TaskCancelledError          the task was cancelled
    ├── TaskTimeoutError            the task ran longer than its own `timeout` (also TimeoutError)
    ├── GetTimeoutError             nothing arrived within the `timeout` of get or as_completed (also TimeoutError)
    ├── WorkerDiedError             the process that ran the task died
    │   └── OutOfMemoryError        it was killed because it used too much memory
    ├── NodeDiedError               the node died, and with it every object and actor it held
    ├── OwnerDiedError              the process that submitted the task died before the task ended
    ├── ObjectLostError             the object's bytes are gone
    ├── ActorDiedError              the actor of the call has ended, or was started again without it
    ├── ActorNotFoundError          no actor has that name (also ValueError)
    ├── NameTakenError              another actor has that name (also ValueError)
    ├── PendingCallsLimitError      the actor has as many unanswered calls as its options allow
    ├── StoreFullError              neither memory nor the spill disk has room for the object
    ├── RuntimeEnvError             the environment that a task, actor or job asks for cannot be made
    ├── DeadlockError               a wait that can never end (also RuntimeError)
    ├── InfeasibleError             resources that this node can never have (also ValueError)
    │   └── ReservationEndedError   resources of a reservation that there is not any more
    ├── SerializationError          a function or value cannot be pickled (also TypeError)
    ├── ContextClosedError          the context was closed (also RuntimeError)
    ├── ForeignRefError             the ref or handle belongs to another context (also ValueError)
    ├── JobFailedError              a job that was waited for did not succeed (also RuntimeError)
    ├── JobNotFoundError            there is no job of that id (also KeyError)
    ├── QueueNotFoundError          there is no queue of that name (also KeyError)
    ├── JobExistsError              there is a job of that id, or a living one of that name (also RuntimeError)
    ├── SettingsError               an unknown scheme, key or value in the settings (also ValueError)
    ├── AlreadyInitializedError     a second `init` asks for other settings (also RuntimeError)
    ├── UnsupportedError            this context or this build cannot do it (also NotImplementedError)
    └── VersionMismatchError        client and node are of different versions

    RemoteTraceback                 not an error of its own: the text of a traceback from another process
"""

from __future__ import annotations

from typing import Literal

__all__ = [
    "ActorDiedError",
    "ActorNotFoundError",
    "AlreadyInitializedError",
    "ContextClosedError",
    "DeadlockError",
    "ForeignRefError",
    "FrayError",
    "GetTimeoutError",
    "InfeasibleError",
    "JobExistsError",
    "JobFailedError",
    "JobNotFoundError",
    "NameTakenError",
    "NodeDiedError",
    "ObjectLostError",
    "OutOfMemoryError",
    "OwnerDiedError",
    "PendingCallsLimitError",
    "QueueNotFoundError",
    "RemoteTraceback",
    "ReservationEndedError",
    "RuntimeEnvError",
    "SerializationError",
    "SettingsError",
    "StoreFullError",
    "TaskCancelledError",
    "TaskError",
    "TaskTimeoutError",
    "UnsupportedError",
    "VersionMismatchError",
    "WorkerDiedError",
]


class FrayError(Exception):
    """Base of every error that Fray itself raises."""


class TaskError(FrayError):
    """A task raised something that could not travel to the caller as itself.

    Attributes:
        task_name: name of the task.
        type_name: qualified name of the exception's type, such as ``"shop.errors.OutOfStock"``.
        remote_traceback: the traceback as text, where the task ran.
    """

    def __init__(self, message: str, *, task_name: str = "", type_name: str = "", remote_traceback: str = "") -> None:
        super().__init__(message)
        self.task_name = task_name
        self.type_name = type_name
        self.remote_traceback = remote_traceback


class TaskCancelledError(FrayError):
    """The task was cancelled before it had a result."""


class TaskTimeoutError(FrayError, TimeoutError):
    """The task ran longer than the `timeout` in its options."""


class GetTimeoutError(FrayError, TimeoutError):
    """The caller's own `timeout` passed before the value was there; the task goes on."""


class WorkerDiedError(FrayError):
    """The process that ran the task died: its exit code or signal, and its last lines, are in the message."""


class OutOfMemoryError(WorkerDiedError):
    """The process that ran the task was killed, by the node or the kernel, because it used too much memory."""


class NodeDiedError(FrayError):
    """The node died. The objects and actors that it held are gone; a new `init` starts a new node."""


class OwnerDiedError(FrayError):
    """The process that submitted the task died before the task ended, so there is no result."""


class ObjectLostError(FrayError):
    """The object's bytes are gone."""


class ActorDiedError(FrayError):
    """The actor of the call cannot answer it: its constructor raised, its process died, or it was killed or given up.

    Attributes:
        executed: ``"no"`` when the method never started, ``"yes"`` when it ran to its end and only its result is
            lost, ``"unknown"`` when it had started: it may have done all, some or nothing.
        fate: ``"ended"``; ``"constructor_failed"`` when it ended because its constructor raised, or was given what had
            failed; ``"lives_on"`` when the call alone is lost, and a later one reaches the actor again: in another
            process where `max_restarts` allowed one.
        class_name: name of the actor's class.
        actor_name: name of the actor, None for one without.
        actor_id: id of the actor, as `fray status --json` shows it; empty where it is not known.

    Its ``__cause__`` is what the constructor raised, or why no worker could be had, such as a `RuntimeEnvError`.
    """

    def __init__(
        self,
        message: str,
        *,
        executed: Literal["yes", "no", "unknown"] = "unknown",
        fate: Literal["ended", "constructor_failed", "lives_on"] = "ended",
        class_name: str = "",
        actor_name: str | None = None,
        actor_id: str = "",
    ) -> None:
        super().__init__(message)
        self.executed: Literal["yes", "no", "unknown"] = executed
        self.fate: Literal["ended", "constructor_failed", "lives_on"] = fate
        self.class_name = class_name
        self.actor_name = actor_name
        self.actor_id = actor_id


class ActorNotFoundError(FrayError, ValueError):
    """No living actor has that name in that namespace."""


class NameTakenError(FrayError, ValueError):
    """An actor of that name lives in that namespace already."""


class PendingCallsLimitError(FrayError):
    """The actor has as many unanswered calls of this process as its `max_pending_calls` allows."""


class StoreFullError(FrayError):
    """Neither the store's memory nor its spill disk has room; the message names the largest holders."""


class RuntimeEnvError(FrayError):
    """The `RuntimeEnv` of a task, actor or job cannot be made; the message has the last lines of the failed build."""


class DeadlockError(FrayError, RuntimeError):
    """Every task that could make progress waits for another one."""


class InfeasibleError(FrayError, ValueError):
    """A task, an actor or a job asks for resources that this node can never have."""


class ReservationEndedError(InfeasibleError):
    """The task asks for resources of a reservation that there is not any more."""


class SerializationError(FrayError, TypeError):
    """A function or a value cannot be pickled; the message names the path to the part that cannot."""


class ContextClosedError(FrayError, RuntimeError):
    """The context was closed, or was closed before the task ended."""


class ForeignRefError(FrayError, ValueError):
    """The ref or the actor handle was made by another context."""


class JobFailedError(FrayError, RuntimeError):
    """A job that was waited for failed or was stopped.

    Attributes:
        job_id: id of the job; of several failed jobs, the id of the first.
        failed_status: how that job ended, ``"failed"`` or ``"stopped"``.
    """

    def __init__(self, message: str, job_id: str = "", failed_status: str = "failed") -> None:
        super().__init__(message)
        self.job_id = job_id
        self.failed_status = failed_status


class JobNotFoundError(FrayError, KeyError):
    """There is no job of that id."""

    def __str__(self) -> str:
        """Return the message as it is; KeyError would quote it."""
        return str(self.args[0]) if self.args else ""


class QueueNotFoundError(FrayError, KeyError):
    """The node has no queue of that name."""

    def __str__(self) -> str:
        """Return the message as it is; KeyError would quote it."""
        return str(self.args[0]) if self.args else ""


class JobExistsError(FrayError, RuntimeError):
    """There is a job of that id already or, where names must differ, a living job of that name.

    Attributes:
        job_name: the name, or the id, that is taken.
        handle: handle of the job that has it; None where there is no handle.
    """

    def __init__(self, message: str, job_name: str = "", handle: object = None) -> None:
        super().__init__(message)
        self.job_name = job_name
        self.handle = handle


class SettingsError(FrayError, ValueError):
    """A setting has an unknown name or a value that makes no sense."""


class AlreadyInitializedError(FrayError, RuntimeError):
    """This process already has a context, whose settings differ from those asked for."""


class UnsupportedError(FrayError, NotImplementedError):
    """This context, or this build of Fray, cannot do what was asked."""


class VersionMismatchError(FrayError):
    """Client and node were built from different versions of Fray."""


class RemoteTraceback(Exception):
    """The text of a traceback from the process where a task ran: the last cause of an exception that travelled."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return "\n" + self.text
