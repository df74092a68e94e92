"""One call inside this process, of a task or of an actor's method, from its arguments to its settled cells.

A call runs in a copy of its submitter's context variables, with the context of its engine as the current one.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable
from contextvars import Context, ContextVar, copy_context
from types import CoroutineType
from typing import Any, NamedTuple, Protocol, cast

from fray import _traces
from fray._attempts import call_with_retries
from fray.backend.local.codec import Codec
from fray.backend.local.environment import applied
from fray.backend.local.results import Cell, LocalRef
from fray.errors import TaskCancelledError, TaskTimeoutError
from fray.job.actors import enter_actor
from fray.job.context import JobContext
from fray.job.current import enter_context
from fray.types import TaskOptions

__all__ = ["Call", "CallOwner", "Span", "TaskCall", "running_demand"]

_depth: ContextVar[int] = ContextVar("fray_task_depth", default=0)
"""The number of tasks that this code is nested in."""

_demand: ContextVar[dict[str, float]] = ContextVar("fray_task_demand", default={})  # noqa: B039  (never changed)
"""The resources that the running task asked for."""


def running_demand() -> dict[str, float]:
    """Return the resources of the task that this code runs in; nothing outside of tasks."""
    return _demand.get()


class Span(NamedTuple):
    """When one task ran; seconds of `time.monotonic`."""

    name: str
    start: float
    end: float
    thread_id: int
    ended_well: bool


class CallOwner(Protocol):
    """What a call needs of its engine."""

    context: JobContext
    codec: Codec
    lock: threading.RLock
    condition: threading.Condition

    def new_cell(self, name: str) -> Cell: ...
    def record(self, span: Span) -> None: ...
    def value_of(self, cell: Cell) -> Any: ...


class Call(ABC):
    """A submitted call; a subclass says which function it calls."""

    operation = "submit"
    """The operation that spans name; see `fray._trace_recorder`."""
    __slots__ = (
        "_arguments",
        "attempt_started",
        "cells",
        "dependencies",
        "depth",
        "name",
        "options",
        "owner",
        "thread",
        "trace",
        "variables",
    )

    def __init__(
        self, owner: CallOwner, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], options: TaskOptions
    ) -> None:
        self.owner = owner
        self.options = options
        self.name = name
        self._arguments = owner.codec.pack((args, kwargs), f"an argument of {self.what()}")
        self.dependencies: list[LocalRef[Any]] = [
            cast("LocalRef[Any]", value) for value in (*args, *kwargs.values()) if type(value) is LocalRef
        ]
        self.depth = _depth.get() + 1
        self.attempt_started = time.monotonic()
        self.thread: int | None = None
        """The id of the thread that runs the call."""
        self.variables = self._fresh_variables()
        self.cells: list[Cell] = [owner.new_cell(self.name) for _ in range(options.num_returns)]
        for cell in self.cells:
            cell.call = self
        self.trace = _traces.sent(self.traced_name(), self.operation)

    # ---- what a subclass implements

    @abstractmethod
    def function(self) -> Callable[..., Any]:
        """Return the function, which is unpacked anew for every attempt."""

    @abstractmethod
    def help(self) -> None:
        """Run the call in this thread if it waits and no other thread will run it."""

    @abstractmethod
    def stop(self) -> None:
        """Interrupt the running function where that is possible; called in any thread, after the cells have ended."""

    @abstractmethod
    def check_cancel(self, force: bool) -> None:
        """Raise ValueError where the call cannot be cancelled with this `force`."""

    def traced_name(self) -> str:
        """Return how spans name the callable."""
        return self.name

    def what(self) -> str:
        """Return how messages name the call."""
        return f"task {self.name!r}"

    def blockers(self) -> Iterable[int | Cell]:
        """Return what this call waits for: ids of threads that must go on, and cells that must end."""
        if self.thread is not None:
            return (self.thread,)
        return [ref.cell for ref in self.dependencies if not ref.cell.done]

    def _attempts(self) -> Any:
        return self.enter(self.call_once)

    def _refuse_coroutine(self) -> TypeError:
        return TypeError(f"{self.what()} is an async function; wrap it: lambda: asyncio.run(fn())")

    def arguments(self) -> tuple[Any, list[LocalRef[Any]]]:
        """Return the packed arguments and the refs among them."""
        return self._arguments, self.dependencies

    def take_arguments(self, arguments: tuple[Any, list[LocalRef[Any]]]) -> None:
        """Take over the arguments of another call."""
        self._arguments, self.dependencies = arguments

    # ---- settling

    def settled(self) -> bool:
        """Whether the cells have ended, so that a result is ignored: the call was cancelled, timed out, or ended."""
        return all(cell.done for cell in self.cells)

    def fail(self, exc: BaseException) -> None:
        """End every cell with the exception that the task raised."""
        self.fail_packed(self.owner.codec.pack_failure(exc, self.name))

    def cancel(self) -> None:
        """End every cell as cancelled."""
        self.fail(TaskCancelledError(f"{self.what()} was cancelled"))

    def seconds_left(self) -> float:
        """Return the seconds that are left of the running attempt's `timeout`; negative when it is over."""
        timeout = self.options.timeout
        return math.inf if timeout is None else self.attempt_started + timeout - time.monotonic()

    def expire(self) -> None:
        """End every cell as timed out."""
        self.fail(TaskTimeoutError(f"{self.what()} ran longer than its timeout of {self.options.timeout} s"))

    def fail_packed(self, failure: Any) -> None:
        """End every cell with a packed failure."""
        for cell in self.cells:
            cell.fail(failure)

    def finish(self, packed: list[Any]) -> None:
        """End the cells with a packed value each."""
        with self.owner.condition:
            for cell, value in zip(self.cells, packed, strict=True):
                cell.finish(value)

    # ---- running

    def run(self, drive: Callable[[Call, Generator[Any, Any, Any]], None]) -> None:
        """Call the function and settle the cells; `drive` runs the generator of a generator function.

        A KeyboardInterrupt settles the cells and is raised on; nothing else is raised.
        """
        if not self._begin():
            return
        started = time.monotonic()
        self.thread = threading.get_ident()
        try:
            self._run(drive)
        finally:
            self.record(started)
            self.thread = None

    def record(self, started: float) -> None:
        """Record for the timeline when the call ran."""
        ended_well = self.cells[0].failure is None
        self.owner.record(Span(self.name, started, time.monotonic(), threading.get_ident(), ended_well))

    def failed_dependency(self) -> Any:
        """Return the packed failure of an argument, None where there is none."""
        return next((ref.cell.failure for ref in self.dependencies if ref.cell.failure is not None), None)

    def _begin(self) -> bool:
        with self.owner.condition:
            if self.settled():
                return False
            for cell in self.cells:
                cell.started = True
            return True

    def _run(self, drive: Callable[[Call, Generator[Any, Any, Any]], None]) -> None:
        failure = self.failed_dependency()
        if failure is not None:
            self.fail_packed(failure)
            return
        try:
            result = self._attempts()
            if isinstance(result, CoroutineType):
                result.close()
                raise self._refuse_coroutine()
            if isinstance(result, Generator) and len(self.cells) == 1:
                drive(self, cast("Generator[Any, Any, Any]", result))
                return
            packed = self.pack_result(result)
        except BaseException as exc:
            self.fail(exc)
            if isinstance(exc, KeyboardInterrupt):
                raise
            return
        self.finish(packed)

    def enter(self, step: Callable[[], Any]) -> Any:
        """Run `step` with this call's context variables and environment."""
        with applied(self.options.runtime_env):
            return self.variables.run(step)

    def next_item(self, items: Generator[Any, Any, Any]) -> Any:
        """Return the next item of the task's generator, packed."""
        return self.pack_item(self.enter(lambda: next(items)))

    def pack_item(self, item: Any) -> Any:
        """Return an item of the call's stream, packed."""
        return self.owner.codec.pack(item, f"an item of {self.what()}")

    def call_once(self) -> Any:
        """Call the function with its arguments, and return what it returns."""
        fn = _traces.around(self.function(), self.trace, self.traced_name())
        args, kwargs = self.owner.codec.open(self._arguments)
        values = [self._resolve(value) for value in args]
        named = {key: self._resolve(value) for key, value in kwargs.items()}
        self.attempt_started = time.monotonic()
        result = fn(*values, **named)
        if self.seconds_left() < 0:
            self.expire()
        return result

    def _resolve(self, value: Any) -> Any:
        return self.owner.value_of(cast("LocalRef[Any]", value).cell) if type(value) is LocalRef else value

    def pack_result(self, result: Any) -> list[Any]:
        """Return the packed values of the cells."""
        count = len(self.cells)
        if count == 1:
            return [self.owner.codec.pack(result, f"the result of {self.what()}")]
        try:
            values: list[Any] = list(itertools.islice(iter(result), count + 1))
        except TypeError:
            raise TypeError(
                f"{self.what()} has num_returns={count} and must return {count} values, "
                f"but it returned a {type(result).__name__}"
            ) from None
        if len(values) != count:
            got = "more" if len(values) > count else str(len(values))
            raise ValueError(f"{self.what()} has num_returns={count}, but it returned {got} values")
        what = f"a result of {self.what()}"
        return [self.owner.codec.pack(value, what) for value in values]

    def demand(self) -> dict[str, float]:
        """Return the resources that the code of the call runs with."""
        return self.options.demand()

    def _fresh_variables(self) -> Context:
        variables = copy_context()
        variables.run(_depth.set, self.depth)
        variables.run(_demand.set, self.demand())
        variables.run(enter_context, self.owner.context)
        variables.run(enter_actor, None)
        return variables


class TaskCall(Call):
    """A submitted task."""

    __slots__ = ("_fn",)

    def __init__(
        self,
        owner: CallOwner,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        options: TaskOptions,
    ) -> None:
        name = options.name or getattr(fn, "__name__", type(fn).__name__)
        self._fn = owner.codec.pack_function(fn, f"the function of task {name!r}")
        super().__init__(owner, name, args, kwargs, options)

    def function(self) -> Callable[..., Any]:
        return self.owner.codec.open(self._fn)

    def help(self) -> None:
        """Do nothing: a task runs inside `submit`, or a thread of the pool takes it."""

    def stop(self) -> None:
        """Do nothing: a thread cannot be interrupted."""

    def check_cancel(self, force: bool) -> None:
        """Do nothing: a task can be cancelled with `force` or without."""

    def _attempts(self) -> Any:
        return call_with_retries(lambda: self.enter(self.call_once), self.options, self.settled)
