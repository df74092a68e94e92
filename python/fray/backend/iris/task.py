"""`IrisTask`: what the variables of an Iris task say of the process that has them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

from fray.errors import UnsupportedError

__all__ = ["SECRET_VARIABLE", "IrisTask", "current_task", "node_settings", "secret"]

SECRET_VARIABLE = "FRAY_JOB_SECRET"
"""Set by the client for every job of a tree; the controller hides the value because of its name (job_secret.h)."""


@dataclass(frozen=True, slots=True)
class IrisTask:
    """A task of an Iris job, and its attempt.

    Args:
        task: id of the task, such as ``/user/job/0``.
        attempt: number of the attempt, 0 for the first.
        controller: URL of the cluster's controller.
    """

    task: str
    attempt: int
    controller: str

    @property
    def job(self) -> str:
        """The id of its job."""
        return self.task.rpartition("/")[0]

    @property
    def root(self) -> str:
        """The id of the job at the root of its tree."""
        return "/".join(self.task.split("/")[:3])

    @property
    def user(self) -> str:
        """The user that the job belongs to."""
        return self.task.split("/")[1]


def current_task() -> IrisTask:
    """Return the task that this process is part of.

    Raises:
        UnsupportedError: this process is not part of a task.
    """
    task, _, attempt = os.environ.get("IRIS_TASK_ID", "").partition(":")
    controller = os.environ.get("IRIS_CONTROLLER_URL") or os.environ.get("IRIS_CONTROLLER_ADDRESS", "")
    if len(task.split("/")) < 4 or not controller:
        raise UnsupportedError(
            "this process is no task of an Iris job (IRIS_TASK_ID and IRIS_CONTROLLER_URL are not set), and tasks and "
            "actors run inside such jobs only; launch the program there with create_cluster('iris?controller=...'), or "
            "use 'local', 'thread' or 'sync' here"
        )
    return IrisTask(task, int(attempt or 0), controller)


def secret() -> bytes:
    """Return the secret of the root job.

    Raises:
        UnsupportedError: the root job has no secret.
    """
    found = os.environ.get(SECRET_VARIABLE, "")
    if not found:
        raise UnsupportedError(
            f"this Iris job has no {SECRET_VARIABLE}, without which its named actors would run what strangers send; "
            f"launch the root job with Fray, or give it the variable with a random value of your own"
        )
    return found.encode()


def node_settings() -> dict[str, Any]:
    """Return the settings of a node with the resources that Iris gave the task; it has at least one CPU."""
    given = json.loads(os.environ.get("IRIS_TASK_RESOURCES") or "{}")
    settings: dict[str, Any] = {"cpus": max(1.0, int(given.get("cpu_millicores", 0)) / 1000)}
    if int(given.get("memory_bytes", 0)):
        settings["memory"] = int(given["memory_bytes"])
    device = given.get("device", {})
    devices = {kind.upper(): float(device[kind].get("count", 1)) for kind in ("gpu", "tpu") if kind in device}
    return {**settings, "resources": devices} if devices else settings
