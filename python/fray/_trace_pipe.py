"""Reads the pipe in a session's folder into which C++ processes write their spans (src/capi/spans.h): lines of JSON.

Programs of one node share a pipe if they have the same service name and the same settings of OpenTelemetry: then it
makes no difference which of them exports a span.
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
"""Size of the pipe, if the kernel allows it, and of a read. So a read takes all that is there, which is whole lines."""


def pipe_name(service: str) -> str:
    """Return the name of the pipe of all programs of this service that export as this process does."""
    told = sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith("OTEL_"))
    return hashlib.sha256("\n".join([service, *told]).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def pipe_path(folder: str, name: str) -> str:
    """Return the path of the pipe of that name in a session's folder."""
    return os.path.join(folder, f"spans-{name}")


class TracePipe:
    """Reads the lines of a pipe in a thread, until this object is closed.

    Args:
        path: path of the pipe, which is created if it does not exist.
        take: called with the lines of each read.

    Raises:
        OSError: the folder does not exist.
    """

    def __init__(self, path: str, take: Callable[[list[bytes]], None]) -> None:
        with suppress(FileExistsError):
            os.mkfifo(path, 0o600)
        # Opened for writing as well: otherwise each time the last writer closes the pipe, reads would return its end.
        self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        with suppress(OSError):
            fcntl.fcntl(self._pipe, fcntl.F_SETPIPE_SZ, _BYTES)
        self._take = take
        self._ended, self._end = os.pipe()
        self._reading = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="fray-cpp-spans", daemon=True)
        self._thread.start()

    def drain(self) -> None:
        """Read all lines that are in the pipe."""
        with self._reading:
            while True:
                try:
                    text = os.read(self._pipe, _BYTES)
                except BlockingIOError:
                    return
                self._take(text.splitlines())

    def close(self) -> None:
        """Read all lines that are in the pipe, and stop."""
        os.close(self._end)
        self._thread.join()
        self.drain()
        os.close(self._pipe)
        os.close(self._ended)

    def _run(self) -> None:
        events = select.poll()  # not select(), which refuses descriptors of 1024 and above
        for file in (self._pipe, self._ended):
            events.register(file, select.POLLIN)
        while True:
            if any(file == self._ended for file, _ in events.poll()):
                return
            self.drain()
