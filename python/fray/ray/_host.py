"""The object in an actor's process that holds the instance of the user's class and calls its methods as Ray does.

The instance is not changed, so its own calls of methods on `self` do not come here.
"""

from __future__ import annotations

import asyncio
import atexit
import inspect
import itertools
import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from types import GeneratorType
from typing import Any, NoReturn

from fray._native import call_is_cancelled, running_task, starter
from fray.backend.native.actor_event_loop import actor_loop
from fray.errors import TaskCancelledError
from fray.job.actors import current_actor
from fray.ray import _session, _title
from fray.ray._calls import Call, begin_surroundings, end_process, process, results_of, running_actor
from fray.ray._errors import task_failure
from fray.ray._ids import ActorID

__all__ = ["WITH_OPTIONS", "WITH_OPTIONS_STREAMING", "Exit", "Host", "leave"]

WITH_OPTIONS, WITH_OPTIONS_STREAMING = "ray call", "ray stream"
"""The methods that call another method with options; their arguments are ``(name, options, *arguments)``."""
_DEFAULT_GROUP = ""
Known = tuple[tuple[int, int], int]
"""The owner and number of a call, and its number as the starter of tasks. They are known while it is handed over."""


class Exit(BaseException):
    """`exit_actor` was called."""


class Host:
    """The class that the engine makes an instance of, whose attributes are the actor's methods and nothing else.

    Args:
        made_of: the user's class, or its pickle.
        facts: those of `fray.ray._options.facts_of`, and ``groups`` and ``retries``.
        keywords: the names of the last arguments in `args`.
        args: the arguments of the constructor.
    """

    def __init__(self, made_of: Any, facts: dict[str, Any], keywords: tuple[str, ...], *args: Any) -> None:
        process.actor = actor = Actor(pickle.loads(made_of) if isinstance(made_of, bytes) else made_of, facts)
        actor.construct(keywords, args)

    def __getattribute__(self, name: str) -> Any:
        if name in ("__class__", "__dict__"):
            return object.__getattribute__(self, name)
        return process.actor.method(name)


