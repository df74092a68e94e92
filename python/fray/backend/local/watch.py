"""`CellWatch`: cells that say themselves when they have ended."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from threading import Event
from typing import TYPE_CHECKING

from fray.backend.local.refs import LocalRef

if TYPE_CHECKING:
    from fray.backend.local.base import InProcessContext

__all__ = ["CellWatch"]


class CellWatch:
    """Collects what has arrived and wakes the thread that serves."""

    def __init__(self, context: InProcessContext) -> None:
        self._context = context
        self._arrived: deque[Callable[[], object]] = deque()
        self._event = Event()

    def add(self, ref: LocalRef[object], arrived: Callable[[], object]) -> None:
        ref.cell.want_all()
        self._context._pump_all(ref.cell)  # pyright: ignore[reportPrivateUsage]
        if not ref.cell.watch(partial(self._note, arrived)):
            self._note(arrived)

    def serve(self) -> None:
        self._event.wait()
        self._event.clear()
        while self._arrived:
            self._arrived.popleft()()

    def wake(self) -> None:
        self._event.set()

    def _note(self, arrived: Callable[[], object]) -> None:
        self._arrived.append(arrived)
        self._event.set()
