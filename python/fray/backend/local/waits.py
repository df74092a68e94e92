"""Waiting for results: which thread waits for which, to find a wait that can never end, and `CellWatch`."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial

from fray.backend.local.results import Cell, LocalRef

__all__ = ["CellWatch", "Waits"]


class Waits:
    """Knows the waits of threads for single results.

    A circle is found when its last wait begins. A wait for one of several results, or for one of several free places
    in an actor, belongs to no circle.

    Threading: guarded by the lock that is handed in, which the cells of the context share.
    """

    def __init__(self, lock: threading.RLock) -> None:
        self._lock = lock
        self._cells: dict[int, Cell] = {}

    @contextmanager
    def of_this_thread(self, cell: Cell) -> Generator[bool, None, None]:
        """Surround a wait of this thread for `cell`; gives False where it would never end."""
        me = threading.get_ident()
        with self._lock:
            can_end = not self._leads_to(cell, me)
            before = self._cells.get(me)
            if can_end:
                self._cells[me] = cell
        try:
            yield can_end
        finally:
            with self._lock:
                if before is not None:
                    self._cells[me] = before
                else:
                    self._cells.pop(me, None)

    def _leads_to(self, cell: Cell, thread: int) -> bool:
        """Return whether `cell` can end only after `thread` has gone on; the lock is held."""
        seen: set[int] = set()
        left: list[int | Cell] = [cell]
        while left:
            item = left.pop()
            if item == thread:
                return True
            if isinstance(item, int):
                item = self._cells.get(item)
            if item is None or item.done or item.call is None or id(item) in seen:
                continue
            seen.add(id(item))
            left.extend(item.call.blockers())
        return False


class CellWatch:
    """A `Watch` over cells, which say themselves when they have ended."""

    def __init__(self) -> None:
        self._arrived: deque[Callable[[], object]] = deque()
        self._event = threading.Event()

    def add(self, ref: LocalRef[object], arrived: Callable[[], object]) -> None:
        ref.cell.want_all()
        ref.cell.pump_all()
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
