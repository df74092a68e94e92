"""The order for one job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from fray._checks import CheckedKeywords, check_count
from fray.cluster.entrypoint import Entrypoint
from fray.cluster.environment import EnvironmentConfig
from fray.cluster.resources import ResourceConfig

__all__ = ["JobRequest"]

_MAX_NAME_LENGTH = 255


@dataclass(frozen=True, slots=True)
class JobRequest(CheckedKeywords):
    """The order for one job.

    Args:
        name: shown in lists and logs, part of the job's id: up to 255 printable characters without spaces.
        entrypoint: what it runs.
        resources: what each replica needs.
        environment: where its code and packages come from; None for that of `create_environment`.
        max_retries_failure: attempts after the first one that failed by itself.
        max_retries_preemption: attempts after one whose machine was taken away; counted apart.
        replicas: equal processes; by default those of `resources`. Give it again where `dataclasses.replace` changes
            `resources`.
        max_processes: processes and threads of all replicas together, where it runs on this machine; None for no limit.
        max_files: open files of each process, where it runs on this machine; None for no limit.
    """

    KEYWORD_HINTS: ClassVar[Mapping[str, str]] = {
        "command": "entrypoint=Entrypoint.from_binary(...)",
        "entrypoint_args": "entrypoint=Entrypoint.from_callable(f, args=[...])",
        "env": "environment=create_environment(env_vars={...})",
        "env_vars": "environment=create_environment(env_vars={...})",
        "max_retries": "max_retries_failure=n",
        "num_replicas": "replicas=n",
    }

    name: str
    entrypoint: Entrypoint
    resources: ResourceConfig = field(default_factory=ResourceConfig)
    environment: EnvironmentConfig | None = None
    max_retries_failure: int = 0
    max_retries_preemption: int = 100
    replicas: int | None = None
    max_processes: int | None = None
    max_files: int | None = None

    def __post_init__(self) -> None:
        _check_job_name(self.name)
        _check_kind(self.entrypoint, Entrypoint, "entrypoint", "Entrypoint.from_callable(...) or from_binary(...)")
        _check_kind(self.resources, ResourceConfig, "resources", "ResourceConfig(...)")
        if self.environment is not None:
            _check_kind(self.environment, EnvironmentConfig, "environment", "create_environment(...) or None")
        check_count(self.max_retries_failure, 0, "JobRequest: max_retries_failure")
        check_count(self.max_retries_preemption, 0, "JobRequest: max_retries_preemption")
        if self.replicas is None:
            object.__setattr__(self, "replicas", self.resources.replicas)
        check_count(self.replicas, 1, "JobRequest: replicas")
        if self.max_processes is not None:
            check_count(self.max_processes, 1, "JobRequest: max_processes")
        if self.max_files is not None:
            check_count(self.max_files, 1, "JobRequest: max_files")


def _check_job_name(name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f"JobRequest: name must be text, got {name!r}")
    if " " in name:
        raise ValueError(f"Job name must not contain spaces, got {name!r}; {name.strip().replace(' ', '-')!r} would do")
    if not 1 <= len(name) <= _MAX_NAME_LENGTH:
        raise ValueError(f"Job name must have 1 to {_MAX_NAME_LENGTH} characters, got {len(name)}")
    if not name.isprintable():
        raise ValueError(f"Job name must consist of printable characters, got {name!r}")


def _check_kind(value: object, kind: type, field_name: str, allowed: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"JobRequest: {field_name} must be {allowed}, got {value!r}")
