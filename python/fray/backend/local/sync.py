"""`LocalJobContext`: tasks run at once, in order, in the thread that submits them."""

from __future__ import annotations

import threading
from collections.abc import Generator
from typing import Any

from fray.backend.local.base import InProcessContext
from fray.backend.local.call import TaskCall
from fray.backend.local.codec import PickleCodec, PlainCodec

__all__ = ["LocalJobContext", "SyncContext"]


class LocalJobContext(InProcessContext):
    """For tests and for debugging: deterministic, no processes, no threads.

    `create_task` returns when the task has ended; what it raised is kept and raised by `get`. A generator task runs on
    when an item is asked for.

    Args:
        serialize: send every function, argument, result and object through pickle, as the native engine does, so that
            all are copies and what cannot be pickled is found.
    """

    _parallelism = 0

    def __init__(self, serialize: bool = False) -> None:
        super().__init__(PickleCodec() if serialize else PlainCodec())

    def _start(self, call: TaskCall) -> None:
        for dependency in call.dependencies:
            self._pump_all(dependency.cell)
        call.run(_drive)


SyncContext = LocalJobContext
"""Older name of `LocalJobContext`."""


def _drive(call: TaskCall, items: Generator[Any, Any, Any]) -> None:
    """Make a stream that runs the generator in the thread that asks for an item."""
    cell = call.cells[0]
    turn = threading.RLock()

    def pump() -> None:
        with turn:
            if cell.done:
                items.close()
                return
            try:
                item = call.next_item(items)
            except StopIteration:
                cell.finish(None)
            except BaseException as exc:
                call.fail(exc)
                if isinstance(exc, KeyboardInterrupt):
                    raise
            else:
                stream.items.append(item)

    stream = cell.start_stream(pump)
