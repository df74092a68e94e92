"""One attempt at a function job: a Ray task for each replica, which start and end together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fray import errors
from fray.backend.ray.attempts import Ending, ending_of
from fray.backend.ray.ending import end_tasks
from fray.backend.ray.functions import remote_call
from fray.backend.ray.library import part_of_group, ray
from fray.backend.ray.options import resource_keywords
from fray.backend.ray.replica_process import ReplicaProcess

__all__ = ["ReplicaAttempt"]

_JOB_ONLY = ("working_dir", "excludes", "config")
"""Keys that Ray takes for a whole job, not for a task."""
_LOOK_SECONDS = 1.0


class ReplicaAttempt:
    """A task for each replica, with ``FRAY_REPLICA_ID`` and ``FRAY_REPLICA_COUNT``; one that fails ends the others.

    Several replicas that ask for resources are in a placement group, so that Ray starts all of them or none.
    """

    def __init__(
        self,
        context: Any,
        name: str,
        process: ReplicaProcess,
        count: int,
        demand: Mapping[str, float],
        runtime_env: dict[str, Any],
    ) -> None:
        self._context = context
        self._cancelled = False
        held = {resource: amount for resource, amount in demand.items() if amount > 0}
        self._group: Any = ray.util.placement_group([held] * count) if held and count > 1 else None
        submit = remote_call(context.namespace)
        own = {key: value for key, value in runtime_env.items() if key not in _JOB_ONLY}
        self._raws: list[Any] = []
        for replica in range(count):
            number = {"FRAY_REPLICA_ID": str(replica), "FRAY_REPLICA_COUNT": str(count)}
            keywords = {
                **resource_keywords(demand),
                "name": name,
                "max_retries": 0,
                "runtime_env": {**own, "env_vars": {**own.get("env_vars", {}), **number}},
            }
            if self._group is not None:
                keywords["scheduling_strategy"] = part_of_group(self._group, replica)
            self._raws.append(submit.options(**keywords).remote(process))

    def run(self) -> list[tuple[Ending, BaseException | None]]:
        """Wait for all replicas; see `Attempt`."""
        pending = list(self._raws)
        ends: dict[Any, tuple[Ending, BaseException | None]] = {}
        while pending:
            ready, pending = ray.wait(pending, num_returns=1, timeout=_LOOK_SECONDS, fetch_local=False)
            for raw in ready:
                ends[raw] = self._end_of(raw)
                if ends[raw][0] is not Ending.SUCCEEDED:
                    self.cancel()
        if self._group is not None:
            ray.util.remove_placement_group(self._group)
        return [ends[raw] for raw in self._raws]

    def cancel(self) -> None:
        """End every replica that runs."""
        if self._cancelled:
            return
        self._cancelled = True
        end_tasks(self._raws)

    def _end_of(self, raw: Any) -> tuple[Ending, BaseException | None]:
        was_cancelled = self._cancelled
        try:
            self._context.fetch(raw)
        except errors.WorkerDiedError as error:
            return (Ending.CANCELLED, None) if was_cancelled else (ending_of(error), error)
        except Exception as error:
            return ending_of(error), error
        return Ending.SUCCEEDED, None
