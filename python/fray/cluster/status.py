"""How a job is doing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NewType, cast

__all__ = ["JobId", "JobInfo", "JobStatus", "TaskStatus"]

JobId = NewType("JobId", str)
"""Id of a job, assigned when it is accepted; unlike its name, no other job ever has it."""


class JobStatus(StrEnum):
    """The state of a job, or of one of its replicas."""

    PENDING = "pending"
    """Accepted, not started."""
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    """Ended by itself, without an error."""
    FAILED = "failed"
    """Ended with an error, and had no retry left."""
    STOPPED = "stopped"
    """Ended because it was told to stop."""

    @staticmethod
    def finished(status: JobStatus | str) -> bool:
        """Return whether `status` is one that never changes again."""
        return status in (JobStatus.SUCCEEDED, JobStatus.FAILED, JobStatus.STOPPED)


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """How one replica is doing.

    Args:
        status: its state.
        error_message: why it failed.
    """

    status: JobStatus
    error_message: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "status", _known(self.status, "TaskStatus"))


@dataclass(frozen=True, slots=True)
class JobInfo:
    """How one job is doing.

    Args:
        job_id: its id.
        status: its state.
        tasks: the states of its replicas, in their order.
        name: the name of its request.
        error_message: why it failed.
        pending_reason: what it waits for, while it is pending.
        exit_code: exit code of the replica that decided the status; 128 plus the number for a signal; None before that.
    """

    job_id: JobId
    status: JobStatus
    tasks: Sequence[TaskStatus] = field(default_factory=list[TaskStatus])
    name: str = ""
    error_message: str | None = None
    pending_reason: str | None = None
    exit_code: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "status", _known(self.status, "JobInfo"))
        tasks = cast("object", self.tasks)
        if not isinstance(tasks, (list, tuple)) or not all(
            isinstance(task, TaskStatus) for task in cast("Sequence[object]", tasks)
        ):
            raise TypeError(f"JobInfo: tasks must be a list of TaskStatus(...), got {tasks!r}")
        object.__setattr__(self, "tasks", list(cast("Sequence[TaskStatus]", tasks)))


def _known(status: object, owner: str) -> JobStatus:
    try:
        return JobStatus(cast("str", status))
    except ValueError:
        known = ", ".join(repr(str(item)) for item in JobStatus)
        raise ValueError(f"{owner}: unknown status {status!r}; known are {known}") from None
