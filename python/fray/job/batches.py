"""What a worker does with a batch of `JobContext.map`: the function of its task, and the result.

Each worker imports this module with its first batch, so it imports nothing that only the side of the program needs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from fray._attempts import call_with_retries
from fray._failures import pack_exception

if TYPE_CHECKING:
    from fray.types import TaskOptions

__all__ = ["BatchResult", "run_batch"]

STEP_SECONDS = 0.000_5
MAX_STEP = 64
"""A worker looks at the clock, which takes as long as a tiny item, after so many items or so much time."""


class BatchResult(NamedTuple):
    """The result of a batch: the values of its first items, and the packed failure of the next item, if it failed."""

    values: list[Any]
    failure: bytes | None
    seconds: float


def run_batch(
    fn: Callable[[Any], Any], retry: TaskOptions | None, budget: float | None, items: list[Any], *alone: Any
) -> BatchResult:
    """Call `fn` for each item until one fails or `budget` seconds are over; the first is always called.

    Args:
        fn: called with an item.
        retry: how often it is called again when it fails; None for once.
        budget: in seconds; None for no limit.
        items: of the batch.
        alone: one item in place of these, as an argument of its own: a ref among the arguments becomes its value.
    """
    items = items or list(alone)
    call = fn if retry is None else _with_retries(fn, retry)
    patience = math.inf if budget is None else budget
    source = iter(items)
    values: list[Any] = []
    failure = None
    plain: set[object] = set()  # types of values that are no generators
    started = time.perf_counter()
    seconds, step = 0.0, 1
    try:
        while len(values) < len(items) and seconds <= patience:
            done, before = len(values), seconds
            for item in islice(source, step):  # `extend(map(...))` would take a StopIteration of `call` for the end
                values.append(call(item))
            generators = not plain.issuperset(map(type, values[done:])) and _list_generators(values, done, plain)
            seconds = time.perf_counter() - started
            step = 1 if generators or seconds - before > STEP_SECONDS else min(2 * step, MAX_STEP)
    except KeyboardInterrupt:
        raise
    except BaseException as exc:
        failure = pack_exception(exc, getattr(fn, "__name__", "map"))
    return BatchResult(values, failure, seconds)


def _list_generators(values: list[Any], start: int, plain: set[object]) -> bool:
    """Replace generators by lists of their items, say whether there are any, and drop what follows one that fails."""
    found = False
    for place in range(start, len(values)):
        value = values[place]
        if not isinstance(value, Generator):
            plain.add(cast("object", type(value)))
            continue
        found = True
        try:
            values[place] = _listed(cast("Generator[Any, Any, Any]", value))
        except BaseException:
            del values[place:]
            raise
    return found


def _with_retries(fn: Callable[[Any], Any], retry: TaskOptions) -> Callable[[Any], Any]:
    """Return a function that calls `fn` until it succeeds or `retry` says that it may not again."""

    def once(item: Any) -> Any:
        value = fn(item)
        # A generator function runs while its items are listed.
        return _listed(cast("Generator[Any, Any, Any]", value)) if isinstance(value, Generator) else value

    return lambda item: call_with_retries(partial(once, item), retry)


def _listed(generator: Generator[Any, Any, Any]) -> list[Any]:
    """Return what a generator function gives for an item: the list of its items, as with `get`."""
    return list(generator)
