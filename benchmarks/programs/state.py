"""``python -m benchmarks.programs.state PEER KIND COUNT``: calls that read large globals of the script."""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.real.tools import open_tools

PRICES = np.arange(500_000, dtype=float)
NAMES = [f"item {number}" for number in range(100_000)]
STOCK = {name: number % 7 for number, name in enumerate(NAMES)}


def worth(number: int) -> float:
    name = NAMES[number % len(NAMES)]
    return float(PRICES[number]) * STOCK[name]


if __name__ == "__main__":
    tools = open_tools(sys.argv[1], sys.argv[2], None)
    with tools.closing:
        count = int(sys.argv[3])
        mapped = tools.map(worth, range(count))
        submitted = tools.get([tools.submit(worth, number) for number in range(count // 10)])
        print(sum(mapped) + sum(submitted))
