"""A cart with a pole on it, and a policy that learns to keep the pole up: plain numpy that knows nothing of Fray.

The physics are those of Barto, Sutton and Anderson (1983): 50 times a second the cart is pushed to the left or to the
right, and each step at whose end the pole is up and the cart on its track is worth 1. The policy is a network with one
hidden layer, trained by PPO. `rl.py` is the program.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Weights = dict[str, Array]

HIDDEN = 16
EPISODES = 16  # of one rollout
DISCOUNT, CLIP, EPOCHS, RATE = 0.99, 0.2, 4, 0.01


# ---- the task


@dataclass(frozen=True)
class Lesson:
    """How long an episode lasts at most, and how far from rest each part of the state is at its beginning."""

    name: str
    steps: int
    spread: float = 0.05


LESSONS = (Lesson("short", 100), Lesson("longer", 250), Lesson("full", 500))


def move(states: Array, rightwards: Flags) -> Array:
    """Return where carts are 20 ms later; a row is position, speed, angle of the pole and its angular speed."""
    _, speed, angle, turn = states.T
    force = np.where(rightwards, 10.0, -10.0)
    sine, cosine = np.sin(angle), np.cos(angle)
    push = (force + 0.05 * turn**2 * sine) / 1.1
    angular = (9.8 * sine - cosine * push) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
    linear = push - 0.05 * angular * cosine / 1.1
    return states + 0.02 * np.stack([speed, linear, turn, angular], axis=1)


def is_up(states: Array) -> Flags:
    return (np.abs(states[:, 0]) < 2.4) & (np.abs(states[:, 2]) < np.radians(12))


# ---- playing


@dataclass(frozen=True)
class Rollout:
    """Episodes side by side: the first index is the step, the second one the episode."""

    lesson: str
    version: int
    states: Array
    rightwards: Flags
    log_odds: Array
    alive: Flags

    @property
    def mean_return(self) -> float:
        return float(self.alive.sum(axis=0).mean())

    def save(self, path: Path) -> None:
        content = io.BytesIO()
        np.savez(content, **vars(self))
        write_whole(path, content.getvalue())

    @classmethod
    def load(cls, path: Path) -> Rollout:
        with np.load(path) as saved:
            fields = dict(saved)
        return cls(str(fields.pop("lesson")), int(fields.pop("version")), **fields)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file of which nobody ever sees a part."""
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_bytes(content)
    unfinished.replace(path)


def play(weights: Weights, lesson: Lesson, random: np.random.Generator, version: int = 0) -> Rollout:
    """Play episodes until all of them have ended."""
    states = random.uniform(-lesson.spread, lesson.spread, (EPISODES, 4))
    alive = np.ones(EPISODES, bool)
    steps: list[tuple[Array | Flags, ...]] = []
    while alive.any() and len(steps) < lesson.steps:
        odds = log_odds(weights, states)[1]
        rightwards = random.random(EPISODES) < sigmoid(odds)
        steps.append((states, rightwards, odds, alive))
        states = move(states, rightwards)
        alive = alive & is_up(states)
    return Rollout(lesson.name, version, *map(np.array, zip(*steps, strict=True)))


# ---- the policy


def log_odds(weights: Weights, states: Array) -> tuple[Array, Array]:
    """Return the hidden layer, and the logarithm of the odds of a push to the right."""
    hidden = np.tanh(states @ weights["in"] + weights["bias"])
    return hidden, hidden @ weights["out"]


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def log_probability(odds: Array, rightwards: Flags) -> Array:
    return -np.logaddexp(0.0, np.where(rightwards, -odds, odds))


def advantages(alive: Flags) -> Array:
    """Return what was to come at each step, discounted, less the mean of the episodes that were alive then."""
    to_come = np.zeros((len(alive) + 1, alive.shape[1]))
    for step in reversed(range(len(alive))):
        to_come[step] = alive[step] * (1.0 + DISCOUNT * to_come[step + 1])
    means = to_come[:-1].sum(axis=1) / np.maximum(1, alive.sum(axis=1))
    return to_come[:-1] - means[:, None]


class Learner:
    """A policy and its optimiser, Adam, which go into one file."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.updates = 0
        self._steps = 0
        self.weights: Weights = {
            "in": random.normal(0.0, 0.5, (4, HIDDEN)),
            "bias": np.zeros(HIDDEN),
            "out": random.normal(0.0, 0.1, HIDDEN),
        }
        self._mean = {name: np.zeros_like(value) for name, value in self.weights.items()}
        self._square = {name: np.zeros_like(value) for name, value in self.weights.items()}

    def learn(self, rollouts: Sequence[Rollout]) -> None:
        """Make likelier what went better than other episodes at the same step, though not by much at once (PPO)."""
        states, rightwards, old_odds = (
            np.concatenate([getattr(each, name)[each.alive] for each in rollouts])
            for name in ("states", "rightwards", "log_odds")
        )
        gain = np.concatenate([advantages(each.alive)[each.alive] for each in rollouts])
        gain = (gain - gain.mean()) / (gain.std() + 1e-8)
        for _ in range(EPOCHS):
            hidden, odds = log_odds(self.weights, states)
            ratio = np.exp(log_probability(odds, rightwards) - log_probability(old_odds, rightwards))
            is_far = np.where(gain > 0, ratio > 1 + CLIP, ratio < 1 - CLIP)
            slope = np.where(is_far, 0.0, gain * ratio) * (rightwards - sigmoid(odds)) / len(states)
            inner = np.outer(slope, self.weights["out"]) * (1 - hidden**2)
            self._climb({"in": states.T @ inner, "bias": inner.sum(axis=0), "out": hidden.T @ slope})
        self.updates += 1

    def _climb(self, gradients: Weights) -> None:
        self._steps += 1
        scale = RATE * np.sqrt(1 - 0.999**self._steps) / (1 - 0.9**self._steps)
        for name, gradient in gradients.items():
            self._mean[name] = 0.9 * self._mean[name] + 0.1 * gradient
            self._square[name] = 0.999 * self._square[name] + 0.001 * gradient**2
            self.weights[name] = self.weights[name] + scale * self._mean[name] / (np.sqrt(self._square[name]) + 1e-8)
