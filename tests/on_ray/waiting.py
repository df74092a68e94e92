"""Waits of the tests on Ray, which takes its time."""

from __future__ import annotations

import time
from collections.abc import Callable

WAIT_SECONDS = 90


def wait_until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.1)
