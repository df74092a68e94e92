"""`JobsApi`: the jobs of a cluster, as its dashboard serves them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from fray.cluster.status import JobStatus

__all__ = ["JobDetails", "JobsApi", "SubmitOrder"]


@dataclass(frozen=True, slots=True, repr=False)
class SubmitOrder:
    """The request for a job, as the dashboard takes it. It has no ``repr``, which would show values of variables."""

    entrypoint: str
    submission_id: str
    runtime_env: Mapping[str, Any] = field(default_factory=dict[str, Any])
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    cpus: float | None = None
    gpus: float | None = None
    memory_bytes: int | None = None
    resources: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class JobDetails:
    """What the dashboard says of a job.

    Args:
        job_id: its submission id; for a driver that was not submitted, its job id.
        status: the status of the job.
        name: from its metadata; empty for a job that Fray has not named.
        message: Ray's message about the job: why it waits, or why it failed.
        start_time_ms: when it started, in milliseconds since 1970; 0 before.
        exit_code: exit code of its program; None where there is none.
        metadata: texts that were given with its submission.
    """

    job_id: str
    status: JobStatus
    name: str = ""
    message: str = ""
    start_time_ms: int = 0
    exit_code: int | None = None
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])


class JobsApi(Protocol):
    """Submits, lists, reads and ends jobs.

    All methods raise NodeDiedError where the dashboard cannot be reached or refuses this program, and those that take
    an id raise JobNotFoundError for one that the cluster does not know.
    """

    def submit(self, order: SubmitOrder) -> str:
        """Send a job, with the folders it names; return its id. Nothing is submitted twice.

        Raises:
            JobExistsError: the id is taken.
            ValueError: a key or a value of the runtime env that Ray does not know, or a package that is too large.
        """
        ...

    def get(self, job_id: str) -> JobDetails: ...
    def list(self) -> list[JobDetails]: ...
    def stop(self, job_id: str) -> bool:
        """Ask a job to end; False where it has ended."""
        ...

    def delete(self, job_id: str) -> None:
        """Forget a job that has ended."""
        ...

    def logs(self, job_id: str) -> str: ...
    def follow(self, job_id: str) -> Iterator[str]:
        """Yield the job's output as it comes, to the job's end."""
        ...

    def nodes(self) -> Sequence[Mapping[str, float]]:
        """Return what each living node of the cluster has."""
        ...
