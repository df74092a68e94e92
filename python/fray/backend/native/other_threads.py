"""The threads of this process, which a fork would leave behind in the middle of what they do."""

from __future__ import annotations

import _thread
import os
import time

__all__ = ["name_of_thread", "other_threads", "threads_that_stay"]

_THREADS_THAT_EXPECT_FORKS = frozenset(("jemalloc_bg_thd",))
"""Names of threads whose libraries are made for fork(): they go on in the child without the thread."""


def threads_that_stay(seconds: float) -> list[str]:
    """Return `other_threads` that are still there after this time; when none is left, return at once.

    A thread that was joined is gone for Python, and for the kernel up to some milliseconds later.
    """
    until = time.monotonic() + seconds
    while (names := other_threads()) and time.monotonic() < until:
        time.sleep(0.001)
    return names


def other_threads() -> list[str]:
    """Return the names of the threads of this process but this one and those of libraries that are made for forks."""
    this = _thread.get_native_id()
    names: list[str] = []
    for thread in os.listdir("/proc/self/task"):
        if int(thread) == this:
            continue
        try:
            names.append(name_of_thread(int(thread)))
        except OSError:  # the thread has ended
            continue
    return [name for name in names if name not in _THREADS_THAT_EXPECT_FORKS]


def name_of_thread(native_id: int) -> str:
    """Return the name that the kernel has for a thread of this process; by default it is that of the process.

    Raises:
        OSError: there is no such thread.
    """
    with open(f"/proc/self/task/{native_id}/comm") as file:
        return file.read().strip()
