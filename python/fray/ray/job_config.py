"""`ray.job_config`: settings of a program in one object."""

from __future__ import annotations

from typing import Any

__all__ = ["JobConfig"]


class JobConfig:
    """What `init` may take its namespace and its runtime environment from; keeps what else it is given."""

    def __init__(self, runtime_env: Any = None, ray_namespace: str | None = None, **settings: Any) -> None:
        self.runtime_env = runtime_env
        self.ray_namespace = ray_namespace
        self.__dict__.update(settings)

    def set_ray_namespace(self, ray_namespace: str) -> None:
        self.ray_namespace = ray_namespace

    def set_runtime_env(self, runtime_env: Any, validate: bool = False) -> None:
        del validate
        self.runtime_env = runtime_env
