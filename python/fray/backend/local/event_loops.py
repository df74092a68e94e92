"""Running a task inside the thread whose event loop submits it."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["outside_event_loops"]


@contextmanager
def outside_event_loops() -> Generator[None, None, None]:
    """Surround a task that runs at once: it may use ``asyncio.run``, as it may in a process or thread of its own.

    The thread's loop waits until the block ends, since the code that submits runs in it.
    """
    events = sys.modules.get("asyncio.events")
    loop = None if events is None else events._get_running_loop()
    if events is None or loop is None:
        yield
        return
    events._set_running_loop(None)
    try:
        yield
    finally:
        events._set_running_loop(loop)
