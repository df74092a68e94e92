"""What LaunchJob takes, and what it refuses in which words."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from tests.iris import names
from tests.iris.errors import ConnectError
from tests.iris.jobs import JOB, Job, JobTable
from tests.iris.messages import enum
from tests.iris.worker import Worker

_POLICY = enum("ExistingJobPolicy")
_BAND = enum("PriorityBand")
_OLDEST_CLIENT = timedelta(days=14)
_UNSTATED_CLIENT = "2026-04-22"
_STATE_NAMES = {number: f"JOB_STATE_{name}" for name, number in JOB.items()}


def check_age(job_id: str, revision: str) -> None:
    """Root jobs of clients that are older than two weeks are refused."""
    if names.parent_of(job_id) is not None:
        return
    stated = revision or _UNSTATED_CLIENT
    try:
        built = date.fromisoformat(stated)
    except ValueError:
        raise ConnectError("invalid_argument", f"Invalid client_revision_date: {stated!r}") from None
    oldest = date.today() - _OLDEST_CLIENT
    if built < oldest:
        raise ConnectError(
            "failed_precondition",
            f"marin-iris client is too old (build {built}; minimum {oldest}). "
            "Run `uv sync` or upgrade marin-iris and retry.",
        )


def check_parent(jobs: JobTable, job_id: str) -> None:
    parent = names.parent_of(job_id)
    if parent is None:
        return
    job = jobs.get(parent)
    if job is None:
        raise ConnectError("failed_precondition", f"Cannot submit job: parent job {parent} is absent from the database")
    if job.is_over:
        raise ConnectError(
            "failed_precondition",
            f"Cannot submit job: parent job {parent} has terminated (state={_STATE_NAMES[job.state]})",
        )


def check_band(band: int, role: str) -> None:
    if band == _BAND["PRODUCTION"] and role != "admin":
        raise ConnectError("permission_denied", "PRODUCTION jobs need the right to manage budgets")


def existing(job: Job, policy: int) -> str:
    """What is to be done with a job of the same id: keep, replace or recreate.

    Raises:
        ConnectError: the new one is refused.
    """
    if policy == _POLICY["ERROR"]:
        raise ConnectError("already_exists", f"Job {job.job_id} already exists (state={_STATE_NAMES[job.state]})")
    if policy == _POLICY["KEEP"] and not job.is_over:
        return "keep"
    if policy == _POLICY["RECREATE"] and not job.is_over:
        return "recreate"
    if job.is_over:
        return "replace"
    raise ConnectError("already_exists", f"Job {job.job_id} already exists and is still running")


def check_device(request: Any, job_id: str, workers: list[Worker]) -> None:
    """A device that no group of workers has is refused at once."""
    kind = request.resources.device.WhichOneof("device") if request.resources.HasField("device") else None
    if kind is None or kind == "cpu":
        return
    wanted = getattr(request.resources.device, kind).variant.lower()
    named = {
        constraint.key: [value.string_value.lower() for value in (constraint.values or [constraint.value])]
        for constraint in request.constraints
    }
    variants = named.get("device-variant", [wanted])
    if any(worker.device_type == kind and worker.device_variant in ("", *variants) for worker in workers):
        return
    groups = ", ".join(sorted({worker.group for worker in workers}))
    raise ConnectError(
        "failed_precondition",
        f"Job {job_id} is unschedulable: no scaling group provides device {kind}:{wanted} (available: {groups})",
    )
