"""Targets: the figures asked of Fray, as data, and whether a run meets them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from benchmarks.summary import Summary

Better = Literal["higher", "lower"]
Peers = Mapping[str, Summary]


class Target(ABC):
    """One figure that is asked of Fray in a row."""

    @abstractmethod
    def text(self) -> str:
        """Return the figure in a few characters, for tables."""

    @abstractmethod
    def met(self, peers: Peers, better: Better) -> bool | None:
        """Return whether the run meets it; None where a peer that it needs was not measured."""


@dataclass(frozen=True)
class AtLeast(Target):
    """A figure of Fray's is this or more: the row's value, or the further figure that is named."""

    amount: float
    figure: str = "median"

    def text(self) -> str:
        return _bound("≥", self.amount, self.figure)

    def met(self, peers: Peers, better: Better) -> bool | None:
        found = _fray_figure(peers, self.figure)
        return None if found is None else found >= self.amount


@dataclass(frozen=True)
class AtMost(Target):
    """A figure of Fray's is this or less."""

    amount: float
    figure: str = "median"

    def text(self) -> str:
        return _bound("≤", self.amount, self.figure)

    def met(self, peers: Peers, better: Better) -> bool | None:
        found = _fray_figure(peers, self.figure)
        return None if found is None else found <= self.amount


@dataclass(frozen=True)
class TimesPeer(Target):
    """Fray is so many times better than a peer, in the direction of the row."""

    factor: float
    peer: str

    def text(self) -> str:
        return f"≥ {self.factor:g}x {self.peer}"

    def met(self, peers: Peers, better: Better) -> bool | None:
        found = advantage(peers, self.peer, better)
        return None if found is None else found >= self.factor


@dataclass(frozen=True)
class AnyOf(Target):
    """One of two is enough."""

    first: Target
    second: Target

    def text(self) -> str:
        return f"{self.first.text()} or {self.second.text()}"

    def met(self, peers: Peers, better: Better) -> bool | None:
        answers = (self.first.met(peers, better), self.second.met(peers, better))
        if True in answers:
            return True
        return None if None in answers else False


def advantage(peers: Peers, peer: str, better: Better) -> float | None:
    """Return how many times better than `peer` Fray is, by medians; None where one of them is missing or zero."""
    if "fray" not in peers or peer not in peers:
        return None
    ours, theirs = peers["fray"].value.median, peers[peer].value.median
    if ours <= 0 or theirs <= 0:
        return None
    return ours / theirs if better == "higher" else theirs / ours


def _fray_figure(peers: Peers, figure: str) -> float | None:
    return peers["fray"].figure(figure) if "fray" in peers else None


def _bound(sign: str, amount: float, figure: str) -> str:
    number = f"{amount:,.10g}"
    return f"{sign} {number}" if figure == "median" else f"{figure} {sign} {number}"
