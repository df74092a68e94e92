"""Generators that run in the thread that asks for an item."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from fray.backend.local.call import Call

__all__ = ["drive_lazily"]


def drive_lazily(
    call: Call,
    items: Generator[Any, Any, Any],
    around: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> None:
    """Make a stream of `items`; each step of the generator runs inside ``around()``."""
    cell = call.cells[0]
    turn = threading.RLock()

    def pump() -> None:
        with turn, around():
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
