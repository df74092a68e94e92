"""`RestJobs`: the jobs of a Ray cluster, over the REST API of its dashboard, by the C++ client; needs no Ray here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fray._ray_jobs import RayJobs
from fray.backend.ray.jobs_api import JobDetails, SubmitOrder
from fray.cluster.status import JobStatus

__all__ = ["RestJobs"]

_PATIENCE_SECONDS = 1.0
"""How long one read of a log waits for text; Python handles Ctrl-C between two reads."""


class RestJobs:
    """The `JobsApi` of the dashboard at `address`.

    Args:
        address: the dashboard's URL.
        token: token of the cluster; by default from ``RAY_AUTH_TOKEN``, ``RAY_AUTH_TOKEN_PATH`` or Ray's token file.

    Raises:
        ValueError: `address` is not the address of a dashboard.
    """

    def __init__(self, address: str, token: str | None = None) -> None:
        self._client = RayJobs(address, token)
        self.address = address

    def submit(self, order: SubmitOrder) -> str:
        return self._client.submit(
            order.entrypoint,
            submission_id=order.submission_id,
            runtime_env=dict(order.runtime_env),
            metadata=dict(order.metadata),
            cpus=order.cpus,
            gpus=order.gpus,
            memory_bytes=order.memory_bytes,
            resources=dict(order.resources),
        )

    def get(self, job_id: str) -> JobDetails:
        return _details(self._client.get(job_id))

    def list(self) -> list[JobDetails]:
        return [_details(job) for job in self._client.list_jobs()]

    def stop(self, job_id: str) -> bool:
        return self._client.stop(job_id)

    def delete(self, job_id: str) -> None:
        self._client.delete(job_id)

    def logs(self, job_id: str) -> str:
        return self._client.logs(job_id)

    def follow(self, job_id: str) -> Iterator[str]:
        if JobStatus.finished(self.get(job_id).status):  # Ray takes seconds to end the log of a job that has ended
            yield self.logs(job_id)
            return
        log = self._client.follow(job_id)
        while (text := log.read(_PATIENCE_SECONDS)) is not None:
            if text:
                yield text

    def nodes(self) -> Sequence[dict[str, float]]:
        return self._client.nodes()


def _details(job: dict[str, Any]) -> JobDetails:
    metadata: dict[str, str] = job["metadata"] or {}
    return JobDetails(
        job_id=job["submission_id"] or job["job_id"],
        status=JobStatus(job["status"].lower()),
        name=metadata.get("name", ""),
        message=job["message"] or "",
        start_time_ms=job["start_time"] or 0,
        exit_code=job["driver_exit_code"],
        metadata=metadata,
    )
