"""`ContextConfig`: the arguments of `create_job_ctx` as a value that can be kept and passed on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fray.job.context import JobContext
from fray.job.factory import create_job_ctx

__all__ = ["ContextConfig"]


@dataclass
class ContextConfig:
    """The choice of a context.

    Args:
        context_type: as `create_job_ctx` takes it.
        max_workers: threads of a thread context, CPUs of a local one when more than 1.
        memory: bytes for each task, on Ray.
        num_cpus: CPUs for each task, on Ray.
        num_gpus: GPUs for each task, on Ray.
        ray_options: further options of tasks on Ray.
    """

    context_type: str = "auto"
    max_workers: int = 1
    memory: int | None = None
    num_cpus: float | None = None
    num_gpus: float | None = None
    ray_options: dict[str, Any] = field(default_factory=dict[str, Any])

    def create(self) -> JobContext:
        """Return a new context."""
        amounts = {"memory": self.memory, "num_cpus": self.num_cpus, "num_gpus": self.num_gpus}
        given = {name: amount for name, amount in amounts.items() if amount is not None}
        return create_job_ctx(self.context_type, max_workers=self.max_workers, **{**self.ray_options, **given})
