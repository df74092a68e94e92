"""`ray.util.scheduling_strategies`, on one machine."""

# pyright: reportPrivateUsage=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# Programs give values of any type; the private names are Ray's, or of this package.

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fray.ray import _session
from fray.ray._errors import task_failure
from fray.ray.exceptions import TaskUnschedulableError

__all__ = [
    "DoesNotExist",
    "Exists",
    "In",
    "NodeAffinitySchedulingStrategy",
    "NodeLabelSchedulingStrategy",
    "NotIn",
    "PlacementGroupSchedulingStrategy",
    "in_group",
    "placement",
]


class PlacementGroupSchedulingStrategy:
    """Runs a task or an actor with the resources of a placement group.

    Args:
        placement_group: the group.
        placement_group_bundle_index: one of its bundles, -1 for any that has room.
        placement_group_capture_child_tasks: whether what it starts runs in the group too.
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
    """Runs a task or an actor on a node; there is one.

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


class _Unschedulable:
    """What cannot run anywhere: said by the value, not by waiting for ever."""

    def __init__(self, why: str) -> None:
        self.why = why

    def submit(self, context: Any, frozen: Any, args: Any, kwargs: Any, options: Any) -> Any:
        del frozen, args, kwargs
        return context.create_task(_fail, (self.why,), options=options)

    def create_actor(self, context: Any, host: Any, arguments: Any, options: Any, kinds: Any) -> Any:
        from fray.ray.exceptions import ActorUnschedulableError

        raise ActorUnschedulableError(self.why)


def _fail(why: str) -> None:
    raise task_failure(TaskUnschedulableError(why), "unschedulable")


def in_group(options: Mapping[str, Any], group: Any) -> dict[str, Any]:
    """Return the options of what a task or an actor of `group`, which captures, starts without a word on where."""
    return {**options, "scheduling_strategy": PlacementGroupSchedulingStrategy(group, -1, True)}


def placement(options: Mapping[str, Any]) -> Any:
    """Return what starts tasks and actors with such options; None where the strategy means nothing here.

    Raises:
        ValueError: no strategy that there is.
    """
    strategy = options.get("scheduling_strategy")
    if strategy is None:
        group = options.get("placement_group", "default")
        if group in (None, "default"):
            return None
        index = options.get("placement_group_bundle_index", -1)
        capture = options.get("placement_group_capture_child_tasks")
        strategy = PlacementGroupSchedulingStrategy(group, index, capture)
    if isinstance(strategy, PlacementGroupSchedulingStrategy):
        group = strategy.placement_group
        if group is None:
            return None
        if not hasattr(group, "place"):
            raise ValueError(f"placement_group must be a PlacementGroup, got {group!r}")
        return group.place(strategy.placement_group_bundle_index, options)
    if isinstance(strategy, NodeAffinitySchedulingStrategy):
        if strategy.soft or strategy.node_id == _session.node_id().hex():
            return None
        return _Unschedulable(f"The task is not schedulable: there is no node {strategy.node_id}")
    if isinstance(strategy, NodeLabelSchedulingStrategy):
        labels = {"ray.io/node-id": _session.node_id().hex()}
        missing = [name for name, wanted in strategy.hard.items() if not wanted.matches(labels.get(name))]
        return _Unschedulable(f"no node has the label {missing[0]!r} as asked for") if missing else None
    raise ValueError(f"scheduling_strategy must be 'DEFAULT', 'SPREAD' or an object of a strategy, got {strategy!r}")
