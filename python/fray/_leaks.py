"""What a test may not leave behind: processes, descriptors, threads, shared memory. Reads /proc; needs nothing else."""

from __future__ import annotations

import gc
import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["MARKER", "LeakChecker", "Process", "look_at", "marked_processes"]

MARKER = "FRAY_TEST_MARKER"
"""Every process that a test starts has this variable in its environment, with a value that only this test has."""


@dataclass(frozen=True)
class Process:
    """A process as it was when it was looked at."""

    pid: int
    started: int
    """Start time in clock ticks; together with the pid it identifies one process, even when the pid is used again."""
    parent: int
    state: str
    command: str

    def is_alive(self) -> bool:
        """Return whether this very process still runs: after SIGKILL its main thread may be gone before the others."""
        now = look_at(self.pid)
        if now is None or now.started != self.started:
            return False
        return now.state not in "ZX" or _has_threads(self.pid)

    def signal(self, number: int) -> None:
        """Send a signal to this very process, not to a later one with the same pid."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            if self.is_alive():
                signal.pidfd_send_signal(descriptor, number)
        except ProcessLookupError:
            pass
        finally:
            os.close(descriptor)


def _has_threads(pid: int) -> bool:
    """Return whether a process whose main thread has ended has others, which hold its files and locks."""
    try:
        return len(os.listdir(f"/proc/{pid}/task")) > 1
    except OSError:
        return False


def look_at(pid: int) -> Process | None:
    """Return the process as /proc describes it, or None where there is none."""
    try:
        raw = Path(f"/proc/{pid}/stat").read_bytes()
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, ValueError):
        return None
    fields = raw[raw.rindex(b")") + 2 :].split()
    words = command.rstrip(b"\0").split(b"\0")
    text = b" ".join(word[:200] for word in words).decode(errors="replace")
    return Process(pid, int(fields[19]), int(fields[1]), fields[0].decode(), text)


def all_processes() -> list[Process]:
    """Return every process that can be seen."""
    found = [look_at(int(name)) for name in os.listdir("/proc") if name.isdigit()]
    return [process for process in found if process is not None]


def marked_processes(marker: str) -> list[Process]:
    """Return the living processes, apart from this one, whose environment carries the marker."""
    wanted = f"{MARKER}={marker}".encode()
    found: list[Process] = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            environment = Path(f"/proc/{name}/environ").read_bytes()
        except OSError:
            continue
        process = look_at(int(name)) if wanted in environment.split(b"\0") else None
        if process is not None and process.state not in "ZX":
            found.append(process)
    return found


def descendants() -> list[Process]:
    """Return the children of this process, their children, and so on."""
    children: dict[int, list[Process]] = {}
    for process in all_processes():
        children.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    parents = [os.getpid()]
    while parents:
        below = children.get(parents.pop(), [])
        found += below
        parents += [process.pid for process in below]
    return found


def open_descriptors() -> dict[int, str]:
    """Return the open descriptors of this process and what they are."""
    found: dict[int, str] = {}
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # the descriptor of this very listing
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
    return found


def is_xdist_worker() -> bool:
    """Return whether pytest-xdist runs tests in other processes beside this one."""
    return "PYTEST_XDIST_WORKER" in os.environ


def shared_memory_files(only_of_fray: bool) -> set[str]:
    """Return the files of this user in /dev/shm: all, or those that are surely Fray's."""
    found: set[str] = set()
    for path in Path("/dev/shm").iterdir():
        with suppress(OSError):
            if path.stat().st_uid == os.getuid() and (not only_of_fray or path.name.startswith("fray")):
                found.add(path.name)
    return found


def shared_memory_maps() -> int:
    """Return how many maps of anonymous shared files this process has."""
    return sum("memfd:" in line for line in Path("/proc/self/maps").read_text().splitlines())


def thread_numbers() -> set[int]:
    """Return the ids of all threads of this process, including threads that Python does not know."""
    return {int(name) for name in os.listdir("/proc/self/task")}


@dataclass
class LeakChecker:
    """Notes before a test what exists, and reports after it what exists in addition.

    Args:
        marker: value of the variable `MARKER` in the environment of what the test starts.
        within: seconds within which leftovers may still vanish.
        threads: look for threads too. Libraries start some when they are first used, so that is not the default.
        among_others: other programs run meanwhile, so files in /dev/shm count only if their names begin with ``fray``.
    """

    marker: str
    within: float = 5.0
    threads: bool = False
    among_others: bool = field(default_factory=is_xdist_worker)
    _descriptors: dict[int, str] = field(default_factory=open_descriptors)
    _memory_files: set[str] = field(init=False)
    _memory_maps: int = field(default_factory=shared_memory_maps)
    _threads: set[int] = field(default_factory=thread_numbers)
    _children: set[int] = field(default_factory=lambda: {process.pid for process in descendants()})

    def __post_init__(self) -> None:
        self._memory_files = shared_memory_files(self.among_others)

    def processes(self) -> list[Process]:
        """Return the processes that were not there before."""
        ours = {process.pid: process for process in marked_processes(self.marker)}
        ours.update({process.pid: process for process in descendants() if process.pid not in self._children})
        return list(ours.values())

    def processes_left(self) -> list[str]:
        """Return a line for each process that was not there before."""
        return [f"process {process.pid}: {process.command} ({process.state})" for process in self.processes()]

    def leftovers(self) -> list[str]:
        """Return a line for each thing that was not there before."""
        found = self.processes_left()
        now = open_descriptors()
        found += [
            f"descriptor {number}: {what}" for number, what in now.items() if self._descriptors.get(number) != what
        ]
        found += [
            f"shared memory: /dev/shm/{name}" for name in shared_memory_files(self.among_others) - self._memory_files
        ]
        if self.threads:
            found += [f"thread {number}" for number in thread_numbers() - self._threads]
        more_maps = shared_memory_maps() - self._memory_maps
        if more_maps > 0:
            found.append(f"{more_maps} maps of shared memory: arrays of a context that somebody still holds")
        return found

    def check(self, only_processes: bool = False) -> list[str]:
        """Wait until nothing is left over; after `within` seconds end remaining processes, and return what was left."""
        gc.collect()
        look = self.processes_left if only_processes else self.leftovers
        deadline = time.monotonic() + self.within
        while (left := look()) and time.monotonic() < deadline:
            time.sleep(0.01)
        for process in self.processes():
            process.signal(signal.SIGCONT)
            process.signal(signal.SIGKILL)
        return left