class Actor:
    """Holds the instance of the user's class, and wraps its methods for the engine."""

    def __init__(self, kind: type[Any], facts: dict[str, Any]) -> None:
        self._kind = kind
        self._facts = self.facts = facts
        self.handle = current_actor().handle
        self.is_asynchronous: bool = facts.get("asynchronous", False)
        self._instance: Any = None
        self._groups = _Groups(facts.get("groups"), facts.get("on_loop", False), self.is_asynchronous)
        self._methods: dict[str, Any] = {}
        process.overlaps = self._groups.on_loop
        self._title = _title.title_of(kind.__name__)
        _title.show(self._title)

    def construct(self, keywords: tuple[str, ...], args: tuple[Any, ...]) -> None:
        """Make the instance."""
        kind, facts = self._kind, self._facts
        begin_surroundings(facts)
        count = len(args) - len(keywords)
        named = dict(zip(keywords, args[count:], strict=True))
        running_actor.set(Call(f"{kind.__name__}.__init__", f"{kind.__module__}.{kind.__qualname__}.__init__", (0, 0)))
        try:
            made = partial(kind, *args[:count], **named)
            self._instance = actor_loop().run_until_complete(_on_loop(made)) if self.is_asynchronous else made()
        except (Exit, SystemExit):
            leave()
        except BaseException as error:
            raise task_failure(error, f"{kind.__name__}.__init__", self._who) from None

    def method(self, name: str) -> Any:
        """Return the callable that the engine calls for a method."""
        known = self._methods.get(name)
        if known is None:
            special = _SPECIAL.get(name)
            known = self._methods[name] = self._wrapped(name, {}) if special is None else partial(special, self)
        return known

    @property
    def restarted(self) -> bool:
        """Whether this is not the actor's first process."""
        rows = _session.context().engine.status()["actors"]
        return any(row["pid"] == os.getpid() and row["restarts"] > 0 for row in rows)

    def _who(self) -> tuple[str, str]:
        link = self.handle._fray_link
        try:
            shown = repr(self._instance)
        except Exception:
            shown = object.__repr__(self._instance)
        return ActorID.of(link.actor_id).hex(), shown

    def _bound(self, name: str) -> Any:
        """Return a method of the class, though the instance may have an attribute of that name."""
        found: Any = inspect.getattr_static(self._kind, name)
        return found.__get__(self._instance, self._kind)

    def _wrapped(self, name: str, options: dict[str, Any]) -> Any:
        method: Any = self._bound(name)
        options = {**getattr(method, "__ray_method__", {}), **options}
        plain = method
        if options.get("retry_exceptions"):
            tries = options.get("max_task_retries")
            plain = _retried(
                method, options["retry_exceptions"], self._facts.get("retries", 0) if tries is None else tries
            )
        shown = options.get("name") or f"{self._kind.__name__}.{name}"
        returns = options.get("num_returns")
        if inspect.isgeneratorfunction(method) and (returns == "dynamic" or (isinstance(returns, int) and returns > 1)):
            plain = self._gathering(plain, 0 if returns == "dynamic" else returns, shown)
        make = self._coroutine if self._groups.on_loop else self._plain
        if inspect.isasyncgenfunction(method):
            make = self._async_items
        elif inspect.isgeneratorfunction(method) and returns in (None, "streaming"):
            make = self._items
        elif inspect.iscoroutinefunction(method):
            make = self._coroutine
        function = f"{self._kind.__module__}.{self._kind.__qualname__}.{name}"
        return make(plain, shown, function, options.get("concurrency_group") or _DEFAULT_GROUP)

    def _gathering(self, method: Callable[..., Any], count: int, name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            return results_of(method(*args, **kwargs), count, lambda error: self._failed(error, name))

        return call

    def _enter(self, name: str, function: str, known: Known) -> Call:
        call = Call(name, function, *known)
        running_actor.set(call)
        return call

    def _failed(self, error: BaseException, name: str) -> BaseException:
        if isinstance(error, SystemExit) and error.code != 0:
            end_process(error)  # it counts as a death, after which the actor may be restarted
        if isinstance(error, (Exit, SystemExit)):
            leave()
        return task_failure(error, name, self._who)

    def _plain(self, method: Callable[..., Any], name: str, function: str, group: str) -> Any:
        title = _title.title_of(name)

        def call(*args: Any, **kwargs: Any) -> Any:
            self._enter(name, function, _known())
            _title.show(title)
            try:
                value = method(*args, **kwargs)
                if type(value) is GeneratorType:
                    value = next(value)
            except BaseException as error:
                raise self._failed(error, name) from None
            finally:
                _title.show(self._title)
            if call_is_cancelled():
                raise TaskCancelledError(f"{name} was cancelled while it ran; what it returned is dropped")
            return value

        return call

    def _items(self, method: Callable[..., Any], name: str, function: str, group: str) -> Any:
        def run(known: Known, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            with _Running(self, name, function, known):
                yield from method(*args, **kwargs)

        return lambda *args, **kwargs: run(_known(), args, kwargs)

    def _coroutine(self, method: Callable[..., Any], name: str, function: str, group: str) -> Any:
        async def run(known: Known, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            with _Running(self, name, function, known):
                return await self._groups.run(group, method, args, kwargs)

        if inspect.iscoroutinefunction(method) or self._groups.limited:
            return lambda *args, **kwargs: run(_known(), args, kwargs)  # known while the engine hands the call over
        return self._plain(method, name, function, group)

    def _async_items(self, method: Callable[..., Any], name: str, function: str, group: str) -> Any:
        async def run(known: Known, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            with _Running(self, name, function, known):
                async for item in method(*args, **kwargs):
                    yield item

        return lambda *args, **kwargs: run(_known(), args, kwargs)

    # ---- methods that every actor has

    def _call_function(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self._plain(partial(fn, self._instance), "__ray_call__", "__ray_call__", _DEFAULT_GROUP)(*args, **kwargs)

    def _with_options(self, name: str, options: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        return self._wrapped(name, options)(*args, **kwargs)

    def _terminate(self) -> None:
        leave()


@dataclass
class _Running:
    """Surrounds a call of an actor that may overlap with others; the error that it raises gets Ray's type."""

    actor: Actor
    name: str
    function: str
    known: Known

    def __enter__(self) -> None:
        self.call = self.actor._enter(self.name, self.function, self.known)

    def __exit__(self, kind: object, error: BaseException | None, frames: object) -> None:
        self.call.starter = 0
        if error is not None and not isinstance(error, (GeneratorExit, asyncio.CancelledError)):
            raise self.actor._failed(error, self.name) from None


_SPECIAL: dict[str, Any] = {
    "__ray_ready__": lambda actor: True,
    "__ray_call__": Actor._call_function,
    "__ray_terminate__": Actor._terminate,
    WITH_OPTIONS: Actor._with_options,
    WITH_OPTIONS_STREAMING: Actor._with_options,
}


def _known() -> Known:
    return running_task(), starter()


async def _on_loop(made: partial[Any]) -> Any:
    """Make the instance of an asynchronous actor, whose constructor finds the event loop running or waits on it."""
    kind: Any = made.func
    if not inspect.iscoroutinefunction(kind.__init__):
        return made()
    instance = kind.__new__(kind, *made.args, **made.keywords)
    await instance.__init__(*made.args, **made.keywords)
    return instance


def _retried(method: Any, allowed: Any, retries: int) -> Any:
    """Return a method that calls `method` again, on the same instance, after the exceptions that are allowed.

    Args:
        method: plain, `async`, or a generator of either kind, each of whose items is yielded once.
        allowed: True for any exception, or a list of types.
        retries: the most calls after the first one; -1: no limit.
    """
    kinds: tuple[type[Exception], ...] = (Exception,) if allowed is True else tuple(allowed)

    def attempts() -> Iterator[AbstractContextManager[None]]:
        """Yield a context manager for each attempt, which suppresses the exceptions of all but the last attempt."""
        yield from itertools.repeat(suppress(*kinds)) if retries < 0 else itertools.repeat(suppress(*kinds), retries)
        yield nullcontext()

    def call(*args: Any, **kwargs: Any) -> Any:
        for attempt in attempts():
            with attempt:
                return method(*args, **kwargs)

    async def call_async(*args: Any, **kwargs: Any) -> Any:
        for attempt in attempts():
            with attempt:
                return await method(*args, **kwargs)

    def items(*args: Any, **kwargs: Any) -> Any:
        given = 0
        for attempt in attempts():
            with attempt:
                for item in itertools.islice(method(*args, **kwargs), given, None):
                    given += 1
                    yield item
                return

    async def items_async(*args: Any, **kwargs: Any) -> Any:
        given = 0
        for attempt in attempts():
            index = 0
            with attempt:
                async for item in method(*args, **kwargs):
                    index += 1
                    if index > given:
                        given = index
                        yield item
                return

    if inspect.isasyncgenfunction(method):
        return items_async
    if inspect.isgeneratorfunction(method):
        return items
    return call_async if inspect.iscoroutinefunction(method) else call


class _Groups:
    """The concurrency groups of an actor, each with a limit of calls that run at once; no group waits for another.

    The actor's event loop only hands calls on: to an event loop in the thread of a group where the class has `async`
    methods, else to a pool of threads.
    """

    def __init__(self, sizes: dict[str, int] | None, on_loop: bool, asynchronous: bool) -> None:
        self.limited = sizes is not None
        self.on_loop = on_loop
        self._sizes = sizes or {}
        self._open = _GroupLoop if asynchronous else _GroupThreads
        self._groups: dict[str, _GroupLoop | _GroupThreads] = {}

    async def run(self, group: str, method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a call of `group`."""
        if not self.limited:
            return await method(*args, **kwargs)
        place = self._groups.get(group)
        if place is None:
            place = self._groups[group] = self._open(f"ray-{group or 'default'}", self._sizes[group])
        value, error = await place.start(partial(method, *args, **kwargs))
        if error is not None:
            raise error
        return value


class _GroupLoop:
    """An event loop in a thread of its own, and the limit of its calls."""

    def __init__(self, name: str, size: int) -> None:
        self._loop = asyncio.new_event_loop()
        self._places = asyncio.Semaphore(size)
        threading.Thread(target=self._loop.run_forever, name=name, daemon=True).start()

    def start(self, call: Callable[[], Any]) -> Any:
        """Return a future of (value, error), because an error that an asyncio task raises may end the event loop."""
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._run(call), self._loop))

    async def _run(self, call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
        async with self._places:
            try:
                value = call()
                return await value if inspect.isawaitable(value) else value, None
            except asyncio.CancelledError:
                raise
            except BaseException as error:
                return None, error


class _GroupThreads:
    """A pool of threads."""

    def __init__(self, name: str, size: int) -> None:
        self._pool = ThreadPoolExecutor(size, name)

    def start(self, call: Callable[[], Any]) -> Any:
        """Return a future of (value, error)."""
        import contextvars

        around = contextvars.copy_context()
        return asyncio.get_running_loop().run_in_executor(self._pool, lambda: around.run(_outcome, call))


def _outcome(call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        return call(), None
    except BaseException as error:
        return None, error


def leave() -> NoReturn:
    """End this actor for good, as a program ends: its exit handlers run, and the calls that wait fail."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    _session.context().kill(process.actor.handle)
    threading.Event().wait()
    raise SystemExit
