"""The calls of the actor that this process is: one that runs them one at a time cannot wait for a later one."""

from __future__ import annotations

from typing import Any

from fray import errors
from fray.backend.ray.library import actor_of, ray

__all__ = ["become_serial_actor", "check_can_come", "is_serial_actor"]

_serial_actor: str | None = None


def become_serial_actor(actor_id: str) -> None:
    """Note that this process is that actor, which runs one call at a time."""
    global _serial_actor
    _serial_actor = actor_id


def is_serial_actor() -> bool:
    """Return whether this process is an actor that runs one call at a time."""
    return _serial_actor is not None


def check_can_come(ref: Any, timeout: float | None) -> None:
    """Raise DeadlockError where a wait for `ref` in this process would never end."""
    if _serial_actor is None or timeout is not None:
        return
    raw = ref.task_ref()
    if actor_of(raw) == _serial_actor and not ray.wait([raw], timeout=0, fetch_local=False)[0]:
        raise errors.DeadlockError(
            "the result can never come: it is that of a later call of this actor, which runs one call at a time; "
            "do not wait for it here, await it in an async method, or raise max_concurrency"
        )
