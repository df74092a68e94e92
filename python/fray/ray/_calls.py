"""Runs the functions of a program in a worker, and keeps the facts that the program may ask about the running call."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import islice
from types import GeneratorType
from typing import Any

from fray._native import interrupt_reason, running_task, set_starter
from fray.job.interruption import on_cancelled
from fray.ray import _session
from fray.ray._errors import task_failure
from fray.ray._title import IDLE, show, title_of
from fray.ray.exceptions import RuntimeEnvSetupError

# fmt: off
__all__ = [
    "Body", "Call", "Items", "Several", "current_call", "interrupt", "results_of", "running_actor",
    "start_in_name_of_call", "surroundings",
]
# fmt: on


@dataclass(slots=True)
class Call:
    """The running call of an actor's method.

    Args:
        name: shown as the task's name.
        function: the qualified name of the method.
        task: its owner and its number, by which the engine knows it.
        starter: the number by which the engine knows the call as the starter of tasks; 0 once the call has ended.
    """

    name: str
    function: str
    task: tuple[int, int]
    starter: int = 0


class _Process:
    """The state of this worker, which runs one task at a time or an actor, whose calls may overlap."""

    def __init__(self) -> None:
        self.body: Body | None = None
        self.task: tuple[int, int] = (0, 0)
        """The owner and the number of the task that runs."""
        self.actor: Any = None
        """The `fray.ray._host.Actor` of this process, None where it runs tasks."""
        self.overlaps = False
        """Whether calls of the actor share threads, so that the engine must be told which of them starts a task."""
        self.captured: Any = None
        """The placement group of the tasks and actors that the running code starts without a strategy."""
        self.set_up: set[str] = set()
        """The names of the setup hooks that have run."""


process = _Process()
running_actor: ContextVar[Call | None] = ContextVar("ray_call", default=None)


def current_call() -> Call | None:
    """Return the running task or call, None on the driver."""
    call = running_actor.get()
    if call is not None:
        return call
    body = process.body
    return None if body is None else Call(body.name, body.function, process.task)


def surroundings() -> dict[str, Any]:
    """Return the facts of the running task or actor, see `fray.ray._options.facts_of`."""
    if process.actor is not None:
        return process.actor.facts
    return process.body.facts if process.body is not None else {}


def start_in_name_of_call() -> None:
    """Tell the engine that the running call starts what this thread submits next, to be cancelled with it."""
    call = running_actor.get()
    set_starter(0 if call is None else call.starter)


def interrupt() -> None:
    """Interrupt a cancelled task as Ray does; a method of an actor goes on and may ask whether it was cancelled."""
    if process.actor is None:
        raise KeyboardInterrupt


class Body:
    """A remote function as the worker runs it.

    Args:
        fn: the user's function.
        name: shown as the task's name.
        single: whether it has one result, which is the first item where the function returns a generator.
        facts: those of `fray.ray._options.facts_of`.
    """

    def __init__(self, fn: Callable[..., Any], name: str, single: bool, facts: dict[str, Any]) -> None:
        self.fn = fn
        self.name = name
        self.single = single
        self.facts = facts
        self.__qualname__: str = getattr(fn, "__qualname__", name)
        self.function = f"{fn.__module__}.{getattr(fn, '__name__', name)}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        _begin(self)
        try:
            value = self.fn(*args, **kwargs)
            return next(value) if type(value) is GeneratorType and self.single else value
        except BaseException as error:
            raise self.failed(error) from None
        finally:
            _be_idle()

    def failed(self, error: BaseException) -> BaseException:
        """Return the exception that the caller gets for `error`; where it is an exit, end the process."""
        if isinstance(error, SystemExit):
            end_process(error)
        if isinstance(error, KeyboardInterrupt) and interrupt_reason():
            return error  # of the cancelled task
        return task_failure(error, self.name)


class Several(Body):
    """A generator function whose results are not a stream."""

    count = 0
    """The number of results; 0: one object, the refs of all items."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        _begin(self)
        try:
            return results_of(self.fn(*args, **kwargs), self.count, self.failed)
        except BaseException as error:
            raise self.failed(error) from None
        finally:
            _be_idle()


class Items(Body):
    """A generator function whose results are a stream."""

    def __call__(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        _begin(self)
        try:
            yield from self.fn(*args, **kwargs)
        except BaseException as error:
            raise self.failed(error) from None
        finally:
            _be_idle()

    def failed(self, error: BaseException) -> BaseException:
        return error if isinstance(error, GeneratorExit) else super().failed(error)


# What follows surrounds each task, and is written out where it is used: a context manager costs 0.3 us more.


def _begin(body: Body) -> None:
    try:
        process.body = body
        process.task = running_task()
        show(title_of(body.name))
        if body.facts:
            begin_surroundings(body.facts)
    except BaseException:  # of the setup hook, or the cancellation of the task
        _be_idle()
        raise


def _be_idle() -> None:
    process.body = process.captured = None
    show(title_of(IDLE))


def results_of(items: Iterator[Any], count: int, failed: Callable[[BaseException], BaseException]) -> Any:
    """Return the first `count` items, or for 0 the refs of all; those behind a failure raise it when they are read."""
    from fray.ray._refs import DynamicObjectRefGenerator, Poison

    values: list[Any] = []
    try:
        for value in islice(items, count or None):
            values.append(value)
    except BaseException as error:
        failure = Poison(failed(error))
        values += [failure] * max(count - len(values), 1)
    return values if count else DynamicObjectRefGenerator([_session.context().put(value) for value in values])


def begin_surroundings(facts: dict[str, Any]) -> None:
    """Note the placement group of a call, and run the setup hook where it has not run in this process."""
    group = facts.get("placement_group")
    process.captured = group["group"] if group is not None and group["capture"] else None
    hook = facts.get("setup_hook")
    if hook is None:
        return
    name = hook if isinstance(hook, str) else f"{hook.__module__}.{hook.__qualname__}"
    if name in process.set_up:
        return
    try:
        if isinstance(hook, str):
            module, _, attribute = hook.rpartition(".")
            hook = getattr(__import__(module, fromlist=[attribute]), attribute)
        hook()
    except Exception as error:
        raise RuntimeEnvSetupError(f"Failed to execute the setup hook method {name}: {error!r}") from error
    process.set_up.add(name)


def end_process(error: SystemExit) -> None:
    """End this worker at once, as ``sys.exit`` in a task does in Ray, so that the task is tried again elsewhere."""
    if isinstance(error.code, str):
        print(error.code, file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(error.code if isinstance(error.code, int) else 1 if error.code else 0)


on_cancelled(interrupt)
