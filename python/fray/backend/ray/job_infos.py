"""Makes a `JobInfo` of what a dashboard says; the job's demand is in its metadata, since Ray does not say it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from fray.backend.ray.capacity import shortage
from fray.backend.ray.jobs_api import JobDetails
from fray.cluster.status import JobId, JobInfo, JobStatus, TaskStatus

__all__ = ["asked_of", "demand_metadata", "info_of"]

_DEMAND = "fray_demand"
_MESSAGES = {JobStatus.SUCCEEDED: None, JobStatus.STOPPED: "it was stopped"}
"""The messages for jobs that ended without failing."""


def demand_metadata(demand: Mapping[str, float | None]) -> dict[str, str]:
    """Return the metadata that tells what a job asks for."""
    return {_DEMAND: json.dumps({name: amount for name, amount in demand.items() if amount})}


def info_of(details: JobDetails, nodes: Sequence[Mapping[str, float]]) -> JobInfo:
    message = _MESSAGES.get(details.status, _message(details)) if JobStatus.finished(details.status) else None
    return JobInfo(
        job_id=JobId(details.job_id),
        status=details.status,
        tasks=[TaskStatus(details.status, message)],
        name=details.name,
        error_message=message,
        pending_reason=_pending_reason(details, nodes),
        exit_code=details.exit_code,
    )


def _message(details: JobDetails) -> str:
    """Return Ray's message about a failure, in which a signal has the exit code that every other cluster gives it."""
    return re.sub(r"exit code -\d+", f"exit code {details.exit_code}", details.message)


def _pending_reason(details: JobDetails, nodes: Sequence[Mapping[str, float]]) -> str | None:
    if details.status is not JobStatus.PENDING:
        return None
    lacking = shortage(asked_of(details), nodes) if nodes else None
    never = f"no node of this Ray can ever run it ({lacking})" if lacking else ""
    return "; ".join(part for part in (never, details.message) if part) or None


def asked_of(details: JobDetails) -> dict[str, float]:
    """Return the demand of a job that waits; nothing for a job that Fray has not submitted."""
    if details.status is not JobStatus.PENDING or _DEMAND not in details.metadata:
        return {}
    try:
        found: Any = json.loads(details.metadata[_DEMAND])
        return {str(name): float(amount) for name, amount in found.items()}
    except (ValueError, TypeError, AttributeError):
        return {}
