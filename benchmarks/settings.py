"""What the environment asks of a run. Read here and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

PEERS = ("fray", "ray", "pool", "joblib", "dask", "limit")

FrayContext = Literal["native", "thread"]


@dataclass(frozen=True)
class Settings:
    """One run's settings.

    Attributes:
        only: names of the rows to run; empty for all.
        peers: who is measured.
        rounds: rounds of each row that does not bring a number of its own.
        quick: tiny sizes, to see that everything works; the figures mean little.
        fray_context: the context behind the column "fray"; "thread" tries the harness without the native engine.
    """

    only: tuple[str, ...] = ()
    peers: tuple[str, ...] = PEERS
    rounds: int = 5
    quick: bool = False
    fray_context: FrayContext = "native"


def read_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings that BENCH_ONLY, BENCH_PEERS, BENCH_ROUNDS, BENCH_QUICK and BENCH_FRAY_CONTEXT name.

    Raises:
        ValueError: a value that makes no sense.
    """
    quick = environment.get("BENCH_QUICK", "") not in ("", "0")
    peers = _names(environment.get("BENCH_PEERS", "")) or PEERS
    unknown = [peer for peer in peers if peer not in PEERS]
    if unknown:
        raise ValueError(f"BENCH_PEERS: unknown {', '.join(unknown)}; there are {', '.join(PEERS)}")
    return Settings(
        only=_names(environment.get("BENCH_ONLY", "")),
        peers=peers,
        rounds=_rounds(environment.get("BENCH_ROUNDS", ""), 2 if quick else 5),
        quick=quick,
        fray_context=_context(environment.get("BENCH_FRAY_CONTEXT", "")),
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _rounds(text: str, default: int) -> int:
    if not text:
        return default
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"BENCH_ROUNDS must be a whole number from 1, got {text!r}")
    return int(text)


def _context(text: str) -> FrayContext:
    if text in ("", "native"):
        return "native"
    if text == "thread":
        return "thread"
    raise ValueError(f"BENCH_FRAY_CONTEXT must be native or thread, got {text!r}")
