"""Placement groups on one machine.

A group is an actor that holds the resources of all bundles while it lives, so the engine counts them. It hands parts of
its bundles out: a task of the group gets a further argument that is ready when there is room, and asks the engine for
nothing of its own. The part comes back when the task's result is there, whatever became of it.
"""

# pyright: reportPrivateUsage=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# Programs give values of any type; the private names are Ray's, or of this package.

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any
from weakref import WeakSet

from fray.ray import _objects, _session
from fray.ray._calls import process, surroundings
from fray.ray._ids import PlacementGroupID
from fray.ray._options import demand_of
from fray.ray._refs import NO_CPU
from fray.ray._remote import remote
from fray.ray.exceptions import ActorDiedError, TaskPlacementGroupRemoved

__all__ = [
    "Place",
    "PlacementGroup",
    "get_current_placement_group",
    "get_placement_group",
    "placement_group",
    "placement_group_table",
    "remove_placement_group",
]

_STRATEGIES = ("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD")
_NAME = "ray placement group "


class _Holder:
    """The actor of a group."""

    def __init__(self, group_id: str, bundles: list[dict[str, float]], name: str, strategy: str) -> None:
        self._id = group_id
        self._described = group_id, bundles, name, strategy
        self._free = [dict(bundle) for bundle in bundles]
        self._changed = asyncio.Condition()
        self._taken: dict[int, tuple[int, dict[str, float]]] = {}
        self._count = 0
        self._running: dict[int, Any] = {}
        self._lent: set[int] = set()
        self._removed = False

    async def there(self) -> tuple[str, list[dict[str, float]], str, str]:
        """Answer when the actor, and so its resources, are there, with what the group was made of."""
        return self._described

    async def take(self, index: int, demand: dict[str, float]) -> int:
        """Wait until the bundle has room; return the number of the part."""
        async with self._changed:
            while True:
                if self._removed:
                    raise TaskPlacementGroupRemoved(f"the placement group {self._id} was removed")
                found = self._room(index, demand)
                if found is not None:
                    break
                await self._changed.wait()
            for name, amount in demand.items():
                self._free[found][name] -= amount
            self._count += 1
            self._taken[self._count] = (found, demand)
            return self._count

    def _room(self, index: int, demand: dict[str, float]) -> int | None:
        candidates = range(len(self._free)) if index < 0 else [index]
        for number in candidates:
            if all(self._free[number].get(name, 0) >= amount for name, amount in demand.items()):
                return number
        return None

    async def give_back(self, taken: list[Any], result: list[Any]) -> None:
        """Wait until the task has ended, and take its part back. As bare arguments, refs would hold up later calls."""
        try:
            part = await taken[0]
        except TaskPlacementGroupRemoved:
            return
        self._running[part] = result[0]
        with suppress(BaseException):  # how it ended is its own business
            await result[0]
        self._running.pop(part, None)
        await self.lend(part)
        del self._taken[part]
        self._lent.discard(part)

    async def lend(self, part: int) -> None:
        """Let others have the part while its task waits for something; once more is as once."""
        async with self._changed:
            if part in self._lent or part not in self._taken:
                return
            self._lent.add(part)
            self._add(part, 1)
            self._changed.notify_all()

    async def resume(self, part: int) -> None:
        """Take the part back, though others may still have it."""
        async with self._changed:
            if part in self._lent:
                self._lent.remove(part)
                self._add(part, -1)

    def _add(self, part: int, sign: int) -> None:
        index, demand = self._taken[part]
        for name, amount in demand.items():
            self._free[index][name] += sign * amount

    async def remove(self) -> None:
        """Refuse who waits, and end what runs."""
        async with self._changed:
            self._removed = True
            self._changed.notify_all()
        for ref in list(self._running.values()):
            _session.context().cancel(ref, True)


@dataclass
class PlacementGroup:
    """Resources that were reserved together.

    Args:
        id: of the group.
        bundle_specs: the resources of each bundle.
        name: the name to find it by, or an empty text.
        strategy: how bundles are spread over nodes.
        holder: the actor that holds them.
    """

    id: PlacementGroupID
    bundle_specs: list[dict[str, float]] = field(default_factory=list[dict[str, float]])
    name: str = ""
    strategy: str = "PACK"
    holder: Any = None

    @staticmethod
    def empty() -> PlacementGroup:
        """Return a group that is none."""
        return PlacementGroup(PlacementGroupID.nil())

    @property
    def is_empty(self) -> bool:
        return self.id.is_nil()

    @property
    def bundle_count(self) -> int:
        return len(self.bundle_specs)

    def place(self, index: int, options: Mapping[str, Any]) -> Place:
        """Return what starts tasks and actors with these options in the bundle `index`, -1 for any that has room."""
        return Place(self, index, options)

    def ready(self) -> Any:
        """Return a ref that is ready when the resources are reserved; its value is the group."""
        return _session.context().create_task(_when_there, (self, self.holder.there.remote()), options=NO_CPU)

    def wait(self, timeout_seconds: float = 30) -> bool:
        """Return whether the resources are reserved within that time."""
        if self.holder is None:
            return False
        there = self.holder.there.remote()
        done, _ = _objects.wait([there], timeout=timeout_seconds)
        if not done:
            return False
        try:
            _objects.get(there)
        except ActorDiedError as error:
            raise Exception(f"the placement group {self.id.hex()} does not exist any more: {error}") from None
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlacementGroup) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)


