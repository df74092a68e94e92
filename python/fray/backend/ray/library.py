"""Ray itself, untyped: Ray's annotations are too incomplete for strict checking, so the backend imports it here."""

from __future__ import annotations

import importlib
from typing import Any

from fray._extras import needs
from fray._reductions import REDUCTIONS

__all__ = ["actor_of", "cloudpickle", "global_worker", "node_affinity", "part_of_group", "ray", "theirs"]

with needs("ray", "ray", "the Ray backend"):
    ray: Any = importlib.import_module("ray")
    theirs: Any = importlib.import_module("ray.exceptions")
    """Ray's exceptions."""
    cloudpickle: Any = importlib.import_module("ray.cloudpickle")
    cloudpickle.CloudPickler.dispatch_table.update(REDUCTIONS)  # nothing that it can pickle itself
    global_worker: Any = importlib.import_module("ray._private.worker").global_worker
    """Ray's connection of this process."""


def node_affinity(node_id: str) -> Any:
    """Return the strategy that puts a task or actor onto one node, or nowhere."""
    strategies: Any = importlib.import_module("ray.util.scheduling_strategies")
    return strategies.NodeAffinitySchedulingStrategy(node_id, soft=False)


def part_of_group(group: Any, number: int) -> Any:
    """Return the strategy that puts a task into one bundle of a placement group."""
    strategies: Any = importlib.import_module("ray.util.scheduling_strategies")
    return strategies.PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=number)


def actor_of(ref: Any) -> str | None:
    """Return the id of the actor whose call makes the object of Ray's `ref`; None where a task makes it."""
    actor_id: str = ref.task_id().actor_id().hex()
    return None if actor_id.startswith(_NO_ACTOR) else actor_id


_NO_ACTOR = "f" * 24
"""The first part of the id in the place of that of an actor."""
