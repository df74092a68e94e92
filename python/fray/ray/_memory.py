"""How much memory this machine or its container has, and how much of it is used: `ray._private.utils`."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

__all__ = ["get_system_memory", "get_used_memory"]

_GROUP = Path("/sys/fs/cgroup")
_LIMITS = (_GROUP / "memory.max", _GROUP / "memory" / "memory.limit_in_bytes")
_USES = (_GROUP / "memory.current", _GROUP / "memory" / "memory.usage_in_bytes")


def get_system_memory() -> int:
    """Return the bytes of memory of this machine, or of its container where that is limited to less."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(machine, _number_in(_LIMITS) or machine)


def get_used_memory() -> int:
    """Return how many of them are used, caches that can be dropped not counted."""
    total = get_system_memory()
    used = _number_in(_USES)
    if used is not None and total == _number_in(_LIMITS):
        dropped = _named((_GROUP / "memory.stat", _GROUP / "memory" / "memory.stat"), "inactive_file")
        return used - min(dropped, used)
    return total - _named((Path("/proc/meminfo"),), "MemAvailable:") * 1024


def _number_in(files: tuple[Path, ...]) -> int | None:
    """Return the number that the first of `files` holds that there is; None where none is limited."""
    for file in files:
        with suppress(OSError, ValueError):  # "max" is no number
            return int(file.read_text())
    return None


def _named(files: tuple[Path, ...], name: str) -> int:
    for file in files:
        with suppress(OSError):
            return next((int(line.split()[1]) for line in file.read_text().splitlines() if line.startswith(name)), 0)
    return 0
