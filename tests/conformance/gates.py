"""Meeting points between a test and its tasks, wherever they run: named pipes, so nobody sleeps or polls."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Gate:
    """One side waits until the other passes; each `open` lets one `wait` through."""

    path: str

    @staticmethod
    def make(path: str) -> Gate:
        os.mkfifo(path)
        return Gate(path)

    def wait(self) -> None:
        """Block until `open` is called."""
        with open(self.path, "rb") as pipe:
            pipe.read()

    def open(self) -> None:
        """Block until somebody waits, and let it go."""
        with open(self.path, "wb"):
            pass

    def announce_and_wait(self, started: Gate) -> None:
        """Open `started`, then block until `open_if_waited_for`."""
        # Open for both ends, so that reading waits although nobody writes.
        with open(self.path, "r+b", buffering=0) as pipe:
            started.open()
            pipe.read(1)

    def open_if_waited_for(self) -> None:
        """Let an `announce_and_wait` go, if there is still one; never blocks."""
        fd = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)
        os.write(fd, b"x")
        os.close(fd)


@dataclass(frozen=True)
class Journal:
    """A file that tasks write lines to, whole ones and in some order."""

    path: str

    def add(self, line: object) -> int:
        """Append a line and return how many there were before, seen by this process."""
        fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(fd, f"{line}\n".encode())
        finally:
            os.close(fd)
        return len(self.lines()) - 1

    def lines(self) -> list[str]:
        if not os.path.exists(self.path):
            return []
        with open(self.path) as file:
            return file.read().splitlines()
