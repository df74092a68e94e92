"""Which machines of a Ray cluster form a TPU slice. Decisions only: nothing here asks Ray."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fray.cluster import TpuTopologyInfo

__all__ = ["Node", "Slice", "find_slices", "multislice_variables", "slice_counts"]

MEGASCALE_PORT = 8081


@dataclass(frozen=True, slots=True)
class Node:
    """A machine of the cluster: its id, its address, and the resources that it has in all."""

    node_id: str
    ip: str
    resources: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Slice:
    """The machines of one slice, its head first."""

    nodes: tuple[Node, ...]

    @property
    def ip(self) -> str:
        """Address of the head."""
        return self.nodes[0].ip


def find_slices(nodes: Sequence[Node], topology: TpuTopologyInfo) -> list[Slice]:
    """Return the whole slices of that type among `nodes`.

    A slice's head has the resource ``TPU-<type>-head``. All its machines have one resource in common whose name is the
    slice's own; a slice of one machine needs none.
    """
    head = f"TPU-{topology.name}-head"
    found: list[Slice] = []
    for first in nodes:
        if first.resources.get(head, 0) < 1 or first.resources.get("TPU", 0) < topology.chips_per_vm:
            continue
        if topology.vm_count == 1:
            found.append(Slice((first,)))
            continue
        for name in first.resources:
            if name == head or name.startswith(("TPU", "node:", "CPU", "GPU", "memory", "object_store_memory")):
                continue
            mates = [node for node in nodes if name in node.resources and node is not first]
            mates = [node for node in mates if node.resources.get("TPU", 0) >= topology.chips_per_vm]
            if len(mates) == topology.vm_count - 1:
                found.append(Slice((first, *sorted(mates, key=lambda node: node.node_id))))
                break
    return found


def slice_counts(num_slices: int | Sequence[int]) -> list[int]:
    """Return the numbers of slices that will do, the largest first.

    Raises:
        TypeError, ValueError: not a positive number, nor a list of them that is not empty.
    """
    counts = [num_slices] if isinstance(num_slices, int) else list(num_slices)
    if not counts:
        raise ValueError("num_slices: an empty list allows no number of slices; give a number or a list of them")
    for count in counts:
        if isinstance(count, bool) or not isinstance(count, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"num_slices must be a number or a list of numbers, got {num_slices!r}")
        if count < 1:
            raise ValueError(f"num_slices must be at least 1, got {count}")
    return sorted(set(counts), reverse=True)


def multislice_variables(slices: Sequence[Slice], number: int) -> dict[str, str]:
    """Return the variables that tell the machines of slice `number` of the other slices; none for a single slice."""
    if len(slices) == 1:
        return {}
    return {
        "MEGASCALE_COORDINATOR_ADDRESS": f"{slices[0].ip}:{MEGASCALE_PORT}",
        "MEGASCALE_NUM_SLICES": str(len(slices)),
        "MEGASCALE_PORT": str(MEGASCALE_PORT),
        "MEGASCALE_SLICE_ID": str(number),
    }
