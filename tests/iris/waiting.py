"""Waits of the tests on Iris."""

from __future__ import annotations

import time
from collections.abc import Callable

WAIT_SECONDS = 40


def wait_until(reached: Callable[[], object]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.02)
