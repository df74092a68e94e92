"""``python -m benchmarks.programs.records PEER KIND COUNT``: a call for each object of a class of the script."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from benchmarks.real.tools import open_tools


@dataclass
class Order:
    """What somebody has ordered.

    Attributes:
        number: of the order.
        prices: of its items, in cents.
    """

    number: int
    prices: list[int]


@dataclass
class Bill:
    """What there is to pay.

    Attributes:
        order: what it is for.
        total: in cents, with taxes.
    """

    order: Order
    total: int


def billed(order: Order) -> Bill:
    return Bill(order, sum(order.prices) * 119 // 100)


if __name__ == "__main__":
    tools = open_tools(sys.argv[1], sys.argv[2], None)
    with tools.closing:
        orders = [Order(number, [100 + number, 250]) for number in range(int(sys.argv[3]))]
        bills = tools.get([tools.submit(billed, order) for order in orders])
        print(sum(bill.total + bill.order.number for bill in bills))
