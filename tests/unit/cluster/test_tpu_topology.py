from __future__ import annotations

from typing import get_args

import pytest
from fray.cluster import TpuType, get_tpu_topology
from fray.cluster.tpu_topology import TPU_TOPOLOGIES

# name: chips, hosts, machines, chips of a machine
GOLDEN = {
    "v4-8": (4, 1, 1, 4),
    "v4-16": (8, 2, 2, 4),
    "v4-32": (16, 4, 4, 4),
    "v4-64": (32, 8, 8, 4),
    "v4-128": (64, 16, 16, 4),
    "v4-256": (128, 32, 32, 4),
    "v4-512": (256, 64, 64, 4),
    "v4-1024": (512, 128, 128, 4),
    "v4-2048": (1024, 256, 256, 4),
    "v4-4096": (2048, 512, 512, 4),
    "v5litepod-1": (1, 1, 1, 1),
    "v5litepod-2": (2, 1, 1, 2),
    "v5litepod-4": (4, 1, 1, 4),
    "v5litepod-8": (8, 1, 1, 8),
    "v5litepod-16": (16, 2, 4, 4),
    "v5litepod-32": (32, 4, 8, 4),
    "v5litepod-64": (64, 8, 16, 4),
    "v5litepod-128": (128, 16, 32, 4),
    "v5litepod-256": (256, 32, 64, 4),
    "v5p-8": (4, 1, 1, 4),
    "v5p-16": (8, 2, 2, 4),
    "v5p-32": (16, 4, 4, 4),
    "v5p-64": (32, 8, 8, 4),
    "v5p-128": (64, 16, 16, 4),
    "v5p-256": (128, 32, 32, 4),
    "v5p-512": (256, 64, 64, 4),
    "v5p-1024": (512, 128, 128, 4),
    "v5p-2048": (1024, 256, 256, 4),
    "v5p-4096": (2048, 512, 512, 4),
    "v5p-8192": (4096, 1024, 1024, 4),
    "v5p-12288": (6144, 1536, 1536, 4),
    "v6e-1": (1, 1, 1, 1),
    "v6e-4": (4, 1, 1, 4),
    "v6e-8": (8, 1, 1, 8),
    "v6e-16": (16, 4, 4, 4),
    "v6e-32": (32, 8, 8, 4),
    "v6e-64": (64, 16, 16, 4),
    "v6e-128": (128, 32, 32, 4),
    "v6e-256": (256, 64, 64, 4),
}


def test_table_is_the_published_one():
    table = {t.name: (t.chip_count, t.host_count, t.vm_count, t.chips_per_vm) for t in TPU_TOPOLOGIES}
    assert table == GOLDEN
    assert len(TPU_TOPOLOGIES) == len(GOLDEN)


def test_type_names_exactly_the_rows_of_the_table():
    assert set(get_args(TpuType)) == set(GOLDEN)


def test_machines_and_their_chips_make_the_slice():
    assert all(t.vm_count * t.chips_per_vm == t.chip_count for t in TPU_TOPOLOGIES)


def test_unknown_slice_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"Unknown TPU type: v9-4\. Known are v4-8, .* v6e-256"):
        get_tpu_topology("v9-4")
