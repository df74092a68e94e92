"""The three methods that every object that starts jobs has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from fray.types import RuntimeEnv

__all__ = ["ClusterContext"]


class ClusterContext(ABC):
    """Starts, lists and stops jobs that are shell commands."""

    @abstractmethod
    def create_job(self, entrypoint: str, env: RuntimeEnv) -> str:
        """Start a job and return its id, which no other job has.

        Args:
            entrypoint: shell command, such as ``"python train.py --steps 100"``.
            env: packages, environment variables and image of the job.
        """

    @abstractmethod
    def list_jobs(self) -> Sequence[Any]:
        """Return what is known of each job."""

    @abstractmethod
    def delete_job(self, job_id: str) -> None:
        """Stop a job."""
