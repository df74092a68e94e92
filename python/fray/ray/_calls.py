"""Runs the functions of a program in a worker, and keeps what the program may ask about the running call."""

# pyright: reportPrivateUsage=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# Programs give values of any type; the private names are Ray's, or of this package.

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from itertools import islice
from types import GeneratorType
from typing import Any

from fray import _native
from fray.job.interruption import on_cancelled
from fray.ray import _session, _title
from fray.ray._errors import task_failure
from fray.ray.exceptions import RuntimeEnvSetupError

__all__ = [
    "Body",
    "Call",
    "Items",
    "Several",
    "current_call",
    "interrupt",
    "results_of",
    "running_actor",
    "start_in_name_of_call",
    "surroundings",
]


class Call:
    """The running call of an actor's method.

    Args:
        name: shown as the task's name.
        function: qualified name of the method.
        number: of the call in this process.
        starter: by which the engine knows it as the one that starts tasks; 0 once it has ended.
    """

    __slots__ = ("function", "name", "number", "starter")

    def __init__(self, name: str, function: str, number: int, starter: int = 0) -> None:
        self.name = name
        self.function = function
        self.number = number
        self.starter = starter


class _Process:
    """What this worker runs: one task at a time, or an actor, whose calls may overlap."""

    def __init__(self) -> None:
        self.body: Body | None = None
        self.tasks = 0
        """Begun so far."""
        self.actor: Any = None
        """The host of the actor that this process is, see `fray.ray._host`."""
        self.overlaps = False
        """The calls of the actor share threads, so what one of them starts has to be said in its name."""
        self.captured: Any = None
        """The placement group that what the running code starts goes into, unless it says otherwise."""
        self.set_up: set[str] = set()
        """Names of the setup hooks that have run."""


process = _Process()
running_actor: ContextVar[Call | None] = ContextVar("ray_call", default=None)


def current_call() -> Call | None:
    """Return the running task or call, None on the driver."""
    call = running_actor.get()
    if call is not None:
        return call
    body = process.body
    return None if body is None else Call(body.name, body.function, process.tasks)


def surroundings() -> dict[str, Any]:
    """Return what the options of the running task or actor say, see `fray.ray._options.facts_of`."""
    if process.actor is not None:
        return process.actor.facts
    return process.body.facts if process.body is not None else {}


def start_in_name_of_call() -> None:
    """Have what this thread submits next count as started by the running call, with which it is cancelled."""
    call = running_actor.get()
    _native.set_starter(0 if call is None else call.starter)


def interrupt() -> None:
    """Interrupt a cancelled task as Ray does. A method of an actor goes on, and may ask whether it was cancelled."""
    if process.actor is None:
        raise KeyboardInterrupt


class Body:
    """A remote function as the worker runs it.

    Args:
        fn: the user's function.
        name: shown as the task's name.
        single: it has one result; what a generator yields first, where it returns one.
        facts: what the options say about the surroundings of the call: placement group, resources, setup hook.
    """

    def __init__(self, fn: Callable[..., Any], name: str, single: bool, facts: dict[str, Any]) -> None:
        self.fn = fn
        self.name = name
        self.single = single
        self.facts = facts
        self.__qualname__: str = getattr(fn, "__qualname__", name)
        self.function = f"{fn.__module__}.{getattr(fn, '__name__', name)}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.begin()
        try:
            value = self.fn(*args, **kwargs)
            if type(value) is GeneratorType and self.single:
                return next(value)
            return value
        except BaseException as error:
            raise self.failed(error) from None
        finally:
            self.end()

    def begin(self) -> None:
        """Note that this is what runs."""
        process.body = self
        process.tasks += 1
        _title.show(_title.title_of(self.name))
        if self.facts:
            begin_surroundings(self.facts)

    @staticmethod
    def end() -> None:
        """Note that nothing runs."""
        process.body = process.captured = None
        _title.show(_title.idle_title())

    def failed(self, error: BaseException) -> BaseException:
        """Return what the caller gets for `error`; does not return where the function has ended its process."""
        if isinstance(error, SystemExit):
            end_process(error)
        if isinstance(error, KeyboardInterrupt) and _native.interrupt_reason():
            return error  # of the cancelled task
        return task_failure(error, self.name)


class Several(Body):
    """A generator function whose results are no stream: so many of them, or one object, the refs of all its items.

    Args:
        count: of the results; 0: one object.
    """

    count = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.begin()
        try:
            return results_of(self.fn(*args, **kwargs), self.count, self.failed)
        finally:
            self.end()


def results_of(items: Iterator[Any], count: int, failed: Callable[[BaseException], BaseException]) -> Any:
    """Return the first `count` items, or for 0 the refs of all; one that it does not come to raises what it raised."""
    from fray.ray._refs import DynamicObjectRefGenerator, Poison

    values: list[Any] = []
    try:
        for value in islice(items, count or None):
            values.append(value)
    except BaseException as error:
        failure = Poison(failed(error))
        values += [failure] * max(count - len(values), 1)
    return values if count else DynamicObjectRefGenerator([_session.context().put(value) for value in values])


class Items(Body):
    """A remote generator function as the worker runs it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        self.begin()
        try:
            yield from self.fn(*args, **kwargs)
        except GeneratorExit:
            raise
        except BaseException as error:
            raise self.failed(error) from None
        finally:
            self.end()


def begin_surroundings(facts: dict[str, Any]) -> None:
    """Do what has to be done before a call in this process."""
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
    """End this worker as ``sys.exit`` in a task does in Ray: at once, so that the task is tried again elsewhere."""
    if isinstance(error.code, str):
        print(error.code, file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(error.code if isinstance(error.code, int) else 1 if error.code else 0)


on_cancelled(interrupt)
