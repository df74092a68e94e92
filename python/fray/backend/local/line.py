"""Calls that wait for a thread, and which of them goes next.

Deeper calls go first, so that nested work ends with few threads; of one depth those of the highest priority; of equal
ones the first that was pushed. A call that others keep waiting gains a step of priority each second, up to the highest
priority that waits, so none waits for ever. The seconds are counted from when it stood at the head of its line, or its
line last gave a call: a backlog of a low priority does not count as high because its calls were pushed long ago.

No clock and no thread: the time is handed in.
"""

from __future__ import annotations

import itertools
from collections import deque

from fray.backend.local.call import TaskCall

__all__ = ["Line"]


class _Equals:
    """Calls of one depth and one priority, in the order of their arrival."""

    def __init__(self, now: float) -> None:
        self.calls: deque[tuple[int, TaskCall]] = deque()
        self.waits_since = now


class Line:
    """Owns the calls that are in it. Guarded by the lock of its `ThreadPool`."""

    def __init__(self) -> None:
        self._by_depth: dict[int, dict[int, _Equals]] = {}
        self._order = itertools.count()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def push(self, call: TaskCall, now: float) -> None:
        """Queue a call behind its equals."""
        of_depth = self._by_depth.setdefault(call.depth, {})
        priority = call.options.priority
        equals = of_depth.get(priority)
        if equals is None:
            equals = of_depth[priority] = _Equals(now)
        equals.calls.append((next(self._order), call))
        self._length += 1

    def pop(self, now: float) -> TaskCall:
        """Take the call that goes next; there is one."""
        depth = max(self._by_depth)
        of_depth = self._by_depth[depth]
        priority = self._next_priority(of_depth, now) if len(of_depth) > 1 else next(iter(of_depth))
        equals = of_depth[priority]
        call = equals.calls.popleft()[1]
        equals.waits_since = now
        self._length -= 1
        if not equals.calls:
            del of_depth[priority]
            if not of_depth:
                del self._by_depth[depth]
        return call

    def clear(self) -> None:
        """Drop all calls."""
        self._by_depth.clear()
        self._length = 0

    @staticmethod
    def _next_priority(of_depth: dict[int, _Equals], now: float) -> int:
        top = max(of_depth)

        def rank(priority: int) -> tuple[int, int]:
            equals = of_depth[priority]
            gained = min(top, priority + int(now - equals.waits_since))
            return gained, -equals.calls[0][0]

        return max(of_depth, key=rank)
