"""The driver's terminal, lent to tasks that wait at `breakpoint()` while the main thread waits for results."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from fray import _native
from fray.backend.native.breakpoints import short_path, socket_name

if TYPE_CHECKING:
    import socket
    from pathlib import Path

__all__ = ["Terminal", "lend_terminal"]

_LOOK_EVERY_SECONDS = 0.1


class Terminal:
    """Lends the terminal of this process to one task at a time."""

    def __init__(self, client: _native.Client, session_folder: str) -> None:
        from pathlib import Path

        self._client = client
        self._folder = Path(session_folder)
        _terminals[id(client)] = self

    def lend(self, refs: Sequence[Any], count: int, timeout: float | None) -> float | None:
        """Wait until `count` of `refs` are ready or `timeout` is over, and lend the terminal meanwhile.

        Return what is left of the timeout; the time in which a task had the terminal does not count.
        """
        if not _is_usable():
            return timeout
        left = timeout
        while True:
            started = time.monotonic()
            slice_seconds = _LOOK_EVERY_SECONDS if left is None else min(_LOOK_EVERY_SECONDS, left)
            ready, _ = _native.wait(self._client, list(refs), count, slice_seconds)
            if left is not None:
                left = max(0.0, left - (time.monotonic() - started))
            if len(ready) >= count or left == 0:
                return left
            for path in self._waiting():
                _attach(path)

    def _waiting(self) -> list[Path]:
        found: list[tuple[int, Path]] = []
        for path in self._folder.glob(socket_name(os.getpid(), "*")):
            try:
                found.append((path.stat().st_mtime_ns, path))
            except OSError:  # another program has attached to it
                continue
        return [path for _, path in sorted(found)]


_terminals: WeakValueDictionary[int, Terminal] = WeakValueDictionary()


def lend_terminal(client: _native.Client, refs: Sequence[Any], timeout: float | None) -> float | None:
    """Do as `Terminal.lend` for all of `refs` where the context of `client` debugs."""
    terminal = _terminals.get(id(client))
    return timeout if terminal is None else terminal.lend(refs, len(refs), timeout)


def _is_usable() -> bool:
    if threading.current_thread() is not threading.main_thread():
        return False
    try:
        return os.isatty(sys.stdin.fileno()) and os.isatty(sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        return False


def _attach(path: Path) -> None:
    """Carry input to the task and its output to the terminal, until the task closes the connection."""
    import select
    import socket

    keyboard, screen = sys.stdin.fileno(), sys.stdout.fileno()
    sys.stdout.flush()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as task:
        try:
            with short_path(path.parent, path.name) as address:
                task.connect(address)
        except OSError:  # the task has ended, or another program has attached first
            return
        sources = select.poll()  # select() refuses descriptors from 1024 on
        for source in (task.fileno(), keyboard):
            sources.register(source, select.POLLIN)
        while True:
            ready = {source for source, _ in sources.poll()}
            if task.fileno() in ready:
                said = _receive(task)
                if not said:
                    return
                _write_all(screen, said)
            if keyboard in ready:
                typed = os.read(keyboard, 65536)
                if not typed:  # end of input: the task goes on
                    task.shutdown(socket.SHUT_WR)
                    sources.unregister(keyboard)
                    continue
                try:
                    task.sendall(typed)
                except OSError:
                    return


def _receive(task: socket.socket) -> bytes:
    try:
        return task.recv(65536)
    except ConnectionResetError:
        return b""


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
