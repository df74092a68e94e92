"""`JobContext.map`: one function over many items, in batches that are worth a task's overhead.

A worker that runs past the time budget of a batch returns the results so far, and the remaining items are sent again at
the same place. So a wrong guess about the time of an item delays the others only briefly. An item that is a ref is
alone in its batch, as an argument of the task, so that the engine waits for its value.
"""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import chain, islice
from operator import length_hint
from typing import Any, Literal, cast

from fray._failures import unpack_exception
from fray.job.batches import BatchResult, run_batch
from fray.job.engine import Engine
from fray.job.record import changed
from fray.job.refs import ObjectRef
from fray.job.task_options import TaskOptions

__all__ = ["map_items"]

TARGET_SECONDS = 0.020
LAST_SECONDS = 0.002
"""Batches get no shorter than this towards the end, where each is one more result that the driver wakes up for."""
BUDGET_SECONDS = 5 * TARGET_SECONDS
MAX_BATCH = 10_000
TASKS_PER_WORKER = 3


class _Batch:
    __slots__ = ("items", "sent")

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        self.sent: ObjectRef[BatchResult] | None = None

    @property
    def ref(self) -> ObjectRef[BatchResult]:
        assert self.sent is not None
        return self.sent


def map_items(
    engine: Engine,
    fn: Callable[[Any], Any],
    items: Iterable[Any],
    batch: int | Literal["auto"],
    ordered: bool,
    max_in_flight: int | None,
    options: TaskOptions,
) -> Iterator[Any]:
    """Check the arguments of `JobContext.map` and return its iterator."""
    if not callable(fn):
        raise TypeError(f"map needs a function, got {fn!r}")
    if not isinstance(options, TaskOptions):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"map: options must be a TaskOptions(...), got {type(options).__name__}")
    if options.num_returns != 1:
        raise ValueError(f"map: every item has one result; num_returns must be 1, got {options.num_returns}")
    _check_batch(batch)
    if max_in_flight is not None:
        _check_positive(max_in_flight, "max_in_flight", "None or ")
    mapper = _Mapper(engine, fn, items, batch, max_in_flight, options)
    return _Results.of(mapper.batches(ordered)) if max_in_flight is None else mapper.results(ordered)


def _check_batch(batch: object) -> None:
    if isinstance(batch, Iterable) and not isinstance(batch, str):
        raise TypeError(
            "map takes one iterable of items; for a function of several arguments write "
            "map(lambda each: fn(*each), zip(first, second))"
        )
    if batch != "auto":
        _check_positive(batch, "batch", "'auto' or ")


def _check_positive(value: object, what: str, other: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"map: {what} must be {other}a whole number of at least 1, got {value!r}")
    if value < 1:
        raise ValueError(f"map: {what} must be at least 1, got {value}")


class _Results(chain[Any]):
    """The values of batches, one after the other: what a generator does, at a fifth of its time for each value."""

    _batches: Generator[list[Any], None, None]

    @staticmethod
    def of(batches: Generator[list[Any], None, None]) -> _Results:
        """Return the iterator of the values of `batches`."""
        results = cast("_Results", _Results.from_iterable(batches))
        results._batches = batches
        return results

    def close(self) -> None:
        """End the iteration; calls that have not ended are cancelled."""
        self._batches.close()


