"""Actors of the Ray backend: the class that Ray runs for a user's class, and the link that handles hold."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from fray import _traces, errors
from fray._ref_outside import RefOutsideError
from fray.backend import BACKENDS
from fray.backend.ray.arguments import Arguments
from fray.backend.ray.connection import Connection, Holder
from fray.backend.ray.functions import takes_nothing
from fray.backend.ray.library import ray, theirs
from fray.backend.ray.options import BACKPRESSURE_ITEMS
from fray.backend.ray.own_calls import become_serial_actor
from fray.backend.ray.refs import is_pickling, packed
from fray.backend.ray.worker import TRACE_KEYWORD, hear_interrupts, raise_failure, traced
from fray.job.actor_methods import MethodKind
from fray.job.actors import ActorContext, ActorHandle, ActorLink, ActorMethod, CallOptions, enter_actor
from fray.job.current import enter_context

__all__ = ["ActorSetup", "RayActorLink", "RayActorMethod", "actor_class", "bare_methods", "link_of"]

_PLAIN = CallOptions()
_SELF = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
_STREAMS = (MethodKind.GENERATOR, MethodKind.ASYNC_GENERATOR)


class ActorSetup(NamedTuple):
    """What the process of an actor is told about the actor."""

    namespace: str
    name: str | None
    class_name: str
    methods: Mapping[str, MethodKind]
    is_serial: bool
    """Whether the actor runs one call at a time."""


# ---- where the actor runs


class _Host:
    """Holds the user's object. A subclass has the user's methods; see `actor_class`."""

    def __init__(self, cls: type[Any], setup: ActorSetup, /, *args: Any, **kwargs: Any) -> None:
        context = self._fray_job_context = BACKENDS["ray"].context_class().of_worker(setup.namespace)
        enter_context(context)
        hear_interrupts()
        raw = ray.get_runtime_context().current_actor
        link = RayActorLink(raw, context.engine, setup.class_name, setup.name, setup.methods)
        if setup.is_serial:
            become_serial_actor(link.actor_id)
        self._fray_context = ActorContext(ActorHandle(link), group_name=setup.name or setup.class_name)
        enter_actor(self._fray_context)
        try:
            self._fray_object = traced(cls, kwargs, setup.class_name)(*args, **kwargs)
        except BaseException as error:
            raise_failure(error)

    def _fray_enter(self) -> Any:
        """Make the context and the actor current for a call; return the user's object."""
        enter_context(self._fray_job_context)
        enter_actor(self._fray_context)
        return self._fray_object


@lru_cache(maxsize=256)
def actor_class(class_name: str, methods: tuple[tuple[str, MethodKind], ...], bare: frozenset[str]) -> Any:
    """Return Ray's actor class for a class of that name with these methods; those in `bare` take no arguments."""
    short = class_name.rpartition(".")[2]
    body = {name: _method(name, kind) for name, kind in methods}
    for name in bare:
        # Ray skips work where the signature has no arguments.
        body[name].__signature__ = inspect.Signature([_SELF])  # type: ignore[attr-defined]
    made = type(short, (_Host,), {**body, "__module__": __name__, "__qualname__": class_name})
    return ray.remote(made)


def bare_methods(cls: type[Any], methods: Iterable[str]) -> frozenset[str]:
    """Return those of the methods that take no arguments."""
    return frozenset(name for name in methods if takes_nothing(inspect.getattr_static(cls, name, None), is_method=True))


