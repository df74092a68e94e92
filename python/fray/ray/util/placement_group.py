"""Placement groups on one machine: reservations of the node, and the names by which tasks ask for their part of one.

A group takes the resources of its bundles from the node together. In their place it offers ``CPU@<group>`` for tasks of
any bundle, and ``CPU@<group>.<index>`` of each bundle; a task of a certain bundle asks for both.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from fray.ray import _objects, _session
from fray.ray._calls import surroundings
from fray.ray._ids import PlacementGroupID
from fray.ray._refs import failed_refs
from fray.ray.exceptions import TaskPlacementGroupRemoved, TaskUnschedulableError
from fray.types import TaskOptions

# fmt: off
__all__ = [
    "PlacementGroup", "get_current_placement_group", "get_placement_group", "placement_group",
    "placement_group_table", "remove_placement_group",
]
# fmt: on

_STRATEGIES = ("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD")
_MEMBERS, _MEMBER = 1000.0, 0.001
"""The amounts of ``member@<group>`` that the group offers, and that each task and actor of the group asks for."""


@dataclass
class PlacementGroup:
    """Resources that were reserved together.

    Args:
        id: the id of the group.
        bundle_specs: the resources of each bundle.
        name: the name by which `get_placement_group` finds it, or an empty text.
        strategy: how its bundles are spread over nodes.
        never: why its resources can never be reserved, or an empty text.
    """

    id: PlacementGroupID
    bundle_specs: list[dict[str, float]] = field(default_factory=list[dict[str, float]])
    name: str = ""
    strategy: str = "PACK"
    never: str = ""

    @staticmethod
    def empty() -> PlacementGroup:
        """Return a group without bundles, which stands for no group."""
        return PlacementGroup(PlacementGroupID.nil())

    @property
    def is_empty(self) -> bool:
        return self.id.is_nil()

    @property
    def bundle_count(self) -> int:
        return len(self.bundle_specs)

    def ready(self) -> Any:
        """Return a ref that is ready when the resources are reserved; its value is the group."""
        if self.never:
            return failed_refs(TaskUnschedulableError(f"The placement group is not schedulable: {self.never}"), 1)
        known = _ready.get(self.id)
        if known is None:
            inside = TaskOptions(name="placement group", resources=self.asks_for({}, -1), max_retries=-1)
            known = _ready[self.id] = _session.context().create_task(_itself, (self,), options=inside)
        return known

    def wait(self, timeout_seconds: float = 30) -> bool:
        """Return whether the resources are reserved within that time."""
        if self.never:
            return False
        if self.is_reserved():
            return True  # `ready` would need a worker for its task
        ready = self.ready()
        if not _objects.wait([ready], timeout=timeout_seconds)[0]:
            return False
        try:
            _objects.get(ready)
        except TaskPlacementGroupRemoved as error:
            raise Exception(f"the placement group {self.id.hex()} does not exist any more") from error
        return True

    def is_reserved(self) -> bool:
        """Return whether the resources are reserved now."""
        name = self.id.hex()
        return any(row["reserved"] for row in _reservations() if row["name"] == name)

    def offers(self) -> dict[str, float]:
        """Return the resources that the group offers to its tasks, by their names with an ``@``."""
        name = self.id.hex()
        offered = {f"member@{name}": _MEMBERS}
        for index, bundle in enumerate(self.bundle_specs):
            for resource, amount in bundle.items():
                offered[f"{resource}@{name}"] = offered.get(f"{resource}@{name}", 0) + amount
                offered[f"{resource}@{name}.{index}"] = amount
        return offered

    def asks_for(self, demand: Mapping[str, float], index: int) -> dict[str, float]:
        """Return the resources that a task in the bundle `index` asks the engine for; -1 is any bundle that has room.

        Raises:
            ValueError: there is no such bundle, or none that is large enough, or the group can never be there.
        """
        demand = {resource: amount for resource, amount in demand.items() if amount}
        specs = self.bundle_specs
        if not -1 <= index < len(specs):
            raise ValueError(
                f"placement group bundle index {index} is invalid. Valid placement group indexes: 0-{len(specs) - 1}"
            )
        candidates = specs if index < 0 else [specs[index]]
        if not any(all(spec.get(name, 0) >= amount for name, amount in demand.items()) for spec in candidates):
            raise ValueError(
                f"Cannot schedule with the placement group because the resource request {demand} cannot fit into any "
                f"bundles for the placement group, {specs}."
            )
        if self.never:
            raise ValueError(f"the placement group can never be there: {self.never}")
        name = self.id.hex()
        asked = {"CPU": 0, f"member@{name}": _MEMBER}
        for resource, amount in demand.items():
            asked[f"{resource}@{name}"] = amount
            if index >= 0:
                asked[f"{resource}@{name}.{index}"] = amount
        return asked

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlacementGroup) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)


_ready: dict[PlacementGroupID, Any] = {}
"""The refs of `PlacementGroup.ready` that this process has asked for."""


def _itself(group: PlacementGroup) -> PlacementGroup:
    return group


def placement_group(
    bundles: list[dict[str, float]],
    strategy: str | None = None,
    name: str = "",
    lifetime: str | None = None,
    _soft_target_node_id: str | None = None,
    bundle_label_selector: Any = None,
    topology_strategy: Any = None,
) -> PlacementGroup:
    """Reserve the resources of all bundles together; return at once.

    Raises:
        ValueError: there is no such strategy, or no bundle, or a bundle has no resources.
    """
    strategy = strategy or "PACK"
    if strategy not in _STRATEGIES:
        raise ValueError(f"Invalid strategy {strategy}. Supported strategies are {', '.join(_STRATEGIES)}")
    if not isinstance(bundles, list):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"The type of bundles must be list, got {bundles!r}")
    if not bundles or not all(bundle and any(bundle.values()) for bundle in bundles):
        raise ValueError(f"Bundles must not be empty, nor hold nothing but zeros: {bundles}")
    if lifetime not in (None, "detached"):
        raise ValueError("placement group `lifetime` argument must be either `None` or 'detached'")
    specs = [{resource: float(amount) for resource, amount in bundle.items()} for bundle in bundles]
    group = PlacementGroup(PlacementGroupID.from_random(), specs, name, strategy)
    total: dict[str, float] = {}
    for bundle in bundles:
        for resource, amount in bundle.items():
            total[resource] = total.get(resource, 0) + amount
    context: Any = _session.context()
    group.never = _why_never(group, total, context)
    if not group.never:
        about = json.dumps([name, strategy, context.namespace, group.bundle_specs])
        context.engine.set_aside(group.id.hex(), total, group.offers(), about, lifetime == "detached")
    return group


def _why_never(group: PlacementGroup, total: Mapping[str, float], context: Any) -> str:
    if group.strategy == "STRICT_SPREAD" and group.bundle_count > 1:
        return "STRICT_SPREAD needs a machine for each bundle, and there is one"
    there: Mapping[str, float] = context.engine.client.total_resources()
    lacking = [
        f"{name} {amount:g} of {there.get(name, 0):g}" for name, amount in total.items() if amount > there.get(name, 0)
    ]
    return f"its bundles ask for {', '.join(lacking)} that this machine has" if lacking else ""


def remove_placement_group(placement_group: PlacementGroup) -> None:
    """Give the resources back; the tasks and actors that hold them end."""
    _ready.pop(placement_group.id, None)
    if not placement_group.never:
        engine: Any = _session.context().engine
        engine.put_back(placement_group.id.hex())
        engine.status()  # it is answered once the workers of the group were killed


def get_placement_group(placement_group_name: str) -> PlacementGroup:
    """Return the group of that name.

    Raises:
        ValueError: there is none.
    """
    for group, _ in _all_groups():
        if group.name == placement_group_name and placement_group_name:
            return group
    raise ValueError(f"Failed to look up placement group with name: {placement_group_name}")


def placement_group_table(placement_group: PlacementGroup | None = None) -> dict[str, Any]:
    """Return the facts about a group, or about each group by its id."""
    rows = {group.id.hex(): _row(group, "CREATED" if there else "PENDING") for group, there in _all_groups()}
    if placement_group is None:
        return rows
    gone = "PENDING" if placement_group.never else "REMOVED"
    return rows.get(placement_group.id.hex()) or _row(placement_group, gone)


def _reservations() -> list[dict[str, Any]]:
    context: Any = _session.context()
    return context.engine.status()["reservations"]


def _all_groups() -> list[tuple[PlacementGroup, bool]]:
    """Return the groups of this namespace, and whether each has its resources."""
    found: list[tuple[PlacementGroup, bool]] = []
    for row in _reservations():
        name, strategy, namespace, bundles = json.loads(row["about"])
        if namespace == _session.context().namespace:
            group = PlacementGroup(PlacementGroupID.from_hex(row["name"]), bundles, name, strategy)
            found.append((group, row["reserved"]))
    return found


def _row(group: PlacementGroup, state: str) -> dict[str, Any]:
    return {
        "placement_group_id": group.id.hex(),
        "name": group.name,
        "bundles": dict(enumerate(group.bundle_specs)),
        "bundles_to_node_id": {index: _session.node_id().hex() for index in range(group.bundle_count)},
        "strategy": group.strategy,
        "state": state,
        "stats": {},
    }


def get_current_placement_group() -> PlacementGroup | None:
    """Return the group of the running task or actor; None outside of groups."""
    group = surroundings().get("placement_group")
    return None if group is None else group["group"]


class _CallableModule(ModuleType):
    """Makes `ray.util.placement_group` the function and the module of that name at once."""

    def __call__(self, *args: Any, **kwargs: Any) -> PlacementGroup:
        return placement_group(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
