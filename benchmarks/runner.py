"""Runs one row: its peers take turns, round by round, each in processes of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.measurement import Measurement
from benchmarks.peer_process import PeerFailedError, PeerProcess
from benchmarks.row import Row
from benchmarks.settings import Settings
from benchmarks.summary import Summary, summarize


@dataclass
class RowResult:
    """What a row gave: a summary for each peer that was measured, an error for each that failed."""

    row: Row
    peers: dict[str, Summary] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)


@dataclass
class _Turns:
    """One peer's rounds so far. A process that lives through the row is kept; else each round starts one."""

    start: Callable[[], PeerProcess]
    rounds: int
    fresh: bool
    process: PeerProcess | None = None
    measurements: list[Measurement] = field(default_factory=list)

    def take(self) -> None:
        """Do the next round."""
        if self.process is None:
            self.process = self.start()
            self.process.ready()
        self.measurements.append(self.process.measure())
        if self.fresh:
            self.close()

    def close(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            process.close()


def run_row(row: Row, peers: list[str], settings: Settings, logs: Path, ray_address: str | None) -> RowResult:
    """Measure the peers given; a peer that fails is left out of the rest of the row.

    Args:
        row: what to run.
        peers: who takes part, a subset of the row's.
        settings: of the run.
        logs: folder for what the processes print.
        ray_address: of the Ray that lives through the run.
    """
    result = RowResult(row)
    with ExitStack() as closing:
        turns = {peer: _turns(row, peer, settings, logs, ray_address) for peer in peers}
        for of_peer in turns.values():
            closing.callback(of_peer.close)
        for number in range(max((of_peer.rounds for of_peer in turns.values()), default=0)):
            for peer in rotated(peers, number):
                if peer not in result.errors and number < turns[peer].rounds:
                    _take(turns[peer], peer, result)
    compare_results({peer: of_peer.measurements for peer, of_peer in turns.items()}, result)
    for peer, of_peer in turns.items():
        if of_peer.measurements and peer not in result.errors:
            result.peers[peer] = summarize(of_peer.measurements)
    return result


def rotated(peers: list[str], number: int) -> list[str]:
    """Return the peers in the order of a round, so that nobody always follows the same one."""
    first = number % len(peers) if peers else 0
    return peers[first:] + peers[:first]


def compare_results(measured: Mapping[str, Sequence[Measurement]], result: RowResult) -> None:
    """Take a peer as failed whose rounds came to something else than the first peer's first round."""
    expected: str | None = None
    for peer, measurements in measured.items():
        found = {each.result for each in measurements}
        if not found or peer in result.errors:
            continue
        expected = measurements[0].result if expected is None else expected
        if found != {expected}:
            result.errors[peer] = f"its rounds came to {', '.join(sorted(found))}, and others to {expected}"


def _turns(row: Row, peer: str, settings: Settings, logs: Path, ray_address: str | None) -> _Turns:
    log = logs / f"{row.name}-{peer}.log"
    address = ray_address if row.uses_ray(peer) else None

    def start() -> PeerProcess:
        return PeerProcess(row.name, peer, row.timeout_seconds, log, address)

    return _Turns(start, row.rounds_of(peer, settings), row.fresh)


def _take(turns: _Turns, peer: str, result: RowResult) -> None:
    try:
        turns.take()
    except PeerFailedError as error:
        result.errors[peer] = str(error)
        turns.close()
