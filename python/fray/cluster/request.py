"""The request for one job."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, cast

from fray._checked_keywords import CheckedKeywords
from fray._checks import check_count
from fray._units import is_finite
from fray.cluster.entrypoint import Entrypoint
from fray.cluster.environment import EnvironmentConfig
from fray.cluster.resources import ResourceConfig

__all__ = ["JobRequest"]

_MAX_NAME_BYTES = 255
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_MOST_PRIORITY = 1_000_000
"""Highest priority of a job; the lowest is as far below 0."""


@dataclass(frozen=True, slots=True)
class JobRequest(CheckedKeywords):
    """The request for one job.

    Args:
        name: shown in lists and logs, part of the job's id: up to 255 bytes of printable characters, without spaces
            and slashes.
        entrypoint: what it runs.
        resources: what each replica needs.
        environment: where its code and packages come from; None for that of `create_environment`.
        max_retries_failure: further attempts after attempts that failed by themselves.
        max_retries_preemption: further attempts after preemptions, where a machine was lost; counted separately.
        replicas: equal processes; by default those of `resources`. Give it again where `dataclasses.replace` changes
            `resources`.
        max_processes: processes and threads of all replicas together, where it runs on this machine; None for no limit.
        max_files: open files of each process, where it runs on this machine; None for no limit.
        priority: jobs with a higher one start first.
        deadline_seconds: time from the first start on, over all attempts, after which the job fails; None for no limit.
        grace_seconds: time between the signal that asks a process to end and the one that ends it; None for the
            cluster's usual time, 5 seconds on this machine.
        id: id of the job, so that a second submission of it is refused; None for a new id.
        metadata: texts by name, shown with the job.
    """

    KEYWORD_HINTS: ClassVar[Mapping[str, str]] = {
        "command": "entrypoint=Entrypoint.from_binary(...)",
        "entrypoint_args": "entrypoint=Entrypoint.from_callable(f, args=[...])",
        "env": "environment=create_environment(env_vars={...})",
        "env_vars": "environment=create_environment(env_vars={...})",
        "max_retries": "max_retries_failure=n",
        "deadline": "deadline_seconds=n",
        "grace": "grace_seconds=n",
        "timeout": "deadline_seconds=n",
        "num_replicas": "replicas=n",
        "job_id": "id='...'",
        "submission_id": "id='...'",
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
    priority: int = 0
    deadline_seconds: float | None = None
    grace_seconds: float | None = None
    id: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])

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
        check_count(self.priority, -_MOST_PRIORITY, "JobRequest: priority")
        if self.priority > _MOST_PRIORITY:
            raise ValueError(f"JobRequest: priority must be at most {_MOST_PRIORITY}, got {self.priority}")
        for name in ("deadline_seconds", "grace_seconds"):
            _check_seconds(getattr(self, name), name)
        if self.id is not None and not (isinstance(self.id, str) and _ID.fullmatch(self.id)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(
                "JobRequest: id must have 1 to 128 letters, digits, '.', '_' and '-', and begin with neither '.' nor "
                f"'-'; got {self.id!r}"
            )
        object.__setattr__(self, "metadata", _checked_texts(self.metadata))


def _check_job_name(name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f"JobRequest: name must be text, got {name!r}")
    if " " in name:
        without = "-".join(name.split())
        hint = f"; {without!r} would do" if without else ""
        raise ValueError(f"Job name must not contain spaces, got {name!r}{hint}")
    if "/" in name:
        raise ValueError(f"Job name must not contain slashes, got {name!r}; {name.replace('/', '-')!r} would do")
    if not name.isprintable():
        raise ValueError(f"Job name must consist of printable characters, got {name!r}")
    if not 1 <= len(name.encode()) <= _MAX_NAME_BYTES:
        raise ValueError(f"Job name must have 1 to {_MAX_NAME_BYTES} bytes, got {len(name.encode())}")


def _check_seconds(value: object, field_name: str) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"JobRequest: {field_name} must be a number of seconds or None, got {value!r}")
    if not is_finite(value) or value < 0:
        raise ValueError(f"JobRequest: {field_name} must be a finite number of at least 0, got {value!r}")
    if value == 0 and field_name == "deadline_seconds":
        raise ValueError("JobRequest: deadline_seconds must be above 0; leave it out for no deadline")


def _checked_texts(value: object) -> dict[str, str]:
    given = dict(cast("Mapping[object, object]", value)) if isinstance(value, Mapping) else {None: None}
    for name, text in given.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise TypeError(f"JobRequest: metadata must be a dict of text to text, got {value!r}")
    return cast("dict[str, str]", given)


def _check_kind(value: object, kind: type, field_name: str, allowed: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"JobRequest: {field_name} must be {allowed}, got {value!r}")
