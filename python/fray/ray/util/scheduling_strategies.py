"""`ray.util.scheduling_strategies`: where tasks and actors run, on one machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fray.errors import InfeasibleError
from fray.ray import _session

# fmt: off
__all__ = [
    "DoesNotExist", "Exists", "In", "NodeAffinitySchedulingStrategy", "NodeLabelSchedulingStrategy", "NotIn",
    "PlacementGroupSchedulingStrategy", "group_of", "in_group",
]
# fmt: on


class PlacementGroupSchedulingStrategy:
    """Runs a task or an actor with the resources of a placement group.

    Args:
        placement_group: the group.
        placement_group_bundle_index: the index of a bundle, -1 for any that has room.
        placement_group_capture_child_tasks: whether the tasks and actors that it starts run in the group too.
    """

    def __init__(
        self,
        placement_group: Any,
        placement_group_bundle_index: int = -1,
        placement_group_capture_child_tasks: bool | None = None,
    ) -> None:
        self.placement_group = placement_group
        self.placement_group_bundle_index = placement_group_bundle_index
        self.placement_group_capture_child_tasks = placement_group_capture_child_tasks


class NodeAffinitySchedulingStrategy:
    """Runs a task or an actor on a node, of which there is one.

    Args:
        node_id: its id in hexadecimal digits.
        soft: whether another node will do.
    """

    def __init__(
        self, node_id: Any, soft: bool, _spill_on_unavailable: bool = False, _fail_on_unavailable: bool = False
    ) -> None:
        self.node_id: str = node_id.hex() if hasattr(node_id, "hex") else node_id
        self.soft = soft
        try:
            size = len(bytes.fromhex(self.node_id))
        except ValueError:
            size = 0
        if size != 28:
            raise ValueError(f"Invalid node_id {self.node_id!r}: it has 56 hexadecimal digits, as ray.nodes() shows")


class In:
    """A label has one of these values."""

    def __init__(self, *values: str) -> None:
        self.values = list(values)

    def matches(self, value: str | None) -> bool:
        return value in self.values


class NotIn(In):
    """A label has none of these values."""

    def matches(self, value: str | None) -> bool:
        return value not in self.values


class Exists:
    """There is such a label."""

    def matches(self, value: str | None) -> bool:
        return value is not None


class DoesNotExist:
    """There is no such label."""

    def matches(self, value: str | None) -> bool:
        return value is None


class NodeLabelSchedulingStrategy:
    """Runs a task or an actor on a node with certain labels."""

    def __init__(self, hard: Mapping[str, Any] | None, *, soft: Mapping[str, Any] | None = None) -> None:
        for name, wanted in {**(hard or {}), **(soft or {})}.items():
            if not isinstance(wanted, (In, Exists, DoesNotExist)):
                raise ValueError(f"the label {name!r} must be matched with In, NotIn, Exists or DoesNotExist")
        self.hard = dict(hard or {})
        self.soft = dict(soft or {})


def in_group(options: Mapping[str, Any], group: Any) -> dict[str, Any]:
    """Return the options of a task or an actor that `group`, which captures child tasks, has captured."""
    return {**options, "scheduling_strategy": PlacementGroupSchedulingStrategy(group, -1, True)}


def group_of(strategy: Any) -> tuple[Any, int]:
    """Return the placement group of a strategy and the index of its bundle; no group where all of the node will do.

    Raises:
        ValueError: the strategy is none of this module's, nor a name that Ray knows.
        InfeasibleError: no node will ever do.
    """
    if isinstance(strategy, PlacementGroupSchedulingStrategy):
        group = strategy.placement_group
        if group is not None and not hasattr(group, "asks_for"):
            raise ValueError(f"placement_group must be a PlacementGroup, got {group!r}")
        return group, strategy.placement_group_bundle_index
    if isinstance(strategy, NodeAffinitySchedulingStrategy):
        if not strategy.soft and strategy.node_id != _session.node_id().hex():
            raise InfeasibleError(f"there is no node {strategy.node_id}, and the strategy is not soft")
    elif isinstance(strategy, NodeLabelSchedulingStrategy):
        labels = {"ray.io/node-id": _session.node_id().hex()}
        missing = [name for name, wanted in strategy.hard.items() if not wanted.matches(labels.get(name))]
        if missing:
            raise InfeasibleError(f"no node has the label {missing[0]!r} as asked for")
    else:
        raise ValueError(
            f"scheduling_strategy must be 'DEFAULT', 'SPREAD' or an object of a strategy, got {strategy!r}"
        )
    return None, -1
