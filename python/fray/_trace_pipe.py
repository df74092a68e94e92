"""The pipe in a session's folder by which spans of C++ processes come: lines of JSON that src/capi/spans.h writes.

Programs of one service that export to one place have one pipe on a node, for it matters not which of them exports.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import select
import threading
from collections.abc import Callable
from contextlib import suppress

__all__ = ["PIPE_VARIABLE", "TracePipe", "pipe_name", "pipe_path"]

PIPE_VARIABLE = "FRAY_SPANS"
_BYTES = 1 << 20
"""Of the pipe, as far as the kernel gives them; what one read takes is whole lines, therefore."""


def pipe_name(service: str) -> str:
    """Return the name of the pipe of a program that exports as this process does."""
    told = sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith("OTEL_"))
    return hashlib.sha256("\n".join([service, *told]).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def pipe_path(folder: str, name: str) -> str:
    """Return where the pipe of that name is."""
    return os.path.join(folder, f"spans-{name}")


class TracePipe:
    """Takes the lines of a pipe, in a thread, until it is closed.

    Args:
        path: of the pipe, which is made where there is none.
        take: called with the lines that have come.

    Raises:
        OSError: there is no such folder.
    """

    def __init__(self, path: str, take: Callable[[list[bytes]], None]) -> None:
        with suppress(FileExistsError):
            os.mkfifo(path, 0o600)
        # For writing as well: the pipe has no end while nobody writes.
        self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        with suppress(OSError):
            fcntl.fcntl(self._pipe, fcntl.F_SETPIPE_SZ, _BYTES)
        self._take = take
        self._ended, self._end = os.pipe()
        self._reading = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="fray-cpp-spans", daemon=True)
        self._thread.start()

    def drain(self) -> None:
        """Take what is there."""
        with self._reading:
            while True:
                try:
                    text = os.read(self._pipe, _BYTES)
                except BlockingIOError:
                    return
                self._take(text.splitlines())

    def close(self) -> None:
        """Take what is there, and no more."""
        os.close(self._end)
        self._thread.join()
        self.drain()
        os.close(self._pipe)
        os.close(self._ended)

    def _run(self) -> None:
        events = select.poll()  # select() refuses descriptors from 1024 on
        for file in (self._pipe, self._ended):
            events.register(file, select.POLLIN)
        while True:
            if any(file == self._ended for file, _ in events.poll()):
                return
            self.drain()
