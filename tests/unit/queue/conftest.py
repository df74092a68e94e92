"""A node that keeps queues, for all tests of a run, and its clock."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from fray.queue import HttpQueue, HttpQueueServer


class QueueNode:
    """A server whose leases run by a clock that a test can move."""

    def __init__(self, server: HttpQueueServer, clock: Path) -> None:
        self.server = server
        self._clock = clock
        self._ahead = 0.0
        self._names = itertools.count()

    def new_queue(self) -> HttpQueue[object]:
        return self.server.new_queue(f"queue-{next(self._names)}")

    def pass_time(self, seconds: float) -> None:
        self._ahead += seconds
        written = self._clock.with_suffix(".new")
        written.write_text(str(self._ahead))
        written.rename(self._clock)


@pytest.fixture(scope="session")
def queue_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueueNode]:
    clock = tmp_path_factory.mktemp("clock") / "ahead"
    with ExitStack() as closing:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("FRAY_QUEUE_CLOCK", str(clock))
            server = closing.enter_context(HttpQueueServer())
        yield QueueNode(server, clock)
