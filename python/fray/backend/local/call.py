"""One task inside this process, from its arguments to its settled cells. Shared by all contexts here.

A call runs in a copy of the context variables of whoever submitted it, with its own context as the current one.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Callable, Generator
from contextvars import Context, ContextVar, copy_context
from types import CoroutineType
from typing import TYPE_CHECKING, Any, cast

from fray._attempts import call_with_retries
from fray.backend.local.environment import applied
from fray.backend.local.refs import LocalRef
from fray.backend.local.span import Span
from fray.errors import TaskCancelledError, TaskTimeoutError
from fray.job.current import enter_context
from fray.types import TaskOptions

if TYPE_CHECKING:
    from fray.backend.local.base import InProcessContext
    from fray.backend.local.cell import Cell

__all__ = ["TaskCall"]

_depth: ContextVar[int] = ContextVar("fray_task_depth", default=0)
"""How many tasks this code is nested in."""


class TaskCall:
    """A submitted task."""

    __slots__ = (
        "_arguments",
        "_fn",
        "_owner",
        "_variables",
        "attempt_started",
        "cells",
        "dependencies",
        "depth",
        "name",
        "options",
    )

    def __init__(
        self,
        owner: InProcessContext,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        options: TaskOptions,
    ) -> None:
        self._owner = owner
        self.options = options
        self.name = options.name or getattr(fn, "__name__", type(fn).__name__)
        codec = owner.codec
        self._fn = codec.pack_function(fn, f"the function of task {self.name!r}")
        self._arguments = codec.pack((args, kwargs), f"an argument of task {self.name!r}")
        self.dependencies: list[LocalRef[Any]] = [
            cast("LocalRef[Any]", value) for value in (*args, *kwargs.values()) if type(value) is LocalRef
        ]
        self.depth = _depth.get() + 1
        self.attempt_started = time.monotonic()
        self._variables = self._fresh_variables()
        self.cells: list[Cell] = [owner.new_cell(self.name) for _ in range(options.num_returns)]
        for cell in self.cells:
            cell.cancel_task = self.cancel

    # ---- settling

    def settled(self) -> bool:
        """Whether nothing that the function still does matters: it was cancelled, timed out, or ended."""
        return all(cell.done for cell in self.cells)

    def fail(self, exc: BaseException) -> None:
        """End every cell with what the task raised."""
        self._fail_packed(self._owner.codec.pack_failure(exc, self.name))

    def cancel(self) -> None:
        """End every cell as cancelled."""
        self.fail(TaskCancelledError(f"task {self.name!r} was cancelled"))

    def seconds_left(self) -> float:
        """Return what is left of the running attempt's `timeout`; negative when it is over."""
        timeout = self.options.timeout
        return math.inf if timeout is None else self.attempt_started + timeout - time.monotonic()

    def expire(self) -> None:
        """End every cell as timed out."""
        self.fail(TaskTimeoutError(f"task {self.name!r} ran longer than its timeout of {self.options.timeout} s"))

    def _fail_packed(self, failure: Any) -> None:
        for cell in self.cells:
            cell.fail(failure)

    # ---- running

    def run(self, drive: Callable[[TaskCall, Generator[Any, Any, Any]], None]) -> None:
        """Call the function and settle the cells; `drive` takes a generator over.

        KeyboardInterrupt settles the cells and goes on up; nothing else is raised.
        """
        if self.settled():
            return
        started = time.monotonic()
        try:
            self._run(drive)
        finally:
            ended_well = self.cells[0].failure is None
            self._owner.record(Span(self.name, started, time.monotonic(), threading.get_ident(), ended_well))

    def _run(self, drive: Callable[[TaskCall, Generator[Any, Any, Any]], None]) -> None:
        failure = next((ref.cell.failure for ref in self.dependencies if ref.cell.failure is not None), None)
        if failure is not None:
            self._fail_packed(failure)
            return
        try:
            result = call_with_retries(lambda: self.enter(self._call_once), self.options, self.settled)
            if isinstance(result, CoroutineType):
                result.close()
                raise TypeError(f"task {self.name!r} is an async function; wrap it: lambda: asyncio.run(fn())")
            if isinstance(result, Generator) and len(self.cells) == 1:
                drive(self, cast("Generator[Any, Any, Any]", result))
                return
            packed = self._pack_result(result)
        except BaseException as exc:
            self.fail(exc)
            if isinstance(exc, KeyboardInterrupt):
                raise
            return
        for cell, value in zip(self.cells, packed, strict=True):
            cell.finish(value)

    def enter(self, step: Callable[[], Any]) -> Any:
        """Run `step` with this call's context variables and environment."""
        with applied(self.options.runtime_env):
            return self._variables.run(step)

    def next_item(self, items: Generator[Any, Any, Any]) -> Any:
        """Return the next item of the task's generator, packed."""
        item = self.enter(lambda: next(items))
        return self._owner.codec.pack(item, f"an item of task {self.name!r}")

    def _call_once(self) -> Any:
        open_value = self._owner.codec.open
        fn = open_value(self._fn)
        args, kwargs = open_value(self._arguments)
        values = [self._resolve(value) for value in args]
        named = {key: self._resolve(value) for key, value in kwargs.items()}
        self.attempt_started = time.monotonic()
        result = fn(*values, **named)
        if self.seconds_left() < 0:
            self.expire()
        return result

    def _resolve(self, value: Any) -> Any:
        return self._owner.value_of(cast("LocalRef[Any]", value).cell) if type(value) is LocalRef else value

    def _pack_result(self, result: Any) -> list[Any]:
        count = len(self.cells)
        if count == 1:
            return [self._owner.codec.pack(result, f"the result of task {self.name!r}")]
        try:
            values: list[Any] = list(itertools.islice(iter(result), count + 1))
        except TypeError:
            raise TypeError(
                f"task {self.name!r} has num_returns={count} and must return {count} values, "
                f"but it returned a {type(result).__name__}"
            ) from None
        if len(values) != count:
            got = "more" if len(values) > count else str(len(values))
            raise ValueError(f"task {self.name!r} has num_returns={count}, but it returned {got} values")
        what = f"a result of task {self.name!r}"
        return [self._owner.codec.pack(value, what) for value in values]

    def _fresh_variables(self) -> Context:
        variables = copy_context()
        variables.run(_depth.set, self.depth)
        variables.run(enter_context, self._owner)
        return variables
