"""`JobsApi`: the jobs of a cluster as its dashboard serves them, and `SdkJobs`, which asks through Ray's own client."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from fray import errors
from fray.cluster import JobStatus

__all__ = ["JobDetails", "JobsApi", "SdkJobs", "SubmitOrder"]

_FOLLOW_PAUSE_SECONDS = 0.5
_AGENT_SECONDS = 30.0
_NO_AGENT = "No available agent to submit job"


@dataclass(frozen=True, slots=True, repr=False)
class SubmitOrder:
    """A job as the dashboard takes it; values of its variables are never shown."""

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
        job_id: its submission id; of a driver that was not submitted, its job id.
        status: where it is in its life.
        name: from its metadata, empty for a job that Fray has not named.
        message: Ray's sentence about it: why it waits, or why it failed.
        start_time_ms: when it started, 0 before.
    """

    job_id: str
    status: JobStatus
    name: str = ""
    message: str = ""
    start_time_ms: int = 0


class JobsApi(Protocol):
    """The verbs; `get` and all that take an id raise KeyError for one that the cluster does not know."""

    def submit(self, order: SubmitOrder) -> str:
        """Send a job, with the folders it names; return its id. Nothing is submitted twice."""
        ...

    def get(self, job_id: str) -> JobDetails: ...
    def list(self) -> list[JobDetails]: ...
    def stop(self, job_id: str) -> bool:
        """Ask a job to end; False where it has ended."""
        ...

    def logs(self, job_id: str) -> str: ...
    def follow(self, job_id: str) -> Iterator[str]:
        """Yield the job's output as it comes, to the job's end."""
        ...


class SdkJobs:
    """Asks through ``ray.job_submission``, which needs Ray on this machine.

    Args:
        address: the dashboard's URL.

    Raises:
        NodeDiedError: nobody answers there, or the token is wrong.
    """

    def __init__(self, address: str) -> None:
        from ray.job_submission import JobSubmissionClient

        self._address = address
        self._client: Any = self._ask("the cluster", lambda: JobSubmissionClient(address))

    def submit(self, order: SubmitOrder) -> str:
        keywords: dict[str, Any] = {
            "entrypoint": order.entrypoint,
            "submission_id": order.submission_id,
            "runtime_env": dict(order.runtime_env),
            "metadata": dict(order.metadata),
        }
        if order.cpus is not None:
            keywords["entrypoint_num_cpus"] = order.cpus
        if order.gpus is not None:
            keywords["entrypoint_num_gpus"] = order.gpus
        if order.memory_bytes is not None:
            keywords["entrypoint_memory"] = order.memory_bytes
        if order.resources:
            keywords["entrypoint_resources"] = dict(order.resources)
        deadline = time.monotonic() + _AGENT_SECONDS
        pause = _FOLLOW_PAUSE_SECONDS
        while True:
            try:
                return str(self._ask(order.submission_id, lambda: self._client.submit_job(**keywords)))
            except errors.FrayError as error:
                if _NO_AGENT not in str(error) or time.monotonic() + pause > deadline:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, 5.0)

    def get(self, job_id: str) -> JobDetails:
        return _details(self._ask(job_id, lambda: self._client.get_job_info(job_id)))

    def list(self) -> list[JobDetails]:
        return [_details(info) for info in self._ask("jobs", self._client.list_jobs)]

    def stop(self, job_id: str) -> bool:
        return bool(self._ask(job_id, lambda: self._client.stop_job(job_id)))

    def logs(self, job_id: str) -> str:
        return str(self._ask(job_id, lambda: self._client.get_job_logs(job_id)))

    def follow(self, job_id: str) -> Iterator[str]:
        """Look again and again: what was read is counted, so that nothing comes twice."""
        seen = 0
        while True:
            over = JobStatus.finished(self.get(job_id).status)
            text = self.logs(job_id)
            if len(text) > seen:
                yield text[seen:]
                seen = len(text)
            if over:
                return
            time.sleep(_FOLLOW_PAUSE_SECONDS)

    def _ask(self, what: str, ask: Any) -> Any:
        """Ask, with what goes wrong as an error of Fray's; no message holds a variable's value."""
        try:
            return ask()
        except Exception as error:
            raise self._refusal(what, error) from None

    def _refusal(self, what: str, error: Exception) -> Exception:
        text = str(error)
        first = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)[:500]
        if "does not exist" in text and "404" in text:
            return KeyError(f"the Ray at {self._address} knows no job {what}")
        if "already exists" in text:
            return errors.NameTakenError(f"the Ray at {self._address} has a job {what} already; choose another id")
        if type(error).__name__ == "AuthenticationError" or "uthenticat" in text:
            return errors.NodeDiedError(
                f"the Ray at {self._address} refused this program; "
                "set RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH to its token"
            )
        if isinstance(error, ConnectionError) or "Connection" in type(error).__name__ or "Failed to connect" in text:
            return errors.NodeDiedError(
                f"no dashboard of a Ray answers at {self._address}; is it up, and is this the dashboard's address?"
            )
        if _NO_AGENT in text:
            return errors.FrayError(f"{_NO_AGENT} at {self._address}; its node is starting or ending")
        return errors.FrayError(f"the Ray at {self._address} does not take {what}: {first}")


def _details(info: Any) -> JobDetails:
    status = str(getattr(info.status, "value", info.status)).lower()
    known = status if status in set(JobStatus) else JobStatus.FAILED
    metadata: Any = info.metadata or {}
    return JobDetails(
        job_id=info.submission_id or info.job_id or "",
        status=JobStatus(known),
        name=str(metadata.get("name", "")),
        message=info.message or "",
        start_time_ms=int(info.start_time or 0),
    )
