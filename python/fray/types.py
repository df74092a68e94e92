"""The values that programs pass to Fray: options of tasks and actors, runtime environments, requests for jobs.

All are frozen: make a changed copy with `dataclasses.replace`. Each is checked when it is made, so that a mistake is
reported at the line that has it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from fray._checked_keywords import CheckedKeywords
from fray._checks import (
    MOST_RETURNS,
    check_actor_name,
    check_count,
    check_env,
    check_flag,
    check_name,
    check_text,
    text_list,
)
from fray._lazy import lazy_attribute
from fray._passwords import without_passwords
from fray._resources import check_resources
from fray._units import is_finite
from fray._version import VERSION

if TYPE_CHECKING:  # from the modules that have them, which know nothing of this one
    from fray.cluster.devices import CpuConfig, DeviceConfig, DeviceKind, GpuConfig, GpuType, TpuConfig
    from fray.cluster.entrypoint import BinaryEntrypoint, CallableEntrypoint, Entrypoint
    from fray.cluster.environment import EnvironmentConfig, create_environment
    from fray.cluster.request import JobRequest
    from fray.cluster.resources import ResourceConfig
    from fray.cluster.status import JobId, JobInfo, JobStatus, TaskStatus
    from fray.cluster.tpu_topology import TpuTopologyInfo, TpuType, get_tpu_topology

    JobContext: TypeAlias = Any  # its module stands on this one

__all__ = [
    "VERSION",
    "ActorOptions",
    "BinaryEntrypoint",
    "CallableEntrypoint",
    "CpuConfig",
    "DeviceConfig",
    "DeviceKind",
    "EntryPoint",
    "Entrypoint",
    "EnvironmentConfig",
    "GpuConfig",
    "GpuType",
    "JobId",
    "JobInfo",
    "JobRequest",
    "JobStatus",
    "Lifetime",
    "ResourceConfig",
    "RuntimeEnv",
    "TaskOptions",
    "TaskStatus",
    "TpuConfig",
    "TpuTopologyInfo",
    "TpuType",
    "create_environment",
    "get_tpu_topology",
]

HEAD_NODE_SHARE = 0.0001
"""The amount of the resource ``head_node`` that a task or actor asks for to run on the head node."""
MOST_PRIORITY = 1000
"""Highest priority of a task or an actor; the lowest is as far below 0."""
_ALLOWED_OPTIONS = ("--index-url", "--extra-index-url", "--find-links", "--no-index", "--pre")
"""Options of requirements files that `RuntimeEnv.package_requirements` may have."""

EntryPoint: TypeAlias = str | Callable[["JobContext"], None]
"""What a job runs: a shell command, or a function whose argument is the job's `JobContext`."""

# Keywords that users of other systems write, each with a hint that names Fray's keyword.
_HINTS = {
    "num_cpus": "resources={'CPU': n}",
    "num_gpus": "resources={'GPU': n}",
    "memory": "resources={'memory': bytes}",
    "pip": "package_requirements=[...]",
    "container": "container_image='...'",
    "env_vars": "env={...}",
    "image": "container_image='...'",
    "retries": "max_retries=n",
    "preemptible": "schedule_on_head=True",
    "timeout_s": "timeout=seconds",
}


class Lifetime(StrEnum):
    """How long an actor lives."""

    DETACHED = "detached"
    """As long as the node."""
    JOB = "non_detached"
    """As long as the job tree that made it."""


class _Options(CheckedKeywords):
    """Base of the options below: its errors name the field for a keyword of Ray."""

    __slots__ = ()

    KEYWORD_HINTS = _HINTS


@dataclass(frozen=True, slots=True, repr=False)
class RuntimeEnv(_Options):
    """The environment of a task, an actor or a job.

    Args:
        package_requirements: requirement lines such as ``"numpy>=2"``. Packages that the driver's environment has are
            used from there; missing ones are installed beside it, once, before the code runs.
        env: environment variables added to those of the driver.
        container_image: container image that the code runs in; packages do not apply then.
        conda: specs of conda packages, such as ``"numpy=2"``, instead of `package_requirements`.
        working_dir: folder or archive; the current folder of the code is a snapshot of it.
    """

    package_requirements: Sequence[str] = field(default_factory=list[str])
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    container_image: str | None = None
    conda: Sequence[str] = field(default_factory=list[str])
    working_dir: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "package_requirements", _requirement_lines(self.package_requirements))
        object.__setattr__(self, "conda", text_list(self.conda, "RuntimeEnv: conda"))
        if self.conda and self.package_requirements:
            raise ValueError(
                "RuntimeEnv: package_requirements and conda both say which packages there are; give one of them"
            )
        object.__setattr__(self, "env", check_env(self.env, "RuntimeEnv: env"))
        image = cast("object", self.container_image)
        if image is not None and (not isinstance(image, str) or not image):
            raise TypeError(f"RuntimeEnv: container_image must be the name of an image or None, got {image!r}")
        if image is not None and (image.startswith("-") or any(letter.isspace() for letter in image)):
            raise ValueError(f"RuntimeEnv: container_image must be the name of an image, got {image!r}")
        if isinstance(self.working_dir, os.PathLike):
            object.__setattr__(self, "working_dir", os.fspath(cast("os.PathLike[str]", self.working_dir)))
        if self.working_dir is not None:
            check_text(self.working_dir, "RuntimeEnv: working_dir")

    def __repr__(self) -> str:
        """Show neither the values of the variables nor the passwords of addresses, which may be secrets."""
        names = ", ".join(f"{name!r}: ..." for name in self.env)
        requirements = [without_passwords(line) for line in self.package_requirements]
        return (
            f"RuntimeEnv(package_requirements={requirements!r}, env={{{names}}}, "
            f"container_image={self.container_image!r}, conda={self.conda!r}, working_dir={self.working_dir!r})"
        )


