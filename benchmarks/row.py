"""`Row`: one line of the report, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from benchmarks.bench import Bench
from benchmarks.measurement import Measurement
from benchmarks.settings import Settings
from benchmarks.target import Better, Target

Round = Callable[[], Measurement]
"""One round; the child process calls it each time the runner says so."""
Workload = Callable[[Bench], Round]
"""Sets a peer up, in its child process, and returns the round."""


@dataclass(frozen=True)
class Row:
    """A workload and what is asked of it.

    Attributes:
        name: as in bench.json.
        unit: of the value, such as ``"1/s"``.
        better: which way is better.
        payload: what one call does, in a few words.
        workload: of the peers "fray", "ray", "pool", "joblib" and "dask".
        peers: those of the five that can do it.
        limit: what the machine itself can do, in the same unit; None where there is no such thing.
        targets: the figures asked of Fray.
        rounds: peer to number of rounds, where it is not the run's.
        fresh: every round gets a new process; otherwise a peer's process lives through the row.
        warm: one round goes unrecorded before the first.
        needs_ray: the peer "fray" uses the Ray that lives through the run, for it stands on it.
        timeout_seconds: for the set-up, and for each round.
    """

    name: str
    unit: str
    better: Better
    payload: str
    workload: Workload | None
    peers: tuple[str, ...] = ("fray", "ray")
    limit: Workload | None = None
    targets: tuple[Target, ...] = ()
    rounds: Mapping[str, int] = field(default_factory=dict)
    fresh: bool = False
    warm: bool = True
    needs_ray: bool = False
    timeout_seconds: float = 60.0

    def peers_to_run(self, settings: Settings) -> list[str]:
        """Return the peers of this row that the run has."""
        has = self.peers if self.workload is not None else ()
        own = (*has, "limit") if self.limit is not None else has
        return [peer for peer in settings.peers if peer in own]

    def uses_ray(self, peer: str) -> bool:
        """Return whether that peer uses the Ray that lives through the run."""
        return peer == "ray" or (peer == "fray" and self.needs_ray)

    def rounds_of(self, peer: str, settings: Settings) -> int:
        """Return the number of rounds of a peer; few in a quick run."""
        asked = self.rounds.get(peer, settings.rounds)
        return min(asked, settings.rounds) if settings.quick else asked

    def workload_of(self, peer: str) -> Workload:
        """Return what the child process of a peer runs.

        Raises:
            LookupError: the peer has no part in this row.
        """
        workload = self.limit if peer == "limit" else self.workload
        if workload is None:
            raise LookupError(f"row {self.name} has no {peer}")
        return workload
