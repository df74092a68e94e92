"""The object in an actor's process: it holds the instance of the user's class, and calls its methods as Ray does.

The instance itself is untouched, so what its methods call on `self` goes past this.
"""

# pyright: reportPrivateUsage=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# Programs give values of any type; the private names are Ray's, or of this package.

from __future__ import annotations

import asyncio
import atexit
import inspect
import os
import pickle
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import GeneratorType
from typing import Any, NoReturn

from fray._native import call_is_cancelled
from fray.errors import TaskCancelledError
from fray.job.actors import current_actor
from fray.ray import _session
from fray.ray._calls import Call, begin_surroundings, end_process, process, running_actor
from fray.ray._errors import task_failure
from fray.ray._ids import ActorID

__all__ = ["WITH_OPTIONS", "WITH_OPTIONS_STREAMING", "Exit", "Host", "leave"]

WITH_OPTIONS, WITH_OPTIONS_STREAMING = "ray call", "ray stream"
"""Methods that call another one with options: ``(name, options, *arguments)``."""
_DEFAULT_GROUP = ""


class Exit(BaseException):
    """`exit_actor()` was called."""


class Host:
    """What the engine makes an instance of; its attributes are the actor's methods, whatever those are called.

    Args:
        made_of: the user's class, or bytes that it is pickled to.
        facts: see `fray.ray._options.facts_of`, and ``groups`` and ``retries``.
        keywords: the names of the last ones of `args`.
        args: for the constructor.
    """

    def __init__(self, made_of: Any, facts: dict[str, Any], keywords: tuple[str, ...], *args: Any) -> None:
        process.actor = actor = Actor(pickle.loads(made_of) if isinstance(made_of, bytes) else made_of, facts)
        actor.construct(keywords, args)

    def __getattribute__(self, name: str) -> Any:
        if name in ("__class__", "__dict__"):
            return object.__getattribute__(self, name)
        return process.actor.method(name)


