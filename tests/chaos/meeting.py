"""Tasks that meet, for tests of many workers. Each worker imports this module, so it imports little."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from tests.chaos.tasks import sleep_forever
from tests.conformance.gates import Journal


@dataclass(frozen=True)
class Meeting:
    """A place where many tasks wait until all are let go."""

    path: str

    def attend(self, journal: Journal) -> int:
        """Say that this runs, and wait."""
        with open(self.path, "r+b", buffering=0) as pipe:  # open before anybody may write
            journal.add(os.getpid())
            pipe.read(1)
        return os.getpid()

    def let_go(self, count: int) -> None:
        """Let so many go that have said that they run."""
        fd = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)
        assert os.write(fd, b"x" * count) == count
        os.close(fd)


def has_cloudpickle(meeting: Meeting, journal: Journal) -> bool:
    """Attend, and return whether this worker has cloudpickle, without a function that needs it."""
    meeting.attend(journal)
    return "cloudpickle" in sys.modules


def leave_a_child(journal: Journal) -> int:
    """Leave a child behind that would run for ever."""
    child = os.fork()
    if child == 0:
        sleep_forever()
    journal.add(child)
    return os.getpid()
