"""What a test may not leave behind: processes, descriptors, threads, shared memory."""

from __future__ import annotations

import gc
import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.chaos.harness import Process, look_at, marked_processes


def open_descriptors() -> dict[int, str]:
    """Return the open descriptors of this process and what they are."""
    found: dict[int, str] = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue  # the descriptor of this very listing
    return found


def shared_memory_files() -> set[str]:
    """Return our files in /dev/shm."""
    found: set[str] = set()
    for path in Path("/dev/shm").iterdir():
        try:
            if path.stat().st_uid == os.getuid():
                found.add(path.name)
        except OSError:
            continue
    return found


def shared_memory_maps() -> int:
    """Return how many maps of anonymous shared files this process has."""
    return sum("memfd:" in line for line in Path("/proc/self/maps").read_text().splitlines())


def threads() -> set[int]:
    return {int(name) for name in os.listdir("/proc/self/task")}


def descendants() -> list[Process]:
    found: list[Process] = []
    for child in psutil.Process().children(recursive=True):
        process = look_at(child.pid)
        if process is not None:
            found.append(process)
    return found


@dataclass
class LeakChecker:
    """Takes stock before a test, and says after it what is there in addition."""

    marker: str
    within: float = 5.0
    descriptors: dict[int, str] = field(default_factory=open_descriptors)
    memory_files: set[str] = field(default_factory=shared_memory_files)
    memory_maps: int = field(default_factory=shared_memory_maps)
    threads: set[int] = field(default_factory=threads)
    children: set[int] = field(default_factory=lambda: {process.pid for process in descendants()})

    def processes(self) -> list[Process]:
        ours = {process.pid: process for process in marked_processes(self.marker)}
        ours.update({process.pid: process for process in descendants() if process.pid not in self.children})
        return list(ours.values())

    def processes_left(self) -> list[str]:
        return [f"process {process.pid}: {process.command} ({process.state})" for process in self.processes()]

    def leftovers(self) -> list[str]:
        """Return a line for each thing that was not there before."""
        found = self.processes_left()
        now = open_descriptors()
        found += [
            f"descriptor {number}: {what}" for number, what in now.items() if self.descriptors.get(number) != what
        ]
        found += [f"shared memory: {name}" for name in shared_memory_files() - self.memory_files]
        found += [f"thread {number}" for number in threads() - self.threads]
        more_maps = shared_memory_maps() - self.memory_maps
        if more_maps > 0:
            found.append(f"{more_maps} maps of shared memory")
        return found

    def check(self, only_processes: bool = False) -> list[str]:
        """Wait until nothing is left over; return what still is, having ended the processes among it."""
        gc.collect()
        look = self.processes_left if only_processes else self.leftovers
        deadline = time.monotonic() + self.within
        while (left := look()) and time.monotonic() < deadline:
            time.sleep(0.01)
        for process in self.processes():
            process.signal(signal.SIGCONT)
            process.signal(signal.SIGKILL)
        return left
