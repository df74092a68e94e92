"""The title of this process, as `ps` and psutil show it, and the functions of `setproctitle`, which Ray brings along.

A title stands where the kernel reads the command line from: showing one is writing to memory, without a system call.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

__all__ = ["IDLE", "getproctitle", "getthreadtitle", "setproctitle", "setthreadtitle", "show", "title_of"]

IDLE = "IDLE"
"""The name for `title_of` of a worker that runs nothing."""


class _Nowhere:
    """Takes the place of the command line where the kernel does not tell its address."""

    raw = b" "


@cache
def _command_line() -> Any:
    import ctypes  # drivers seldom need it, and it takes milliseconds

    try:
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()  # from the third one of proc(5) on
        start, end = int(fields[45]), int(fields[46])
    except (OSError, IndexError, ValueError):
        return _Nowhere()
    return (ctypes.c_char * (end - start)).from_address(start) if 0 < start < end else _Nowhere()


@lru_cache(1024)
def title_of(name: str) -> bytes:
    """Return the title of a worker that runs the task `name`, for `show`."""
    return _whole(f"ray::{name}")


def _whole(title: str) -> bytes:
    size = len(_command_line().raw)
    return title.encode(errors="replace")[: size - 1].ljust(size, b"\0")


def show(title: bytes) -> None:
    """Make `title` the title of this process."""
    _command_line().raw = title


def setproctitle(title: str) -> None:
    """Make `title` the title of this process; it is cut to the length of the command line."""
    show(_whole(title))


def getproctitle() -> str:
    """Return the title of this process."""
    return _command_line().raw.rstrip(b"\0").replace(b"\0", b" ").decode(errors="surrogateescape")


def setthreadtitle(title: str) -> None:
    """Give this thread a name of at most 15 bytes."""
    with open("/proc/thread-self/comm", "wb") as file:
        file.write(title.encode(errors="replace")[:15])


def getthreadtitle() -> str:
    """Return the name of this thread."""
    with open("/proc/thread-self/comm", "rb") as file:
        return file.read().rstrip(b"\n").decode(errors="surrogateescape")
