"""``python -m benchmarks.programs.settings PEER KIND COUNT``: functions and classes that read one dict."""

from __future__ import annotations

import logging
import re
import sys
from dataclasses import dataclass
from typing import Any

from benchmarks.real.tools import open_tools

SETTINGS: dict[str, Any] = {"rate": 119, "words": ["small", "large"], "folders": {"in": "orders", "out": "bills"}}
ORDER = re.compile(r"(\w+) (\d+)")

log = logging.getLogger(__name__)


@dataclass
class Order:
    """What somebody has ordered.

    Attributes:
        name: of who has.
        price: in cents.
        words: about it.
    """

    name: str
    price: int
    words: list[str]

    def total(self) -> int:
        return self.price * SETTINGS["rate"] // 100 + len(self.words)


def read(line: str) -> Order:
    found = ORDER.match(line)
    assert found is not None
    order = Order(found[1], int(found[2]), list(SETTINGS["words"]))
    log.debug("read %s", order)
    return order


def totalled(line: str) -> tuple[Order, int]:
    order = read(line)
    return order, order.total()


if __name__ == "__main__":
    tools = open_tools(sys.argv[1], sys.argv[2], None)
    with tools.closing:
        results = tools.get([tools.submit(totalled, f"customer {number}") for number in range(int(sys.argv[3]))])
        print(sum(total + order.price for order, total in results))
