"""Eight actors that step environments with the weights they are given, round by round."""

from __future__ import annotations

from typing import Any

from benchmarks.real.program import RealProgram, after_importing
from benchmarks.real.tools import Tools

_ACTORS = 8
_STEPS = 150


class Environment:
    """Walks, as the weights say."""

    def __init__(self, seed: int) -> None:
        import numpy

        self._state = numpy.random.default_rng(seed).standard_normal(64)

    def rollout(self, weights: Any) -> Any:
        import numpy

        states = []
        for _ in range(_STEPS):
            self._state = numpy.tanh(weights @ self._state)
            states.append(self._state)
        return numpy.stack(states)


def rollouts(tools: Tools, rounds: int) -> float:
    import numpy

    actors = [tools.actor(Environment, seed) for seed in range(_ACTORS)]
    weights = numpy.random.default_rng(99).standard_normal((64, 64)) / 8
    for _ in range(rounds):
        given = tools.put(weights)
        states = tools.get([tools.call(actor, "rollout", given) for actor in actors])
        weights = 0.99 * weights + 0.001 * sum(float(state.mean()) for state in states)
    return round(float(weights.sum()), 6)


PROGRAMS = (
    RealProgram("rollouts", "8 actors, 40 rounds", after_importing("numpy"), rollouts, 40, 2, ("fray", "ray", "pool")),
)
