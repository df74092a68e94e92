"""`ActorOptions`: how one actor lives and runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, cast

from fray._checks import check_actor_name, check_count, check_flag
from fray._resources import check_resources
from fray.job.checks import check_runtime_env
from fray.job.options import Options, check_priority

if TYPE_CHECKING:
    from fray.job.runtime_env import RuntimeEnv

__all__ = ["HEAD_NODE_SHARE", "ActorOptions", "Lifetime"]

HEAD_NODE_SHARE = 0.0001
"""The amount of the resource ``head_node`` that a task or actor asks for to run on the head node."""


class Lifetime(StrEnum):
    """How long an actor lives."""

    DETACHED = "detached"
    """As long as the node."""
    JOB = "non_detached"
    """As long as the job tree that made it."""


@dataclass(frozen=True, slots=True)
class ActorOptions(Options):
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
        check_runtime_env(self.runtime_env, "ActorOptions")
        check_count(self.max_restarts, -1, "ActorOptions: max_restarts")
        check_count(self.max_task_retries, -1, "ActorOptions: max_task_retries")
        if self.max_concurrency is not None:
            check_count(self.max_concurrency, 1, "ActorOptions: max_concurrency")
        _check_pending(self.max_pending_calls)
        object.__setattr__(self, "annotations", _check_annotations(self.annotations))
        check_priority(self.priority, "ActorOptions")
        if self.name is None and self.get_if_exists:
            raise ValueError("ActorOptions: get_if_exists needs a name to look for")
        if self.name is None and self.is_detached():
            raise ValueError("ActorOptions: a detached actor needs a name, for nothing else would find it again")

    def is_detached(self) -> bool:
        """Return whether the actor lives as long as the node."""
        return self.lifetime is Lifetime.DETACHED

    def demand(self) -> dict[str, float]:
        """Return the resources that the actor holds while it lives, with the defaults filled in."""
        head = {"head_node": HEAD_NODE_SHARE} if self.schedule_on_head else {}
        return {"CPU": 0, **head, **self.resources}

    def shape(self) -> dict[str, Any]:
        """Return what a worker must have for the actor, by the names that the engine knows it by."""
        return {"resources": self.demand(), "priority": self.priority}


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


def _check_lifetime(lifetime: object) -> Lifetime:
    try:
        return Lifetime(cast("str", lifetime))
    except ValueError:
        known = ", ".join(repr(str(item)) for item in Lifetime)
        raise ValueError(f"ActorOptions: unknown lifetime {lifetime!r}; known are {known}") from None
