"""`ray.util`: the functions of this module, and by name those of the modules below it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, overload

from fray.ray import _objects, _session
from fray.ray._modules import find

if TYPE_CHECKING:
    from fray.ray.util.actor_pool import ActorPool
    from fray.ray.util.check_serialize import inspect_serializability
    from fray.ray.util.placement_group import (
        get_current_placement_group,
        get_placement_group,
        placement_group,
        placement_group_table,
        remove_placement_group,
    )
    from fray.ray.util.serialization import deregister_serializer, register_serializer

# fmt: off
__all__ = [
    "ActorPool", "as_completed", "deregister_serializer", "get_current_placement_group", "get_node_ip_address",
    "get_placement_group", "inspect_serializability", "list_named_actors", "log_once", "map_unordered",
    "placement_group", "placement_group_table", "register_serializer", "remove_placement_group",
]
# fmt: on

_seen: set[str] = set()


@overload
def list_named_actors(all_namespaces: Literal[False] = False) -> list[str]: ...
@overload
def list_named_actors(all_namespaces: Literal[True]) -> list[dict[str, str]]: ...
def list_named_actors(all_namespaces: bool = False) -> Any:
    """Return the names of the living actors, with `all_namespaces` as dicts with a ``namespace``."""
    return _session.context().list_named_actors(all_namespaces)


def get_node_ip_address() -> str:
    """Return the address of this machine: processes of a session are on one machine."""
    return _session.IP


def get_node_instance_id() -> str:
    """Return an empty text: no cloud provider's id of the machine is known."""
    return ""


def as_completed(refs: Iterable[Any], *, chunk_size: int = 10, yield_obj_refs: bool = False) -> Iterator[Any]:
    """Yield the values of `refs`, or the refs, as they become ready; `chunk_size` has no effect."""
    if chunk_size < 1:
        raise ValueError("`chunk_size` must be >= 1")
    for ref in _session.context().as_completed(list(refs)):
        yield ref if yield_obj_refs else _objects.get(ref)


def map_unordered(
    fn: Any,
    items: Iterable[Any],
    *,
    backpressure_size: int | None = 100,
    chunk_size: int = 10,
    yield_obj_refs: bool = False,
) -> Iterator[Any]:
    """Yield the values of ``fn.remote(item)`` as they become ready; `backpressure_size` tasks at most are in flight."""
    if chunk_size < 1:
        raise ValueError("`chunk_size` must be >= 1")
    if backpressure_size is not None and backpressure_size < chunk_size:
        raise ValueError("backpressure_size must be greater than or equal to chunk_size")
    rest = iter(items)
    pending = [fn.remote(item) for item in islice(rest, backpressure_size)]
    while pending:
        ready, pending = _objects.wait(pending)
        for ref in ready:
            yield ref if yield_obj_refs else _objects.get(ref)
        pending.extend(fn.remote(item) for item in islice(rest, len(ready)))


def log_once(key: str) -> bool:
    """Return whether this is the first time that this process asks for `key`."""
    first = key not in _seen
    _seen.add(key)
    return first


def __getattr__(name: str) -> Any:
    return find("ray.util", name)