def _method(name: str, kind: MethodKind) -> Callable[..., Any]:
    """Return the method that Ray calls. It has the same kind as the user's method, so that Ray runs it alike."""

    def plain(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        try:
            hear_interrupts()
            return packed(_method_of(self, name, kwargs)(*args, **kwargs))
        except BaseException as error:
            raise_failure(error)

    def generator(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        try:
            hear_interrupts()
            for item in _method_of(self, name, kwargs)(*args, **kwargs):  # noqa: UP028
                yield item
        except GeneratorExit:
            raise
        except BaseException as error:
            raise_failure(error)

    async def coroutine(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        try:
            return packed(await _method_of(self, name, kwargs)(*args, **kwargs))
        except Exception as error:  # a cancelled call ends as Ray ends it
            raise_failure(error)

    async def async_generator(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        items = _method_of(self, name, kwargs)(*args, **kwargs)
        try:
            async for item in items:
                yield item
        except Exception as error:
            raise_failure(error)
        finally:
            await items.aclose()

    kinds: dict[MethodKind, Callable[..., Any]] = {
        MethodKind.PLAIN: plain,
        MethodKind.GENERATOR: generator,
        MethodKind.ASYNC: coroutine,
        MethodKind.ASYNC_GENERATOR: async_generator,
    }
    made = kinds[kind]
    made.__name__ = made.__qualname__ = name
    return made


def _method_of(host: Any, name: str, kwargs: dict[str, Any]) -> Callable[..., Any]:
    """Return the user's method that a call runs, as a span where the caller is traced."""
    target = host._fray_enter()
    return traced(getattr(target, name), kwargs, f"{type(target).__qualname__.replace('<locals>.', '')}.{name}")


# ---- where it is called


class Caller(Holder, Protocol):
    """What links need of the engine that they belong to."""

    arguments: Arguments

    def connection(self) -> Connection: ...
    def check_lives(self, link: Any) -> None: ...
    def wrapped(self, answer: Any) -> Any: ...
    def submission_error(
        self, error: Exception, args: Sequence[Any], kwargs: Mapping[str, Any], what: str
    ) -> Exception: ...


class RayActorLink(ActorLink):
    """Connects handles to an actor by Ray's own handle, which Ray counts."""

    __slots__ = ("_calls", "_engine", "_held", "_raw", "actor_id", "class_name", "connection", "methods", "name")

    def __init__(
        self, raw: Any, engine: Caller, class_name: str, name: str | None, methods: Mapping[str, MethodKind]
    ) -> None:
        self._raw = raw
        self._engine = engine
        self.connection = engine.connection()
        self._calls: dict[tuple[str, CallOptions], Callable[..., Any]] = {}
        self.actor_id = raw._actor_id.hex()
        self.class_name = class_name
        self.name = name
        self.methods = methods

    def hold(self, raws: list[Any]) -> None:
        """Hold the refs that a restart of the actor needs again: Ray does not hold them."""
        self._held = raws

    @property
    def ray_handle(self) -> Any:
        """Ray's own handle, for programs that use both."""
        return self._raw

    def submit(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any], options: CallOptions) -> Any:
        """Send a call behind all others of this process; see `ActorLink.submit`."""
        remote = self._calls.get((method, options))
        if remote is None:
            remote = self._calls[method, options] = self.remote_of(method, options)
        return self.call(method, remote, args, kwargs)

    def call(self, method: str, remote: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call `remote`, Ray's callable for the method, and return Fray's refs."""
        engine = self._engine
        engine.check_lives(self)
        if _traces.recorder() is not None and self._takes_trace(method):
            trace = _traces.sent(f"{self.class_name}.{method}", "call")
            kwargs = kwargs if trace is None else {**kwargs, TRACE_KEYWORD: trace}
        if args or kwargs:
            args, kwargs = engine.arguments.sent(args, kwargs, f"a call of {self.class_name}")
        try:
            answer = remote(*args, **kwargs)
        except theirs.PendingCallsLimitExceeded:
            raise errors.PendingCallsLimitError(
                f"the actor {self.class_name} has as many unanswered calls as its max_pending_calls allows; "
                "get some of their results first"
            ) from None
        except Exception as error:
            raise engine.submission_error(error, args, kwargs, f"a call of {self.class_name}") from None
        return engine.wrapped(answer)

    def _takes_trace(self, method: str) -> bool:
        """Return whether the call can carry a trace context: a method of `_Host` takes any keyword."""
        signatures: Mapping[str, list[inspect.Parameter]] = self._raw._ray_method_signatures
        of_host = "_fray_enter" in signatures
        return of_host and any(parameter.kind is parameter.VAR_KEYWORD for parameter in signatures.get(method, []))

    def remote_of(self, method: str, options: CallOptions) -> Callable[..., Any]:
        """Return Ray's callable for calls of `method` with these options."""
        keywords: dict[str, Any] = {} if options.name is None else {"name": options.name}
        if self.methods[method] in _STREAMS:
            keywords["_generator_backpressure_num_objects"] = BACKPRESSURE_ITEMS
        elif options.num_returns > 1:
            keywords["num_returns"] = options.num_returns
        found = getattr(self._raw, method)
        return found.options(**keywords).remote if keywords else found.remote

    def bind(self, method: str) -> ActorMethod:
        return RayActorMethod(self, method)

    def reduce(self) -> tuple[Callable[..., ActorHandle], tuple[Any, ...]]:
        """Pickle as Ray's handle, which Ray counts on its way, and what handles say about the actor."""
        if not is_pickling():
            raise RefOutsideError(
                "a handle of Fray's can only be pickled inside an argument, a result or an object; pass it itself"
            )
        kinds = {name: str(kind) for name, kind in self.methods.items()}
        return _restore, (self._raw, self.class_name, self.name, kinds)


class RayActorMethod(ActorMethod):
    """A method that holds Ray's callable, which is prepared once."""

    __slots__ = ("_remote",)

    def __init__(self, link: RayActorLink, name: str) -> None:
        super().__init__(link, name)
        self._remote = link.remote_of(name, _PLAIN)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._link.call(self._name, self._remote, args, kwargs)  # type: ignore[attr-defined]

    remote = __call__

    def __eq__(self, other: object) -> bool:
        if type(other) is not RayActorMethod:
            return NotImplemented
        return self._link.actor_id == other._link.actor_id and self._name == other._name

    def __hash__(self) -> int:
        return hash((self._link.actor_id, self._name))


def link_of(raw: Any, engine: Caller, name: str | None) -> RayActorLink:
    """Return a link to an actor of which only Ray's handle is known."""
    streams: Mapping[str, bool] = raw._ray_method_is_generator
    methods = {
        method: MethodKind.GENERATOR if streams.get(method) else MethodKind.PLAIN
        for method in sorted(raw._ray_method_signatures)
        if not method.startswith("_")
    }
    class_name: str = raw._ray_actor_creation_function_descriptor.class_name
    return RayActorLink(raw, engine, class_name, name, methods)


def _restore(raw: Any, class_name: str, name: str | None, kinds: Mapping[str, str]) -> ActorHandle:
    context = BACKENDS["ray"].context_class().of_unpickled()
    methods = {method: MethodKind(kind) for method, kind in kinds.items()}
    return ActorHandle(RayActorLink(raw, context.engine, class_name, name, methods))
