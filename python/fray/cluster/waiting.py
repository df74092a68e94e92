"""Checks the arguments of every cluster's `wait`, and makes the errors that it raises."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from fray._checks import check_amount
from fray.cluster.status import JobInfo, JobStatus
from fray.errors import JobFailedError
from fray.job.checks import LONGEST_SECONDS

__all__ = ["check_timeout", "jobs_failed", "time_is_over", "wanted_ids"]


def wanted_ids(job_id: object) -> list[str]:
    """Return the ids that `wait` was called with.

    Raises:
        TypeError: `job_id` is neither an id nor a sequence of ids.
    """
    if isinstance(job_id, str):
        return [job_id]
    ids = list(cast("Iterable[object]", job_id)) if isinstance(job_id, Iterable) else [job_id]
    for one in ids:
        if not isinstance(one, str):
            raise TypeError(
                f"wait needs the id of a job, or a list of ids, got {one!r}; launch() returns an id, and "
                "a JobHandle has its own wait() and job_id"
            )
    return cast("list[str]", ids)


def check_timeout(timeout: float | None) -> float | None:
    """Return `timeout`, or None (no limit) for one that is longer than any wait.

    Raises:
        TypeError, ValueError: it is neither None nor a finite number of seconds of at least 0.
    """
    if timeout is None or (isinstance(timeout, int) and timeout > LONGEST_SECONDS):
        return None
    check_amount(timeout, "wait: timeout")
    return timeout if timeout < LONGEST_SECONDS else None


def time_is_over(infos: Sequence[JobInfo]) -> TimeoutError:
    """Return the error of a wait whose timeout passed before all these jobs had ended."""
    going = [info for info in infos if not JobStatus.finished(info.status)]
    if len(going) == 1:
        return TimeoutError(f"job {going[0].job_id} is still {going[0].status}; it goes on")
    named = ", ".join(f"{info.job_id} ({info.status})" for info in going[:3])
    more = f" and {len(going) - 3} more" if len(going) > 3 else ""
    return TimeoutError(f"{len(going)} jobs have not ended: {named}{more}; they go on")


def jobs_failed(infos: Sequence[JobInfo]) -> JobFailedError | None:
    """Return the error that names every job that has not succeeded; None where there is no such job."""
    failed = [info for info in infos if info.status is not JobStatus.SUCCEEDED]
    if not failed:
        return None
    parts = "; ".join(f"{info.job_id}: {info.error_message or info.status}" for info in failed)
    return JobFailedError(f"{len(failed)} job(s) failed: {parts}", failed[0].job_id, failed[0].status)
