"""Writes the TPU slices of python/fray/cluster/tpu_topology.py as rows of C++: ``{"v4-16", 2, 4},``.

    tpu_slices.py TPU_TOPOLOGY.py --output OUT.inc

A row has the name, the machines of the slice, and the chips of each.
"""

from __future__ import annotations

import argparse
import runpy
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    rows = runpy.run_path(str(arguments.table))["TPU_TOPOLOGIES"]
    lines = [f'{{"{row.name}", {row.vm_count}, {row.chips_per_vm}}},\n' for row in rows]
    arguments.output.write_text("".join(lines))


if __name__ == "__main__":
    main()