@dataclass(frozen=True, slots=True)
class TaskOptions(_Options):
    """How one task runs.

    Args:
        name: shown in status, errors and timelines; by default the function's name.
        resources: what the task holds while it runs: ``CPU``, ``GPU``, ``memory`` (bytes) and custom names. One CPU
            where ``CPU`` is not given; ``{"CPU": 0}`` asks for none. On the native engine a task that uses much more
            memory than it asked for is killed (`OutOfMemoryError`).
        max_calls: the worker process ends after this many calls of the function; None for never.
        max_retries: attempts after the first when a worker dies or, with `retry_exceptions`, when the function
            raises; -1 for no limit.
        retry_exceptions: True to retry after any exception, or the exception types to retry after.
        timeout: seconds that one attempt may run, counted from its start.
        num_returns: number of refs that `create_task` returns, at most 65,535; the function then returns that many
            values.
        runtime_env: environment that the task runs in.
        priority: a whole number from -1000 to 1000; of the tasks that wait, higher ones are placed first. One that
            waits gains a step each second, up to the highest that waits, so none waits forever.
    """

    name: str | None = None
    resources: Mapping[str, float] = field(default_factory=dict[str, float])
    max_calls: int | None = None
    max_retries: int = 3
    retry_exceptions: bool | tuple[type[BaseException], ...] = False
    timeout: float | None = None
    num_returns: int = 1
    runtime_env: RuntimeEnv | None = None
    priority: int = 0

    def __post_init__(self) -> None:
        check_name(self.name, "TaskOptions")
        object.__setattr__(self, "resources", check_resources(self.resources, "TaskOptions"))
        if self.max_calls is not None:
            check_count(self.max_calls, 1, "TaskOptions: max_calls")
        check_count(self.max_retries, -1, "TaskOptions: max_retries")
        object.__setattr__(self, "retry_exceptions", _check_retry_types(self.retry_exceptions))
        _check_timeout(self.timeout)
        check_count(self.num_returns, 1, "TaskOptions: num_returns", MOST_RETURNS)
        _check_runtime_env(self.runtime_env, "TaskOptions")
        _check_priority(self.priority, "TaskOptions")

    def demand(self) -> dict[str, float]:
        """Return the resources that the task holds while it runs, with the default of one CPU filled in."""
        return {"CPU": 1, **self.resources}

    def shape(self) -> dict[str, Any]:
        """Return what a worker must have for the task, by the names that the engine knows it by."""
        return {"resources": self.demand(), "priority": self.priority}


@dataclass(frozen=True, slots=True)
class ActorOptions(_Options):
    """How one actor lives and runs.

    Args:
        name: name by which `get_actor` finds it, unique in its namespace: up to 255 printable characters.
        get_if_exists: return the actor of that name if there is one; class, arguments and options are then ignored.
        lifetime: how long it lives; the texts ``"detached"``, which needs a name, and ``"non_detached"`` are accepted.
        resources: what the actor holds while it lives, no CPU by default.
        max_restarts: how often the actor is restarted, with a new state, after its process died; -1 for no limit.
        max_task_retries: attempts after the first for a call that ran when the process died; -1 for no limit.
        max_concurrency: calls that run at the same time; by default 1000 where the class has an ``async def``
            among its methods, else 1.
        runtime_env: environment that the actor runs in.
        namespace: the namespace of its name; by default that of the context.
        schedule_on_head: short for ``resources={"head_node": 0.0001}``.
        max_pending_calls: calls of one process that have not ended, before the next one is refused; -1 for no limit.
        annotations: texts that every handle of the actor carries, for libraries; Fray itself does not read them.
        priority: as that of `TaskOptions`, while the actor waits for a worker: at first, and after a restart.
    """

    name: str | None = None
    get_if_exists: bool = False
    lifetime: Lifetime = Lifetime.JOB
    resources: Mapping[str, float] = field(default_factory=dict[str, float])
    max_restarts: int = 0
    max_task_retries: int = 0
    max_concurrency: int | None = None
    runtime_env: RuntimeEnv | None = None
    namespace: str | None = None
    schedule_on_head: bool = False
    max_pending_calls: int = -1
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    priority: int = 0

    def __post_init__(self) -> None:
        if self.name is not None:
            check_actor_name(self.name, "ActorOptions: name")
        if self.namespace is not None:
            check_actor_name(self.namespace, "ActorOptions: namespace")
        check_flag(self.get_if_exists, "ActorOptions: get_if_exists")
        check_flag(self.schedule_on_head, "ActorOptions: schedule_on_head")
        object.__setattr__(self, "lifetime", _check_lifetime(self.lifetime))
        object.__setattr__(self, "resources", check_resources(self.resources, "ActorOptions"))
        _check_runtime_env(self.runtime_env, "ActorOptions")
        check_count(self.max_restarts, -1, "ActorOptions: max_restarts")
        check_count(self.max_task_retries, -1, "ActorOptions: max_task_retries")
        if self.max_concurrency is not None:
            check_count(self.max_concurrency, 1, "ActorOptions: max_concurrency")
        _check_pending(self.max_pending_calls)
        object.__setattr__(self, "annotations", _check_annotations(self.annotations))
        _check_priority(self.priority, "ActorOptions")
        if self.name is None and self.get_if_exists:
            raise ValueError("ActorOptions: get_if_exists needs a name to look for")
        if self.name is None and self.lifetime is Lifetime.DETACHED:
            raise ValueError("ActorOptions: a detached actor needs a name, for nothing else would find it again")

    def demand(self) -> dict[str, float]:
        """Return the resources that the actor holds while it lives, with the defaults filled in."""
        head = {"head_node": HEAD_NODE_SHARE} if self.schedule_on_head else {}
        return {"CPU": 0, **head, **self.resources}

    def shape(self) -> dict[str, Any]:
        """Return what a worker must have for the actor, by the names that the engine knows it by."""
        return {"resources": self.demand(), "priority": self.priority}


