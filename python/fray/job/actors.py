"""Actor handles: `ActorHandle`, its methods, and `ActorLink`, the part of them that a backend provides."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NoReturn

from fray._checks import MOST_RETURNS, check_count
from fray.job.actor_methods import MethodKind, missing_method

__all__ = [
    "ActorContext",
    "ActorHandle",
    "ActorLink",
    "ActorMethod",
    "CallOptions",
    "actor_id_of",
    "current_actor",
    "enter_actor",
]


@dataclass(frozen=True, slots=True)
class CallOptions:
    """How one call of an actor's method runs.

    Args:
        num_returns: number of refs that the call returns, at most 65,535; the method then returns that many values.
        name: shown in status, errors and timelines; by default ``Class.method``.
    """

    num_returns: int = 1
    name: str | None = None

    def __post_init__(self) -> None:
        check_count(self.num_returns, 1, "options: num_returns", MOST_RETURNS)
        if self.name is not None and (not isinstance(self.name, str) or not self.name):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"options: name must be text that is not empty, or None, got {self.name!r}")


_PLAIN = CallOptions()


class ActorLink(ABC):
    """What connects handles to one actor. A backend derives from it and sets the attributes.

    Every handle and every bound method holds its link, and the link holds none of them: an actor without a name ends
    when its last link outside itself is gone. Links of one actor, in whatever process, have the same `actor_id`.

    The methods are called with `submit`, unless a backend overrides `bind` to return something faster, which then has
    to be registered with `ActorMethod` and offer the same: a call, ``remote`` and ``options``.
    """

    __slots__ = ("__weakref__",)

    actor_id: str
    """Identifies the actor: no other actor ever has this id."""
    class_name: str
    """``__qualname__`` of the actor's class."""
    name: str | None
    """The actor's name, None for one without."""
    methods: Mapping[str, MethodKind]
    """Every method that can be called, by name; see `methods_of`."""
    annotations: Mapping[str, str] = MappingProxyType({})
    """The annotations of the actor's options."""

    @abstractmethod
    def submit(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any], options: CallOptions) -> Any:
        """Send a call behind all others of this process and return its ref, or the list of its refs; never wait.

        `method` is one of `methods`. Refs among the arguments were not checked. With ``options.num_returns`` > 1 the
        answer is a list. An actor that has ended is no error here: the ref's value is an ActorDiedError.

        Raises:
            SerializationError: an argument cannot be pickled.
            ForeignRefError: an argument is a ref or handle of another context.
            ContextClosedError: the context was closed.
            PendingCallsLimitError: the actor's options allow no further call now.
        """

    @abstractmethod
    def reduce(self) -> tuple[Callable[..., ActorHandle], tuple[Any, ...]]:
        """Return a function and its arguments that make an equal handle in the process that unpickles one."""

    def bind(self, method: str) -> ActorMethod:
        """Return what ``handle.method`` is; a handle asks once for each method and keeps it."""
        return ActorMethod(self, method)


class ActorMethod(ABC):  # noqa: B024  (faster classes are registered with it)
    """A method of an actor. Calling it, directly or by `remote`, returns a ref at once; get the value from that."""

    __slots__ = ("_link", "_name", "_options")

    def __init__(self, link: ActorLink, name: str, options: CallOptions = _PLAIN) -> None:
        self._link = link
        self._name = name
        self._options = options

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._link.submit(self._name, args, kwargs, self._options)

    remote = __call__

    def options(self, **changes: Any) -> ActorMethod:
        """Return the same method with other options for its calls: `num_returns` and `name` of `CallOptions`."""
        try:
            options = replace(self._options, **changes)
        except TypeError as error:
            if "unexpected keyword" in str(error):
                raise TypeError(f"{self!r}.options({', '.join(changes)}): allowed are num_returns and name") from None
            raise
        return ActorMethod(self._link, self._name, options)

    def __repr__(self) -> str:
        return f"<fray method {self._name!r} of {describe(self._link)}>"

    def __eq__(self, other: object) -> bool:
        if type(other) is not ActorMethod:
            return NotImplemented
        return _method_key(self) == _method_key(other)

    def __hash__(self) -> int:
        return hash(_method_key(self))

    def __reduce__(self) -> Any:
        return _method_of, (ActorHandle(self._link), self._name, self._options)


class ActorHandle:
    """Stands for an actor, wherever it runs: ``ref = handle.method(...)``.

    Handles can be passed to tasks and actors, returned and put. Two handles of one actor are equal. A handle is there
    before the actor's constructor has run; calls made meanwhile wait for it.

    Its attributes are the actor's public methods and nothing else: the actor's data stays in the actor.
    """

    _fray_link: ActorLink

    def __init__(self, link: ActorLink) -> None:
        self.__dict__["_fray_link"] = link

    def __getattr__(self, name: str) -> ActorMethod:
        if name.startswith("__") or name == "_fray_link":  # also while a copy is being made
            raise AttributeError(f"an actor handle has no attribute {name!r}")
        link = self._fray_link
        if name not in link.methods:
            raise missing_method(link.class_name, link.methods, name)
        method = self.__dict__[name] = link.bind(name)
        return method

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{name!r} cannot be set on {self!r}: the actor's data stays in the actor; call a method")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fray_link.methods]

    def __repr__(self) -> str:
        return f"<fray {describe(self._fray_link)}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ActorHandle):
            return NotImplemented
        return self._fray_link.actor_id == other._fray_link.actor_id

    def __hash__(self) -> int:
        return hash(self._fray_link.actor_id)

    def __reduce__(self) -> Any:
        return self._fray_link.reduce()


def actor_id_of(handle: ActorHandle) -> str:
    """Return the id of the handle's actor, which an `ActorDiedError` about it names, where it names one."""
    return handle._fray_link.actor_id  # pyright: ignore[reportPrivateUsage]


def describe(link: ActorLink) -> str:
    """Return the words for an actor in messages: ``actor Counter 'total' (3f9a…)``."""
    name = f" {link.name!r}" if link.name is not None else ""
    return f"actor {link.class_name}{name} ({link.actor_id[:8]})"


def _method_key(method: ActorMethod) -> tuple[str, str, CallOptions]:
    return method._link.actor_id, method._name, method._options  # pyright: ignore[reportPrivateUsage]


def _method_of(handle: ActorHandle, name: str, options: CallOptions) -> ActorMethod:
    method: ActorMethod = getattr(handle, name)
    return method if options == _PLAIN else method.options(num_returns=options.num_returns, name=options.name)


# ---- inside an actor


@dataclass(frozen=True, slots=True)
class ActorContext:
    """What the code of an actor can ask about it.

    Args:
        handle: a handle of the actor itself, to hand out. Calls by the actor's own code wait for a free place in it.
        index: the actor's place in its group, 0 for one without.
        group_name: name of the group; without a group, the name of the actor or, where it has none, of its class.
    """

    handle: ActorHandle
    index: int = 0
    group_name: str = ""


_current: ContextVar[ActorContext | None] = ContextVar("fray_current_actor", default=None)


def current_actor() -> ActorContext:
    """Return the actor whose constructor or method this code runs in; threads that it starts are outside.

    Raises:
        RuntimeError: the code runs outside of actors.
    """
    context = _current.get()
    if context is None:
        raise RuntimeError("current_actor() called outside of an actor context: no actor's method is running here")
    return context


def enter_actor(context: ActorContext | None) -> None:
    """Make `context` the current actor in this flow of control; backends call it where an actor's code starts."""
    _current.set(context)
