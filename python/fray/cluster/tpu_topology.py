"""The TPU slices that there are: chips, hosts and virtual machines of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["TPU_TOPOLOGIES", "TpuTopologyInfo", "TpuType", "get_tpu_topology"]

# fmt: off
TpuType = Literal[
    "v4-8", "v4-16", "v4-32", "v4-64", "v4-128", "v4-256", "v4-512", "v4-1024", "v4-2048", "v4-4096",
    "v5litepod-1", "v5litepod-2", "v5litepod-4", "v5litepod-8", "v5litepod-16", "v5litepod-32", "v5litepod-64",
    "v5litepod-128", "v5litepod-256",
    "v5p-8", "v5p-16", "v5p-32", "v5p-64", "v5p-128", "v5p-256", "v5p-512", "v5p-1024", "v5p-2048", "v5p-4096",
    "v5p-8192", "v5p-12288",
    "v6e-1", "v6e-4", "v6e-8", "v6e-16", "v6e-32", "v6e-64", "v6e-128", "v6e-256",
]
# fmt: on
"""Names of TPU slices. In v4 and v5p the number counts cores, two a chip; in the others chips."""


@dataclass(frozen=True, slots=True)
class TpuTopologyInfo:
    """What one TPU slice consists of.

    Args:
        name: such as ``"v4-16"``.
        chip_count: chips of the whole slice.
        host_count: physical hosts.
        vm_count: virtual machines; a job has one replica on each.
        chips_per_vm: chips that each virtual machine sees.
    """

    name: str
    chip_count: int
    host_count: int
    vm_count: int
    chips_per_vm: int


def _of_cores(generation: str, sizes: Iterable[int]) -> list[TpuTopologyInfo]:
    """Return slices that are named by their cores: two cores a chip, four chips a machine, one machine a host."""
    return [TpuTopologyInfo(f"{generation}-{n}", n // 2, n // 8, n // 8, 4) for n in sizes]


TPU_TOPOLOGIES: Final[list[TpuTopologyInfo]] = [
    *_of_cores("v4", (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)),
    TpuTopologyInfo("v5litepod-1", 1, 1, 1, 1),
    TpuTopologyInfo("v5litepod-2", 2, 1, 1, 2),
    TpuTopologyInfo("v5litepod-4", 4, 1, 1, 4),
    TpuTopologyInfo("v5litepod-8", 8, 1, 1, 8),
    TpuTopologyInfo("v5litepod-16", 16, 2, 4, 4),
    TpuTopologyInfo("v5litepod-32", 32, 4, 8, 4),
    TpuTopologyInfo("v5litepod-64", 64, 8, 16, 4),
    TpuTopologyInfo("v5litepod-128", 128, 16, 32, 4),
    TpuTopologyInfo("v5litepod-256", 256, 32, 64, 4),
    *_of_cores("v5p", (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 12288)),
    TpuTopologyInfo("v6e-1", 1, 1, 1, 1),
    TpuTopologyInfo("v6e-4", 4, 1, 1, 4),
    TpuTopologyInfo("v6e-8", 8, 1, 1, 8),
    TpuTopologyInfo("v6e-16", 16, 4, 4, 4),
    TpuTopologyInfo("v6e-32", 32, 8, 8, 4),
    TpuTopologyInfo("v6e-64", 64, 16, 16, 4),
    TpuTopologyInfo("v6e-128", 128, 32, 32, 4),
    TpuTopologyInfo("v6e-256", 256, 64, 64, 4),
]

_BY_NAME: Final = {topology.name: topology for topology in TPU_TOPOLOGIES}


def get_tpu_topology(tpu_type: str) -> TpuTopologyInfo:
    """Return what the slice `tpu_type` consists of.

    Raises:
        ValueError: there is no such slice.
    """
    topology = _BY_NAME.get(tpu_type)
    if topology is None:
        known = ", ".join(_BY_NAME)
        raise ValueError(f"Unknown TPU type: {tpu_type}. Known are {known}")
    return topology