class _Mapper:
    """The state of one `map`: the batches in flight in the order of their items, and the size of the next one."""

    def __init__(
        self,
        engine: Engine,
        fn: Callable[[Any], Any],
        items: Iterable[Any],
        batch: int | Literal["auto"],
        max_in_flight: int | None,
        options: TaskOptions,
    ) -> None:
        self._engine = engine
        self._fn = fn
        self._source = iter(items)
        self._may_be_slow = type(items) not in (list, tuple, range)
        self._may_have_refs = type(items) is not range
        self._exhausted = False
        self._held_ref: list[Any] = []
        self._auto = batch == "auto" and options.timeout is None
        self._size = 1 if batch == "auto" else min(batch, sys.maxsize)
        self._smallest = 1
        self._max_items = max_in_flight
        self._window = max(1, TASKS_PER_WORKER * engine.parallelism)
        self._retry = None if options.retry_exceptions is False else changed(options, timeout=None, runtime_env=None)
        name = options.name or getattr(fn, "__name__", "map")
        self._options = changed(options, name=name, retry_exceptions=False)
        self._start: Callable[[tuple[Any, ...]], Any] | None = None
        self._in_flight: deque[_Batch] = deque()
        self._items_out = 0

    def results(self, ordered: bool) -> Generator[Any, None, None]:
        """Yield each value, and take further items as values are taken."""
        for values in self.batches(ordered):
            for value in values:
                self._items_out -= 1
                yield value
                self._fill()

    def batches(self, ordered: bool) -> Generator[list[Any], None, None]:
        """Yield the values of each batch, as a list that is empty after `close`."""
        values: list[Any] = []
        try:
            self._fill()
            while self._in_flight:
                batch = self._in_flight[0] if ordered else self._first_ready()
                result = self._engine.get(batch.ref, None)
                self._settle(batch, result)
                values = result.values
                yield values
                if result.failure is not None:
                    raise unpack_exception(result.failure)
                self._fill()
        finally:
            values.clear()  # whoever iterates over them takes no more
            self._cancel_rest()

    def _fill(self) -> None:
        """Submit batches until the window is full or no item is left."""
        while not self._exhausted and self._room():
            items = self._take(self._room_for_items())
            if items:
                self._send(items, len(self._in_flight))
                if self._max_items is not None:
                    self._items_out += len(items)

    def _room(self) -> bool:
        if self._max_items is not None:
            return self._items_out < self._max_items
        return len(self._in_flight) < self._window

    def _room_for_items(self) -> int:
        size, workers = self._size, self._engine.parallelism
        if self._auto and workers > 1 and (left := length_hint(self._source)):
            # Each worker gets half of its share of what is left at a time, so that all of them end at the same moment.
            size = min(size, max(self._smallest, left // (2 * workers)))
        if self._max_items is None:
            return size
        return min(size, self._max_items - self._items_out)

    def _take(self, limit: int) -> list[Any]:
        """Take up to `limit` items, fewer when the source is slow or a ref comes."""
        if not self._may_be_slow:
            return self._take_at_once(limit)
        taken: list[Any] = self._held_ref
        self._held_ref = []
        if taken:
            return taken
        patience = TARGET_SECONDS if self._auto else math.inf
        started = time.monotonic()
        no_refs: set[object] = set()  # types of items: to ask each one of a million items would take long
        for item in self._source:
            if type(item) not in no_refs:
                if isinstance(item, ObjectRef):
                    if taken:
                        self._held_ref = [item]
                        return taken
                    return [item]
                no_refs.add(cast("object", type(item)))
            taken.append(item)
            if len(taken) >= limit or time.monotonic() - started > patience:
                return taken
        self._exhausted = True
        return taken

    def _take_at_once(self, limit: int) -> list[Any]:
        taken = list(islice(self._source, limit))
        if self._may_have_refs and any(issubclass(kind, ObjectRef) for kind in set(map(type, taken))):
            self._source = iter([*taken, *self._source])
            self._may_be_slow = True  # one by one from now on
            return self._take(limit)
        self._exhausted = len(taken) < limit
        return taken

    def _send(self, items: list[Any], place: int) -> None:
        """Submit a batch that is the one at `place` of those in flight."""
        budget = BUDGET_SECONDS if self._auto else None
        batch = _Batch(items)
        # It is in flight before it is sent, and has its ref in the step in which that is returned: Ctrl-C may come
        # between any two steps, and the task must be known then, to be cancelled.
        self._in_flight.insert(place, batch)
        # A single item is an argument of its own, so that the engine replaces a ref by its value.
        alone = len(items) == 1
        args: tuple[Any, ...] = (self._retry, None, [], items[0]) if alone else (self._retry, budget, items)
        if self._start is None:
            self._start = self._engine.caller(self._fn, self._options, run_batch)
        batch.sent = self._start(args)

    def _first_ready(self) -> _Batch:
        ready, _ = self._engine.wait([batch.ref for batch in self._in_flight], 1, None)
        return next(batch for batch in self._in_flight if batch.ref is ready[0] or batch.ref == ready[0])

    def _settle(self, batch: _Batch, result: BatchResult) -> None:
        """Take `batch` out of flight; send its items that were not run again, at the same place."""
        place = self._in_flight.index(batch)
        del self._in_flight[place]
        done = len(result.values)
        if result.failure is None and done < len(batch.items):
            self._send(batch.items[done:], place)
        if self._auto and done:
            per_item = max(result.seconds / done, 1e-7)
            fitting = int(TARGET_SECONDS / per_item)
            self._size = max(1, min(fitting, 4 * self._size, MAX_BATCH))
            self._smallest = max(1, min(self._size, int(LAST_SECONDS / per_item)))

    def _cancel_rest(self) -> None:
        if self._engine.closed:
            return
        for batch in self._in_flight:
            if batch.sent is not None:
                self._engine.cancel(batch.sent, False)
        self._in_flight.clear()
