"""Ids of jobs, tasks and attempts: /user/job, /user/job/child, /user/job/0, /user/job/0:2."""

from __future__ import annotations


class WrongNameError(ValueError):
    """A text that is no id."""


def parts_of(job_id: str) -> list[str]:
    """The components of a job's id.

    Raises:
        WrongNameError: it is none.
    """
    parts = job_id[1:].split("/") if job_id.startswith("/") else []
    if len(parts) < 2:
        raise WrongNameError(f"Job name must use canonical '/<user>/<job>[...]' format: {job_id}")
    if any(not part.strip() for part in parts):
        raise WrongNameError(f"Job name contains empty or whitespace-only component: {job_id}")
    return parts


def parent_of(job_id: str) -> str | None:
    """The id of the job that a child's name extends."""
    parts = parts_of(job_id)
    return "/" + "/".join(parts[:-1]) if len(parts) > 2 else None


def root_of(job_id: str) -> str:
    return "/" + "/".join(parts_of(job_id)[:2])


def task_id(job_id: str, index: int) -> str:
    return f"{job_id}/{index}"


def attempt_key(task: str, attempt: int) -> str:
    return f"{task}:{attempt}"


def split_task_id(text: str) -> tuple[str, int]:
    """The job's id and the index.

    Raises:
        WrongNameError: the text names no task.
    """
    parts = parts_of(text)
    if len(parts) < 3 or not parts[-1].isdigit():
        raise WrongNameError(f"{text} is no task")
    return "/" + "/".join(parts[:-1]), int(parts[-1])
