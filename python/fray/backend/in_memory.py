"""What runs in this process alone: the sync context, and a cluster that starts no jobs."""

from __future__ import annotations

from typing import Any

from fray.backend.local.sync import LocalJobContext
from fray.cluster.context import ClusterContext
from fray.types import RuntimeEnv

__all__ = ["LocalClusterContext", "LocalJobContext"]


class LocalClusterContext(ClusterContext):
    """The cluster of programs that run in memory: it has no jobs."""

    def create_job(self, entrypoint: str, env: RuntimeEnv | None = None) -> str:
        """Raise NotImplementedError: a shell command is no program of this process."""
        raise NotImplementedError(
            "In-memory backend doesn't support create_job with string entrypoints. Use LocalCluster or "
            "RayClusterContext for jobs, or create_task for work in this process."
        )

    def list_jobs(self) -> list[dict[str, Any]]:
        """Return no jobs."""
        return []

    def delete_job(self, job_id: str) -> None:
        """Raise KeyError: there is no job."""
        raise KeyError(f"there is no job {job_id}: the in-memory backend has none")