def _requirement_lines(values: object) -> list[str]:
    lines = text_list(values, "RuntimeEnv: package_requirements")
    for line in lines:
        check_text(line, "RuntimeEnv: package_requirements: an item")
        if "\n" in line or "\r" in line:
            raise ValueError(f"RuntimeEnv: package_requirements: one requirement an item, got {line!r}")
        option = line.strip().split(maxsplit=1)[0].split("=")[0]
        if option.startswith("-") and option not in _ALLOWED_OPTIONS:
            raise ValueError(
                f"RuntimeEnv: package_requirements: {option!r} is not allowed, only requirements and "
                f"{', '.join(_ALLOWED_OPTIONS)}; write the lines of a requirements file here"
            )
    return lines


def _check_priority(value: object, what: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(
            f"{what}: priority must be a whole number from {-MOST_PRIORITY} to {MOST_PRIORITY}, got {value!r}"
        )
    if not -MOST_PRIORITY <= value <= MOST_PRIORITY:
        raise ValueError(f"{what}: priority must be from {-MOST_PRIORITY} to {MOST_PRIORITY}, got {value}")


def _check_pending(value: object) -> None:
    check_count(value, -1, "ActorOptions: max_pending_calls", 2**63 - 1)
    if value == 0:
        raise ValueError("ActorOptions: max_pending_calls must be at least 1, or -1 for no limit; 0 allows no call")


def _check_annotations(annotations: object) -> dict[str, str]:
    if not isinstance(annotations, Mapping) or not all(
        isinstance(text, str) for pair in cast("Mapping[object, object]", annotations).items() for text in pair
    ):
        raise TypeError(f"ActorOptions: annotations must be a dict of texts, got {annotations!r}")
    return dict(cast("Mapping[str, str]", annotations))


def _check_timeout(timeout: object) -> None:
    if timeout is None:
        return
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"TaskOptions: timeout must be seconds or None, got {timeout!r}")
    if not is_finite(timeout) or timeout <= 0:
        raise ValueError(f"TaskOptions: timeout must be a finite number of seconds above 0, got {timeout!r}")


def _check_retry_types(allowed: object) -> bool | tuple[type[BaseException], ...]:
    if isinstance(allowed, bool):
        return allowed
    if isinstance(allowed, type):
        allowed = (allowed,)
    if isinstance(allowed, (list, tuple)):
        kinds = tuple(cast("Sequence[object]", allowed))
        if all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in kinds):
            return cast("tuple[type[BaseException], ...]", kinds)
    raise TypeError(f"TaskOptions: retry_exceptions must be True, False or a tuple of exception types, got {allowed!r}")


def _check_lifetime(lifetime: object) -> Lifetime:
    try:
        return Lifetime(cast("str", lifetime))
    except ValueError:
        known = ", ".join(repr(str(item)) for item in Lifetime)
        raise ValueError(f"ActorOptions: unknown lifetime {lifetime!r}; known are {known}") from None


def _check_runtime_env(env: object, owner: str) -> None:
    if env is not None and not isinstance(env, RuntimeEnv):
        raise TypeError(f"{owner}: runtime_env must be a RuntimeEnv(...) or None, got {type(env).__name__}")


_LAZY = {name: ("fray.cluster", name) for name in __all__ if name not in globals()}
"""The types of jobs, which are defined in `fray.cluster`."""


def __getattr__(name: str) -> Any:
    return lazy_attribute(__name__, name, _LAZY)
