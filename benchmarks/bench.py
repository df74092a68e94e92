"""`Bench`: what a workload gets to work with in its child process."""

from __future__ import annotations

import os
import uuid
from contextlib import ExitStack
from typing import Any, TypeVar

from benchmarks.engines import Engine, open_engine
from benchmarks.settings import Settings

MARK = "BENCH_MARK"
"""The environment variable by which processes are found that belong to a workload."""

T = TypeVar("T")


class Bench:
    """One peer in one row: opens engines and keeps what is to be closed at the end."""

    def __init__(self, peer: str, settings: Settings, ray_address: str | None) -> None:
        self.peer = peer
        self.settings = settings
        self.mark = uuid.uuid4().hex
        self.closing = ExitStack()
        self.address = ray_address

    @property
    def seconds(self) -> float:
        """How long a round that counts calls lasts."""
        return 0.1 if self.settings.quick else 1.0

    def size(self, full: T, quick: T) -> T:
        """Return the size for this run: the full one, or the tiny one of a quick run."""
        return quick if self.settings.quick else full

    def engine(self, own: bool = False) -> Engine:
        """Start the peer, or connect to it, with two CPUs; it is closed at the end.

        Args:
            own: Ray gets daemons of its own; otherwise the driver connects to those that live through the run.
        """
        os.environ[MARK] = self.mark
        address = None if own else self.address
        return self.closing.enter_context(open_engine(self.peer, self.settings.fray_context, address))

    def ray(self) -> None:
        """Initialise Ray in this process, for a row that needs it: the Ray that lives through the run, else its own."""
        from benchmarks.engines.ray_engine import connection

        self.closing.enter_context(connection(self.address))

    def ray_address(self) -> str:
        """Return the address of the Ray that lives through the run, for a program that connects by itself.

        Raises:
            RuntimeError: the run has none.
        """
        if self.address is None:
            raise RuntimeError("this row needs the Ray that lives through the run: start it with python -m benchmarks")
        return self.address

    def environment(self) -> dict[str, str]:
        """Return the environment for a program whose processes are to be found by the mark."""
        return {**os.environ, MARK: self.mark}

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *error: Any) -> None:
        self.closing.close()
