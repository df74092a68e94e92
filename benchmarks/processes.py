"""What a set of processes uses, from /proc: proportional memory and processor time."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

_PSS = re.compile(rb"^Pss:\s+(\d+) kB", re.MULTILINE)
_SHMEM = re.compile(r"^Shmem:\s+(\d+) kB", re.MULTILINE)


def processes_of(root: int, mark: str) -> set[int]:
    """Return `root`, its descendants, and the processes with `mark` in the environment that they were started with.

    Daemons leave their parent, so the tree alone misses them; programs that write a title over their environment are
    missed by the mark alone.
    """
    parents = _parents()
    found = {pid for pid in parents if _is_marked(pid, mark)} | {root}
    grown = True
    while grown:
        children = {pid for pid, parent in parents.items() if parent in found} - found
        found |= children
        grown = bool(children)
    return found


def pss_bytes(pids: Iterable[int]) -> int:
    """Return the sum of the proportional set sizes; a process that has ended counts nothing."""
    total = 0
    for pid in pids:
        match = _PSS.search(_read(f"/proc/{pid}/smaps_rollup"))
        total += int(match[1]) * 1024 if match else 0
    return total


def cpu_seconds(pids: Iterable[int]) -> float:
    """Return the time on a processor of all living threads, in seconds with a resolution of nanoseconds."""
    total = 0
    for pid in pids:
        for thread in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            fields = _read(thread).split()
            total += int(fields[0]) if fields else 0
    return total / 1e9


def shared_memory_bytes() -> int:
    """Return the shared memory of the whole machine, that which nobody has mapped included."""
    match = _SHMEM.search(Path("/proc/meminfo").read_text())
    return int(match[1]) * 1024 if match else 0


def _parents() -> dict[int, int]:
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            # The name in brackets may hold spaces and brackets of its own.
            fields = _read(entry / "stat").rpartition(b")")[2].split()
            if len(fields) > 1:
                parents[int(entry.name)] = int(fields[1])
    return parents


def _is_marked(pid: int, mark: str) -> bool:
    return f"={mark}".encode() in _read(f"/proc/{pid}/environ")


def _read(path: str | os.PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""
