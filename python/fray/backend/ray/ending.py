"""Ends running tasks of Ray: interrupts them first, and kills those that do not end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fray.backend.ray.library import ray

__all__ = ["end_tasks"]

_GRACE_SECONDS = 3.0


def end_tasks(raws: Sequence[Any], grace_seconds: float = _GRACE_SECONDS) -> None:
    """End those of the tasks that have not ended.

    Tasks that have ended are left alone: a forced cancel of a task that is just ending makes Ray abort the calling
    process (seen with Ray 2.60).
    """
    for force in (False, True):
        running = list(raws)
        if running:
            _, running = ray.wait(running, num_returns=len(running), timeout=0, fetch_local=False)
        if not running:
            return
        for raw in running:
            ray.cancel(raw, force=force)
        ray.wait(running, num_returns=len(running), timeout=grace_seconds, fetch_local=False)
