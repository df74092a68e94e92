"""A parameter server: an actor holds 8 MB of weights, and workers send it gradients."""

from __future__ import annotations

from typing import Any

from benchmarks.real.program import RealProgram, after_importing
from benchmarks.real.tools import Tools

_STEPS = 30


class Server:
    """Holds the weights."""

    def __init__(self, size: int) -> None:
        import numpy

        self._weights = numpy.zeros(size)

    def apply(self, *gradients: Any) -> Any:
        for gradient in gradients:
            self._weights -= 0.01 * gradient
        return self._weights.copy()


class Learner:
    """Makes gradients."""

    def __init__(self, number: int) -> None:
        self._number = number

    def gradient(self, weights: Any) -> Any:
        return weights * 0.5 + self._number


def train(tools: Tools, size: int) -> float:
    server = tools.actor(Server, size)
    learners = [tools.actor(Learner, number) for number in (1, 2)]
    weights = tools.call(server, "apply")
    for _ in range(_STEPS):
        gradients = [tools.call(learner, "gradient", weights) for learner in learners]
        weights = tools.call(server, "apply", *gradients)
    return round(float(tools.get([weights])[0].sum()), 3)


PROGRAMS = (
    RealProgram(
        "parameter_server",
        "8 MB of weights, 2 learners, 30 steps",
        after_importing("numpy"),
        train,
        1 << 20,
        1000,
        ("fray", "ray", "pool"),
    ),
)
