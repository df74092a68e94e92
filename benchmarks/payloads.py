"""The functions that tasks run. Workers import this module, so it imports little."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any


def small() -> bytes:
    """Ray's own benchmark calls it ``small_value``."""
    return b"ok"


def make_small() -> Callable[[], bytes]:
    """Return a function that cannot be imported, so that it travels by value."""
    answer = b"ok"
    return lambda: answer


def make_reader(array: Any) -> Callable[[], float]:
    """Return a function by value that reads one number of an array."""
    return lambda: float(array[0])


def identity(number: int) -> int:
    return number


def byte_count(array: Any) -> int:
    return array.nbytes


def burn(turns: int) -> int:
    """Keep a core busy for a time that `turns` sets; it does not look at the clock, so being preempted costs."""
    state = 1
    for _ in range(turns):
        state = (state * 3 + 1) & 0xFFFF
    return state


def rest(seconds: float) -> None:
    """Keep a worker for so long, and no core."""
    time.sleep(seconds)


def append_byte(path: str) -> None:
    """Leave a trace that this ran."""
    _append(path, b".")


def stay_unless_retried(path: str) -> None:
    """Write "pid time" (CLOCK_MONOTONIC, ns) to `path`; the first call then waits to be killed."""
    first = not os.path.exists(path) or os.path.getsize(path) == 0
    _append(path, b"%d %d\n" % (os.getpid(), time.monotonic_ns()))
    if first:
        time.sleep(30)


def _append(path: str, data: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(file, data)
    os.close(file)
