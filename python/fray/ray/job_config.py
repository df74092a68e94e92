"""`ray.job_config`: taken by `init` and ignored."""

from __future__ import annotations

from typing import Any

__all__ = ["JobConfig"]


class JobConfig:
    """What a job on a cluster is started with; keeps what it is given."""

    def __init__(self, **settings: Any) -> None:
        self.__dict__.update(settings)
