"""``python -m benchmarks.programs.steps PEER KIND COUNT``: maps of partial objects over parts of a global."""

from __future__ import annotations

import sys
from functools import partial

import numpy as np

from benchmarks.real.tools import open_tools

POINTS = np.arange(800_000, dtype=float).reshape(-1, 4) % 997
NAMES = [f"point {number}" for number in range(len(POINTS) // 4)]
PARTS = 16


def nearest(centers: np.ndarray, part: int) -> tuple[np.ndarray, str]:
    points = POINTS[part::PARTS]
    chosen = abs(points[:, None, :] - centers).sum(axis=2).argmin(axis=1)
    sums = [[*points[chosen == number].sum(axis=0), (chosen == number).sum()] for number in range(len(centers))]
    return np.array(sums), NAMES[part]


if __name__ == "__main__":
    tools = open_tools(sys.argv[1], sys.argv[2], None)
    with tools.closing:
        centers = POINTS[:3].copy()
        for _ in range(int(sys.argv[3])):
            found = tools.map(partial(nearest, centers), range(PARTS))
            total = sum(sums for sums, _ in found)
            centers = total[:, :4] / total[:, 4:]
        print(centers.round(6).tolist(), found[-1][1])
