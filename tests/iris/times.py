"""`Times`: how long Iris takes for what it takes its time for, and the same for tests."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Times:
    """Seconds, as seen on a real controller.

    Attributes:
        log_batch: for how long a worker gathers lines before it sends them; the last ones come after the task's end.
        drain: for how long LaunchJob waits for the tasks of a job that it is to replace.
        kill_grace: a task that is killed earlier than this after its start lives on until then.
        timeout_sweep: how often tasks are looked at that run for too long.
        reconcile: how often a worker hears what it should run.
        schedule: how often what waits is looked at, when nothing happens.
    """

    log_batch: float = 1.0
    drain: float = 30.0
    kill_grace: float = 30.0
    timeout_sweep: float = 60.0
    reconcile: float = 0.2
    schedule: float = 1.0

    def scaled(self, factor: float) -> Times:
        return Times(**{field.name: getattr(self, field.name) * factor for field in fields(self)})
