"""How tests wait for something that other processes or threads do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from tests.slowness import SLOWNESS

PATIENCE = 30.0 * SLOWNESS
"""Seconds within which anything must happen that has no figure of its own: long enough for a busy machine."""

LONG_PATIENCE = 100.0
"""The same of other clusters than ours, and of whole programs."""

T = TypeVar("T")


def eventually(condition: Callable[[], T], within: float = PATIENCE, what: str = "", every: float = 0.002) -> T:
    """Ask until `condition` gives something true, and return that."""
    deadline = time.monotonic() + within
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() >= deadline:
            raise AssertionError(f"not within {within} s: {what or getattr(condition, '__name__', condition)}")
        time.sleep(every)