class Actor:
    """Holds the instance of the user's class, and makes of its methods what the engine calls."""

    def __init__(self, kind: type[Any], facts: dict[str, Any]) -> None:
        self._kind = kind
        self._facts = self.facts = facts
        self.handle = current_actor().handle
        self.is_asynchronous: bool = facts.get("asynchronous", False)
        self._calls = 0
        self._instance: Any = None
        self._groups = _Groups(facts.get("groups"), facts.get("on_loop", False))
        self._methods: dict[str, Any] = {}

    def construct(self, keywords: tuple[str, ...], args: tuple[Any, ...]) -> None:
        """Make the instance."""
        kind, facts = self._kind, self._facts
        begin_surroundings(facts)
        if facts.get("waits"):
            args = args[1:]  # what the constructor has waited for
        count = len(args) - len(keywords)
        named = dict(zip(keywords, args[count:], strict=True))
        running_actor.set(Call(f"{kind.__name__}.__init__", f"{kind.__module__}.{kind.__qualname__}.__init__", 0))
        try:
            self._instance = kind(*args[:count], **named)
        except (Exit, SystemExit):
            leave()
        except BaseException as error:
            raise task_failure(error, f"{kind.__name__}.__init__", self._who) from None

    def method(self, name: str) -> Any:
        """Return what the engine calls for a method."""
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
        link = self.handle._fray_link  # pyright: ignore[reportPrivateUsage]
        try:
            shown = repr(self._instance)
        except Exception:
            shown = object.__repr__(self._instance)
        return ActorID.of(link.actor_id).hex(), shown

    def _wrapped(self, name: str, options: dict[str, Any]) -> Any:
        method: Any = getattr(self._instance, name)
        options = {**getattr(method, "__ray_method__", {}), **options}
        plain = method
        if options.get("retry_exceptions"):
            tries = options.get("max_task_retries")
            plain = _Retried(
                method, options["retry_exceptions"], self._facts.get("retries", 0) if tries is None else tries
            )
        shown = options.get("name") or f"{self._kind.__name__}.{name}"
        make = self._coroutine if self._groups.on_loop else self._plain
        if inspect.isasyncgenfunction(method):
            make = self._async_items
        elif inspect.isgeneratorfunction(method) and options.get("num_returns") in (None, "streaming"):
            make = self._items
        elif inspect.iscoroutinefunction(method):
            make = self._coroutine
        function = f"{self._kind.__module__}.{self._kind.__qualname__}.{name}"
        return make(plain, shown, function, options.get("concurrency_group") or _DEFAULT_GROUP)

    def _enter(self, name: str, function: str) -> None:
        self._calls += 1
        running_actor.set(Call(name, function, self._calls))

    def _failed(self, error: BaseException, name: str) -> BaseException:
        if isinstance(error, SystemExit) and error.code != 0:
            end_process(error)  # by an accident, so that the actor is restarted where it may be
        if isinstance(error, (Exit, SystemExit)):
            leave()
        return task_failure(error, name, self._who)

    def _plain(self, method: Callable[..., Any], name: str, function: str, group: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            self._enter(name, function)
            try:
                value = method(*args, **kwargs)
                if type(value) is GeneratorType:
                    value = next(value)
            except BaseException as error:
                raise self._failed(error, name) from None
            if call_is_cancelled():
                raise TaskCancelledError(f"{name} was cancelled while it ran; what it returned is dropped")
            return value

        return call

    def _items(self, method: Callable[..., Any], name: str, function: str, group: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            self._enter(name, function)
            try:
                yield from method(*args, **kwargs)
            except GeneratorExit:
                raise
            except BaseException as error:
                raise self._failed(error, name) from None

        return call

    def _coroutine(self, method: Callable[..., Any], name: str, function: str, group: str) -> Any:
        groups = self._groups

        async def call(*args: Any, **kwargs: Any) -> Any:
            self._enter(name, function)
            try:
                return await groups.run(group, method, args, kwargs)
            except asyncio.CancelledError:
                raise
            except BaseException as error:
                raise self._failed(error, name) from None

        if inspect.iscoroutinefunction(method) or groups.limited:
            return call
        return self._plain(method, name, function, group)

    def _async_items(self, method: Callable[..., Any], name: str, function: str, group: str) -> Any:
        async def call(*args: Any, **kwargs: Any) -> Any:
            self._enter(name, function)
            try:
                async for item in method(*args, **kwargs):
                    yield item
            except (GeneratorExit, asyncio.CancelledError):
                raise
            except BaseException as error:
                raise self._failed(error, name) from None

        return call

    # ---- methods that every actor has

    def _ready(self) -> bool:
        return True

    def _call_function(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self._plain(partial(fn, self._instance), "__ray_call__", "__ray_call__", _DEFAULT_GROUP)(*args, **kwargs)

    def _with_options(self, name: str, options: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        return self._wrapped(name, options)(*args, **kwargs)

    def _terminate(self) -> None:
        leave()


_SPECIAL: dict[str, Any] = {
    "__ray_ready__": Actor._ready,  # pyright: ignore[reportPrivateUsage]
    "__ray_call__": Actor._call_function,  # pyright: ignore[reportPrivateUsage]
    "__ray_terminate__": Actor._terminate,  # pyright: ignore[reportPrivateUsage]
    WITH_OPTIONS: Actor._with_options,  # pyright: ignore[reportPrivateUsage]
    WITH_OPTIONS_STREAMING: Actor._with_options,  # pyright: ignore[reportPrivateUsage]
}


class _Retried:
    """A method that is called again, on the same instance, after some exceptions."""

    def __init__(self, method: Any, allowed: Any, retries: int) -> None:
        self.method = method
        self.allowed = (Exception,) if allowed is True else tuple(allowed)
        self.retries = retries

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tries = 0
        while True:
            try:
                return self.method(*args, **kwargs)
            except self.allowed:
                if tries == self.retries:
                    raise
                tries += 1


class _Groups:
    """The concurrency groups of an actor: so many calls of each may run at once, and one group never waits for another.

    The actor has an event loop then. Coroutines of a group share a semaphore, plain methods a pool of threads.
    """

    def __init__(self, sizes: dict[str, int] | None, on_loop: bool) -> None:
        self.limited = sizes is not None
        self.on_loop = on_loop
        self._sizes = sizes or {}
        self._places: dict[str, asyncio.Semaphore] = {}
        self._pools: dict[str, ThreadPoolExecutor] = {}

    async def run(self, group: str, method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a call of `group`."""
        if not self.limited:
            return await method(*args, **kwargs)
        size = self._sizes[group]
        if inspect.iscoroutinefunction(method):
            places = self._places.setdefault(group, asyncio.Semaphore(size))
            async with places:
                return await method(*args, **kwargs)
        pool = self._pools.get(group)
        if pool is None:
            pool = self._pools[group] = ThreadPoolExecutor(size, f"ray-{group or 'default'}")
        import contextvars

        run = partial(contextvars.copy_context().run, method, *args, **kwargs)
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, run)
        except RuntimeError as error:
            if isinstance(error.__cause__, StopIteration):
                raise error.__cause__ from None
            raise


def leave() -> NoReturn:
    """End this actor for good, as a program ends: its exit handlers run, calls that wait are told."""
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    _session.context().kill(process.actor.handle)
    threading.Event().wait()
    raise SystemExit
