"""A service that is asked many small things, each after the answer to the one before."""

from __future__ import annotations

from benchmarks.real.program import RealProgram
from benchmarks.real.tools import Tools


class Service:
    """Answers requests and counts them."""

    def __init__(self) -> None:
        self._served = 0

    def answer(self, path: str, body: str) -> tuple[int, str, int]:
        self._served += 1
        return 200, path.upper(), self._served + len(body)


def requests(tools: Tools, count: int) -> tuple[int, str, int]:
    service = tools.actor(Service)
    last = (0, "", 0)
    for number in range(count):
        [last] = tools.get([tools.call(service, "answer", f"/page/{number}", "x" * (number % 300))])
    return last


PROGRAMS = (
    RealProgram("service", "1,000 requests to an actor, one by one", int, requests, 1_000, 20, ("fray", "ray", "pool")),
)
