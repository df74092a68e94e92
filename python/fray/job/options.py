"""What the options of tasks and of actors and runtime environments have in common.

Each has a module of its own, because to make a data class takes two milliseconds of the start of each program.
"""

from __future__ import annotations

from fray._checked_keywords import CheckedKeywords

__all__ = ["MOST_PRIORITY", "Options", "check_priority"]

MOST_PRIORITY = 1000
"""Highest priority of a task or an actor; the lowest is as far below 0."""
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


class Options(CheckedKeywords):
    """Base of options: their errors name the field for a keyword of Ray."""

    __slots__ = ()

    KEYWORD_HINTS = _HINTS


def check_priority(value: object, what: str) -> None:
    """Raise TypeError or ValueError for a priority of `what` that is none."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(
            f"{what}: priority must be a whole number from {-MOST_PRIORITY} to {MOST_PRIORITY}, got {value!r}"
        )
    if not -MOST_PRIORITY <= value <= MOST_PRIORITY:
        raise ValueError(f"{what}: priority must be from {-MOST_PRIORITY} to {MOST_PRIORITY}, got {value}")