def _when_there(group: PlacementGroup, there: None) -> PlacementGroup:
    del there
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
        ValueError: no such strategy, no bundles, or a bundle without resources.
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
    group_id = PlacementGroupID.from_random()
    total: dict[str, float] = {}
    for bundle in bundles:
        for resource, amount in bundle.items():
            total[resource] = total.get(resource, 0) + amount
    if strategy == "STRICT_SPREAD" and len(bundles) > 1:
        return PlacementGroup(group_id, bundles, name, strategy)  # needs as many machines: never there
    options = {
        "num_cpus": total.pop("CPU", 0),
        "num_gpus": total.pop("GPU", 0),
        "memory": total.pop("memory", None),
        "resources": total,
        "max_concurrency": 100_000,
        "name": _NAME + (name or group_id.hex()),
        "scheduling_strategy": "DEFAULT",
    }
    holder = remote(**options)(_Holder).remote(group_id.hex(), bundles, name, strategy)
    group = PlacementGroup(group_id, [dict(bundle) for bundle in bundles], name, strategy, holder)
    _known[group_id] = group
    return group


_known: dict[PlacementGroupID, PlacementGroup] = {}
"""Those that this process has made and not removed."""
_members: dict[PlacementGroupID, WeakSet[Any]] = {}
"""The links of actors that this process has started in groups."""


def remove_placement_group(placement_group: PlacementGroup) -> None:
    """Give the resources back; what runs with them ends."""
    _known.pop(placement_group.id, None)
    for link in _members.pop(placement_group.id, ()):
        _session.context().engine.kill_actor(link, True)
    holder = placement_group.holder
    if holder is None:
        return
    try:
        if placement_group.wait(0):
            _objects.wait([holder.remove.remote()], timeout=5)
        _objects.kill(holder)
    except Exception:
        return  # it was removed before


def get_placement_group(placement_group_name: str) -> PlacementGroup:
    """Return the group of that name.

    Raises:
        ValueError: there is none.
    """
    for group in _all_groups():
        if group.name == placement_group_name and placement_group_name:
            return group
    raise ValueError(f"Failed to look up placement group with name: {placement_group_name}")


def placement_group_table(placement_group: PlacementGroup | None = None) -> dict[str, Any]:
    """Return what is known of a group, or of all that this process has made, by id."""
    if placement_group is not None:
        return _row(placement_group)
    return {group.id.hex(): _row(group) for group in _all_groups()}


def _all_groups() -> list[PlacementGroup]:
    """Return those that this process has made, and of other processes those that are there."""
    found = dict(_known)
    own = {group.holder for group in _known.values()}
    for name in _session.context().list_named_actors():
        holder = _objects.get_actor(name) if name.startswith(_NAME) else None
        if holder is None or holder in own:
            continue
        there = holder.there.remote()
        if _objects.wait([there], timeout=1)[0]:
            group_id, bundles, called, strategy = _objects.get(there)
            identity = PlacementGroupID.from_hex(group_id)
            found[identity] = PlacementGroup(identity, bundles, called, strategy, holder)
    return list(found.values())


def _row(group: PlacementGroup) -> dict[str, Any]:
    try:
        state = "CREATED" if group.wait(0.01) else "PENDING"
    except Exception:
        state = "REMOVED"
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


class Place:
    """Starts tasks and actors in a group."""

    def __init__(self, group: PlacementGroup, index: int, options: Mapping[str, Any]) -> None:
        self.group = group
        self.index = index
        self._options = options

    def _demand(self, default_cpus: float) -> dict[str, float]:
        demand = {name: amount for name, amount in demand_of(self._options, default_cpus).items() if amount}
        specs = self.group.bundle_specs
        if not -1 <= self.index < len(specs):
            raise ValueError(
                f"placement group bundle index {self.index} is invalid. Valid placement group indexes: "
                f"0-{len(specs) - 1}"
            )
        candidates = specs if self.index < 0 else [specs[self.index]]
        if not any(all(spec.get(name, 0) >= amount for name, amount in demand.items()) for spec in candidates):
            raise ValueError(
                f"Cannot schedule with the placement group because the resource request {demand} cannot fit into any "
                f"bundles for the placement group, {specs}."
            )
        return demand

    def _part(self, default_cpus: float) -> Any:
        demand = self._demand(default_cpus)
        if self.group.holder is None:
            raise ValueError("the placement group can never be there: STRICT_SPREAD needs a machine for each bundle")
        return self.group.holder.take.remote(self.index, demand)

    def submit(self, context: Any, frozen: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: Any) -> Any:
        """Start a task that waits for its part of a bundle."""
        part = self._part(1)
        fn = frozen.variant("in a group", _InGroup)
        result = context.create_task(fn, (part, *args), kwargs, replace(options, resources={"CPU": 0}))
        first = result[0] if isinstance(result, list) else result
        self.group.holder.give_back.remote([part], [first])
        return result

    def create_actor(self, context: Any, host: Any, arguments: tuple[Any, ...], options: Any, kinds: Any) -> Any:
        """Start an actor whose constructor waits for its part of a bundle, which it holds while the group lives."""
        part = self._part(0)
        made_of, facts, names, *rest = arguments
        waiting = (made_of, {**facts, "waits": True}, names, part, *rest)
        link = context.engine.create_actor(host, waiting, {}, replace(options, resources={"CPU": 0}), kinds)
        _members.setdefault(self.group.id, WeakSet()).add(link)
        return link


class _InGroup:
    """A remote function of a task in a group: its first argument was what it waited for."""

    def __init__(self, fn: Any) -> None:
        self.fn = fn

    def __call__(self, part: int, *args: Any, **kwargs: Any) -> Any:
        process.part = part
        try:
            return self.fn(*args, **kwargs)
        finally:
            process.part = None


class _CallableModule(ModuleType):
    """`ray.util.placement_group` is a function, and the name of the module that it is in."""

    def __call__(self, *args: Any, **kwargs: Any) -> PlacementGroup:
        return placement_group(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
