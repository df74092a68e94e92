"""What a dashboard says of a job, as `JobInfo`, and what the job asks for, which Ray does not tell. Needs no Ray."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fray.backend.ray.capacity import shortage
from fray.backend.ray.jobs_api import JobDetails
from fray.cluster.status import JobId, JobInfo, JobStatus, TaskStatus

__all__ = ["demand_metadata", "demand_of", "info_of"]

_DEMAND = "fray_demand"


def demand_metadata(demand: Mapping[str, float | None]) -> dict[str, str]:
    """Return the metadata that tells what a job asks for."""
    return {_DEMAND: json.dumps({name: amount for name, amount in demand.items() if amount})}


def info_of(details: JobDetails, nodes: Sequence[Mapping[str, float]]) -> JobInfo:
    message = details.message if details.status is JobStatus.FAILED else None
    return JobInfo(
        job_id=JobId(details.job_id),
        status=details.status,
        tasks=[TaskStatus(details.status, message)],
        name=details.name,
        error_message=message,
        pending_reason=_pending_reason(details, nodes),
        exit_code=details.exit_code,
    )


def _pending_reason(details: JobDetails, nodes: Sequence[Mapping[str, float]]) -> str | None:
    if details.status is not JobStatus.PENDING:
        return None
    lacking = shortage(demand_of(details), nodes) if nodes else None
    never = f"no node of this Ray can ever run it ({lacking})" if lacking else ""
    return "; ".join(part for part in (never, details.message) if part) or None


def demand_of(details: JobDetails) -> dict[str, float]:
    """Return what a job that waits has asked for, as far as Fray has submitted it."""
    if details.status is not JobStatus.PENDING or _DEMAND not in details.metadata:
        return {}
    try:
        found: Any = json.loads(details.metadata[_DEMAND])
        return {str(name): float(amount) for name, amount in found.items()}
    except (ValueError, TypeError, AttributeError):
        return {}
