"""The resources of the nodes of a Ray cluster, and which demands no node can ever meet. Decisions are functions."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence

from fray._units import amount_text
from fray.errors import InfeasibleError
from fray.job.actor_options import HEAD_NODE_SHARE

__all__ = ["Capacity", "demand_text", "on_head", "refusal", "shortage", "shortage_of_gang"]

HEAD_NODE = "head_node"
RAY_HEAD = "node:__internal_head__"
"""The resource by which Ray marks its head node."""
_FRESH_SECONDS = 2.0

Nodes = Sequence[Mapping[str, float]]
"""The resources of every node that lives."""


def on_head(demand: Mapping[str, float], nodes: Nodes) -> dict[str, float]:
    """Return `demand` with ``head_node`` as Ray's own mark of its head, unless a node declares ``head_node``."""
    if HEAD_NODE not in demand or any(HEAD_NODE in node for node in nodes):
        return dict(demand)
    kept = {name: amount for name, amount in demand.items() if name != HEAD_NODE}
    return {**kept, RAY_HEAD: min(demand[HEAD_NODE], HEAD_NODE_SHARE)}


def shortage(demand: Mapping[str, float], nodes: Nodes) -> str | None:
    """Return why `demand` can never fit on any of `nodes`; None where it fits on one."""
    if any(all(node.get(name, 0) >= amount for name, amount in demand.items()) for node in nodes):
        return None
    parts: list[str] = []
    for name, amount in demand.items():
        most = max((node.get(name, 0) for node in nodes), default=0)
        if amount > most:
            asked, has = _text(name, amount, most), _text(name, most, amount)
            parts.append(f"{name}: asked for {asked}, the most that a node has is {has}")
    return "; ".join(parts) or f"no single node has all of {', '.join(demand)} at once"


def shortage_of_gang(demand: Mapping[str, float], count: int, nodes: Nodes) -> str | None:
    """Return why `count` replicas of `demand` can never run at the same time; None where they fit."""
    needed = {name: amount for name, amount in demand.items() if amount > 0}
    if not needed or count == 1:
        return shortage(demand, nodes)
    room = sum(min(int(node.get(name, 0) / amount) for name, amount in needed.items()) for node in nodes)
    if room >= count:
        return None
    return f"{count} replicas with {demand_text(needed)} each: there is room for {room} at once"


def demand_text(demand: Mapping[str, float]) -> str:
    """Return a demand as people write it, without resources whose amount is 0."""
    return ", ".join(f"{name} {amount_text(name, amount)}" for name, amount in demand.items() if amount > 0)


def _text(name: str, amount: float, beside: float) -> str:
    text = amount_text(name, amount)
    return text if text != amount_text(name, beside) else f"{amount:.0f} bytes"


def refusal(what: str, lacking: str) -> InfeasibleError:
    """Return the error for a request that no node of this Ray can ever serve."""
    return InfeasibleError(
        f"{what} asks for what no node of this Ray has ({lacking}); ask for less, start a node that has it, or say "
        "ray?autoscaling=true where nodes come by themselves"
    )


class Capacity:
    """Remembers the resources of the nodes for a moment, so that a loop of submissions does not ask Ray each time.

    Args:
        list_nodes: asks Ray for the nodes.
        grows: whether further nodes may come, so that nothing is refused.
    """

    def __init__(self, list_nodes: Callable[[], Nodes], grows: bool) -> None:
        self._list_nodes = list_nodes
        self._grows = grows
        self._lock = threading.Lock()
        self._nodes: Nodes = ()
        self._asked = float("-inf")

    def place(self, demand: Mapping[str, float], what: str) -> dict[str, float]:
        """Return the resources to ask Ray for.

        Raises:
            InfeasibleError: no node can ever give them; Ray itself would wait forever.
        """
        for fresh in (False, True):
            nodes = self.nodes(fresh)
            placed = on_head(demand, nodes)
            lacking = shortage(placed, nodes)
            if lacking is None or self._grows:
                return placed
        raise refusal(what, lacking)

    def nodes(self, fresh: bool = False) -> Nodes:
        """Return the resources of the nodes, as of a moment ago at most."""
        with self._lock:
            if fresh or time.monotonic() - self._asked > _FRESH_SECONDS:
                self._nodes = self._list_nodes()
                self._asked = time.monotonic()
            return self._nodes
