"""`ray.remote` on classes: actor classes, handles and their methods."""

from __future__ import annotations

import inspect
import json
import uuid
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar

from fray.errors import InfeasibleError
from fray.job.actor_methods import MethodKind
from fray.job.actor_spec import ActorSpec
from fray.job.actors import ActorHandle as FrayHandle
from fray.job.actors import ActorLink, CallOptions
from fray.ray import _host_classes, _session
from fray.ray._calls import process, start_in_name_of_call
from fray.ray._errors import raise_translated, translated
from fray.ray._host import WITH_OPTIONS, WITH_OPTIONS_STREAMING, Exit, leave
from fray.ray._ids import ActorID
from fray.ray._options import (
    OF_CALLS,
    actor_options,
    check_call_options,
    check_options,
    facts_of,
    settled,
)
from fray.ray._options import method as method
from fray.ray._refs import MOST_TWO_SIDED, ObjectRefGenerator, failed_refs, is_counted, two_sided
from fray.ray._signature import Shape
from fray.ray._startable import Startable
from fray.ray.exceptions import ActorDiedError

__all__ = [
    "ActorClass",
    "ActorClassInheritanceException",
    "ActorClassMethodMetadata",
    "ActorHandle",
    "ActorMethod",
    "ActorProxy",
    "exit_actor",
]

T = TypeVar("T")

_ANNOTATION = "ray"
_LOOP_PLACES = 1000
_GROUP_PLACES = 100_000
"""The concurrency of an actor whose concurrency groups have limits of their own."""
_SPECIAL = {
    "__ray_ready__": MethodKind.PLAIN,
    "__ray_call__": MethodKind.PLAIN,
    "__ray_terminate__": MethodKind.PLAIN,
    WITH_OPTIONS: MethodKind.PLAIN,
    WITH_OPTIONS_STREAMING: MethodKind.GENERATOR,
}


class ActorClassInheritanceException(TypeError):
    """A class was derived from an actor class."""


class _Method(NamedTuple):
    """The facts about a method that every handle knows."""

    streams: bool
    returns: int
    parameters: list[tuple[str, int, bool]] | None
    """Name, kind and whether there is a default; None where nothing is known."""
    retries: int | None = None
    """How often a call is repeated when its process dies; None: as often as the actor's options say."""
    most_items: int = 0
    """A generator waits while so many of its items were not taken; 0: the engine alone says when."""
    transport: str | None = None
    """How Ray would send the tensors that it returns."""

    def shape(self) -> Shape:
        """Return the shape of the arguments."""
        shape = Shape(None)
        if self.parameters is not None:
            none = inspect.Parameter.empty
            kinds = list(type(inspect.Parameter.POSITIONAL_ONLY))
            parts = [
                inspect.Parameter(name, kinds[kind], default=None if optional else none)
                for name, kind, optional in self.parameters
            ]
            shape.take(inspect.Signature(parts))
        return shape


class _Known(NamedTuple):
    """The facts about an actor that every handle knows; they travel as JSON among its annotations."""

    class_name: str
    methods: dict[str, _Method]
    groups: list[str]


@lru_cache(256)
def _known(text: str | None, class_name: str) -> _Known:
    if text is None:
        return _Known(class_name, {}, [])
    name, methods, groups = json.loads(text)
    return _Known(name, {key: _Method(*value) for key, value in methods.items()}, groups)


# ---- handles


class ActorMethod(Startable):
    """A method of an actor: ``handle.method.remote(...)``."""

    _node = "ClassMethodNode"

    def __init__(self, handle: FrayHandle, name: str, info: _Method, options: Mapping[str, Any] | None = None) -> None:
        link: Any = handle._fray_link
        self._fray_handle = handle
        self._method_name = name
        self._info = info
        self._options = dict(options or {})
        returns = self._options.get("num_returns")
        self._streams = info.streams if returns is None else returns == "streaming"
        self._returns = info.returns if not isinstance(returns, int) else returns
        known = _known(link.annotations.get(_ANNOTATION), link.class_name)
        if self._options.get("concurrency_group") not in (None, *known.groups):
            raise ValueError(
                f"{known.class_name}.{name}: there is no concurrency group "
                f"{self._options['concurrency_group']!r}; the actor has {', '.join(known.groups) or 'none'}"
            )
        label = self._options.get("name") or f"{known.class_name.rpartition('.')[2]}.{name}"
        self._call = CallOptions(num_returns=max(self._returns, 1), name=label)
        self._shape: Shape | None = None
        retries = self._options.get("max_task_retries", info.retries)
        if retries is not None:
            link = link.with_retries(retries)
        self._transport = (self._options.get("tensor_transport") or info.transport or "").upper()
        most_items = self._options.get("_generator_backpressure_num_objects", info.most_items)
        self._link: Any = link.with_most_items(most_items) if most_items else link
        self._special = {
            key: value
            for key, value in self._options.items()
            if key in ("concurrency_group", "max_task_retries", "retry_exceptions", "name") and value is not None
        }
        if self._streams != info.streams and not info.streams:
            raise ValueError(f"num_returns='streaming' is for generators, and {known.class_name}.{name} is none")

    def remote(self, *args: Any, **kwargs: Any) -> Any:
        """Call the method; return its ref at once."""
        shape = self._shape
        if shape is None:
            shape = self._shape = self._info.shape()
        if kwargs or not shape.low <= len(args) <= shape.high:
            shape.check(args, kwargs)
        if process.overlaps:
            start_in_name_of_call()
        try:
            if self._special or self._streams != self._info.streams:
                result = self._submit_with_options(args, kwargs)
            else:
                result = self._link.submit(self._method_name, args, kwargs, self._call)
        except Exception as error:
            raise_translated(error)
        if self._transport in ("GLOO", "NCCL"):
            if len(two_sided) >= MOST_TWO_SIDED:
                two_sided.pop(next(iter(two_sided)))
            two_sided[result.hex()] = self._transport
        if self._streams:
            return ObjectRefGenerator(result)
        return None if self._returns == 0 else result

    def _submit_with_options(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        through = WITH_OPTIONS_STREAMING if self._streams else WITH_OPTIONS
        returns = self._options.get("num_returns")
        options = self._special if returns is None else {**self._special, "num_returns": returns}
        return self._link.submit(through, (self._method_name, options, *args), kwargs, self._call)

    @property
    def _num_returns(self) -> int | str:
        return "streaming" if self._streams else self._returns

    def options(self, **options: Any) -> ActorMethod:
        """Return the method with other options for its calls."""
        unknown = set(options) - set(OF_CALLS)
        if unknown:
            raise TypeError(f"options() got an unexpected keyword argument {sorted(unknown)[0]!r}")
        check_call_options(options)
        merged = {**self._options, **options}
        return ActorMethod(self._fray_handle, self._method_name, self._info, merged)

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        del args, kwargs
        name = self._method_name
        raise TypeError(
            f"Actor methods cannot be called directly. Instead of running 'object.{name}()', try "
            f"'object.{name}.remote()'."
        )

    def __reduce__(self) -> Any:
        return _restore_method, (ActorHandle._of(self._fray_handle), self._method_name, self._options)


def _restore_method(handle: ActorHandle[Any], name: str, options: dict[str, Any]) -> ActorMethod:
    found: ActorMethod = getattr(handle, name)
    return found.options(**options) if options else found


class _NeverPlaced(ActorLink):
    """Connects handles to an actor that this machine can never run: each call fails with the reason."""

    __slots__ = ("_failure", "actor_id", "annotations", "class_name", "methods", "name")

    def __init__(
        self, class_name: str, name: str | None, packed: str, failure: BaseException, actor_id: str = ""
    ) -> None:
        self.actor_id = actor_id or f"unplaced.{uuid.uuid4().hex}"
        self.class_name = class_name
        self.name = name
        self.methods = {}
        self.annotations = {_ANNOTATION: packed}
        self._failure = failure

    def with_retries(self, retries: int) -> _NeverPlaced:
        return self

    with_most_items = with_retries

    def submit(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any], options: CallOptions) -> Any:
        return failed_refs(self._failure, options.num_returns)

    def reduce(self) -> tuple[Callable[..., FrayHandle], tuple[Any, ...]]:
        packed = self.annotations[_ANNOTATION]
        return _restore_never_placed, (self.class_name, self.name, packed, self._failure, self.actor_id)


def _restore_never_placed(*parts: Any) -> FrayHandle:
    return FrayHandle(_NeverPlaced(*parts))


class ActorHandle(Generic[T]):
    """Stands for an actor. Its attributes are the actor's methods."""

    _fray_handle: FrayHandle

    @classmethod
    def _of(cls, handle: FrayHandle) -> ActorHandle[Any]:
        """Return the handle that wraps a handle of the context API."""
        made: ActorHandle[Any] = cls.__new__(cls)
        made.__dict__["_fray_handle"] = handle
        return made

    @property
    def _fray_known(self) -> _Known:
        link = self._fray_handle._fray_link
        return _known(link.annotations.get(_ANNOTATION), link.class_name)

    def __getattr__(self, name: str) -> ActorMethod:
        if name == "_fray_handle":
            raise AttributeError(name)
        info = self._fray_known.methods.get(name)
        if info is None and name in ("__ray_ready__", "__ray_call__", "__ray_terminate__"):
            info = _Method(False, 1, None)
        if info is None:
            raise AttributeError(f"'ActorHandle' object has no attribute '{name}'")
        method = self.__dict__[name] = ActorMethod(self._fray_handle, name, info)
        return method

    @property
    def _actor_id(self) -> ActorID:
        return ActorID.of(self._fray_handle._fray_link.actor_id)

    _ray_actor_id = _actor_id

    def _belongs_to(self, context: Any) -> bool:
        link = self._fray_handle._fray_link
        return isinstance(link, _NeverPlaced) or context.engine.owns_actor(link)

    def _kill(self, context: Any, no_restart: bool) -> None:
        if not isinstance(self._fray_handle._fray_link, _NeverPlaced):
            context.kill(self._fray_handle, no_restart)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fray_known.methods]

    def __repr__(self) -> str:
        return f"Actor({self._fray_known.class_name}, {self._actor_id.hex()})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ActorHandle) and other._fray_handle == self._fray_handle

    def __hash__(self) -> int:
        return hash(self._fray_handle)

    def __reduce__(self) -> Any:
        """Pickle the handle as the engine counts it, or by the actor's id where the program pickles it itself."""
        link = self._fray_handle._fray_link
        if is_counted() or isinstance(link, _NeverPlaced):
            return _restore_handle, (self._fray_handle,)
        return _find_again, (link.class_name, link.name, link.annotations.get(_ANNOTATION, ""), link.actor_id)


def _restore_handle(handle: FrayHandle) -> ActorHandle[Any]:
    return ActorHandle._of(handle)


def _find_again(class_name: str, name: str | None, packed: str, actor_id: str) -> ActorHandle[Any]:
    engine: Any = _session.context().engine
    link = engine.actor_by_id(actor_id)
    if link is None:
        failure = ActorDiedError(f"The actor {class_name} has ended; its handle was pickled by the program itself.")
        failure.__dict__["actor_id"] = actor_id
        link = _NeverPlaced(class_name, name, packed, failure, actor_id)
    return ActorHandle._of(FrayHandle(link))


ActorProxy = ActorHandle


# ---- classes


class _Wrapper(Startable):
    """An actor class with options."""

    _node = "ClassNode"

    def __init__(self, cls: type[Any], options: Mapping[str, Any]) -> None:
        self._cls = cls
        self._given = options
        self._options = settled(options)
        self._shape: Shape | None = None  # a class that arrives with its own actor class in it has no constructor yet
        self._session = -1

    def remote(self, *args: Any, **kwargs: Any) -> Any:
        """Start an actor; return its handle at once."""
        shape = self._shape or self._take_shape()
        if kwargs or not shape.low <= len(args) <= shape.high:
            shape.check(args, kwargs)
        context = _session.context()
        options = self._options
        if process.captured is not None and options.get("scheduling_strategy") is None:
            from fray.ray.util.scheduling_strategies import in_group

            return _Wrapper(self._cls, in_group(options, process.captured)).remote(*args, **kwargs)
        if self._session != _session.state.number:
            self._prepare()
        arguments = (self._frozen, self._facts, tuple(kwargs), *args, *kwargs.values())
        try:
            chosen = actor_options(options, {_ANNOTATION: self._packed}, self._places)
            link = context.engine.create_actor(ActorSpec(self._host, arguments, {}, chosen, self._kinds))
        except InfeasibleError as error:  # a program that never waits for the actor goes on
            failure = translated(error, creates_actor=True)
            link = _NeverPlaced(self._cls.__qualname__, options.get("name"), self._packed, failure)
        except Exception as error:
            raise_translated(error, creates_actor=True)
        return ActorHandle._of(FrayHandle(link))

    def _take_shape(self) -> Shape:
        constructor = self._cls.__init__
        self._shape = Shape(constructor if constructor is not object.__init__ else _takes_nothing, bound=1)
        return self._shape

    def _prepare(self) -> None:
        cls = self._cls
        methods = _methods_of(cls)
        groups = _groups(self._options.get("concurrency_groups"))
        for name, fn in methods.items():
            group = getattr(fn, "__ray_method__", {}).get("concurrency_group")
            if group is not None and group not in (groups or {}):
                raise ValueError(
                    f"{cls.__name__}.{name}: there is no concurrency group {group!r}; the class has "
                    f"{', '.join(groups or {}) or 'none'}: @ray.remote(concurrency_groups={{{group!r}: 2}})"
                )
        kinds = {name: _kind_of(method) for name, method in methods.items()}
        asynchronous = any(kind in (MethodKind.ASYNC, MethodKind.ASYNC_GENERATOR) for kind in kinds.values())
        if asynchronous and self._options.get("allow_out_of_order_execution") is False:
            raise ValueError("Out of order execution cannot be disabled for an actor with async methods.")
        on_loop = asynchronous or groups is not None
        places = self._options.get("max_concurrency") or (_LOOP_PLACES if asynchronous else 1)
        if groups is not None:
            groups[""] = places
            places = _GROUP_PLACES
            kinds = {name: MethodKind.ASYNC if kind is MethodKind.PLAIN else kind for name, kind in kinds.items()}
        self._places = places
        self._kinds = {**kinds, **_SPECIAL}
        self._facts = {
            **facts_of(self._options),
            "groups": groups,
            "on_loop": on_loop,
            "asynchronous": asynchronous,
            "retries": self._options.get("max_task_retries") or 0,
        }
        described = {name: _describe(cls, name, method, kinds[name]) for name, method in methods.items()}
        known = _Known(cls.__qualname__, described, [name for name in groups or {} if name])
        self._packed = json.dumps(known, separators=(",", ":"))
        self._host = getattr(_host_classes, cls.__name__.lstrip("_") or "Actor")
        self._frozen = _freeze(cls)
        self._session = _session.state.number

    def options(self, **options: Any) -> _Wrapper:
        """Return the class with further options."""
        check_options(options, for_actors=True, in_options=True)
        return _Wrapper(self._cls, {**self._given, **options})

    def __reduce__(self) -> Any:
        return _Wrapper, (self._cls, dict(self._given))


def _takes_nothing(self: Any) -> None:
    del self


def _methods_of(cls: type[Any]) -> dict[str, Callable[..., Any]]:
    found = {name: getattr(cls, name, None) for name in dir(cls)}
    return {name: value for name, value in found.items() if inspect.isfunction(value) or inspect.ismethod(value)}


def _kind_of(method: Callable[..., Any]) -> MethodKind:
    returns = getattr(method, "__ray_method__", {}).get("num_returns")
    if inspect.isasyncgenfunction(method):
        return MethodKind.ASYNC_GENERATOR
    if inspect.iscoroutinefunction(method):
        return MethodKind.ASYNC
    if inspect.isgeneratorfunction(method) and returns in (None, "streaming"):
        return MethodKind.GENERATOR
    return MethodKind.PLAIN


def _describe(cls: type[Any], name: str, method: Callable[..., Any], kind: MethodKind) -> _Method:
    streams = kind in (MethodKind.GENERATOR, MethodKind.ASYNC_GENERATOR)
    options = getattr(method, "__ray_method__", {})
    # A class method is bound already, and a static method has no self.
    is_static = isinstance(inspect.getattr_static(cls, name), staticmethod)
    bound = 0 if inspect.ismethod(method) or is_static else 1
    signature = Shape(method, bound=bound).signature
    parameters = None
    if signature is not None:
        empty = inspect.Parameter.empty
        parameters = [(part.name, int(part.kind), part.default is not empty) for part in signature.parameters.values()]
    returns = options.get("num_returns")
    most_items = options.get("_generator_backpressure_num_objects") or 0
    count = returns if isinstance(returns, int) else 1
    transport = options.get("tensor_transport")
    return _Method(streams, count, parameters, options.get("max_task_retries"), most_items, transport)


def _groups(wanted: Any) -> dict[str, int] | None:
    if not wanted:
        return None
    if isinstance(wanted, Mapping):
        return dict(wanted)
    return {group["name"]: group["max_concurrency"] for group in wanted}


def _freeze(cls: type[Any]) -> Any:
    from fray._by_value import dumps

    try:
        return dumps(cls)
    except Exception:
        return cls  # it holds refs or handles, as arguments may; or it cannot be pickled, as the engine will say


class ActorClass(Startable, Generic[T]):
    """A class whose instances are actors: ``C.remote(...)``."""

    _node = "ClassNode"

    def __init__(self, cls: Any, options: Any, *derived: Any) -> None:
        if derived:
            raise ActorClassInheritanceException(
                f"Attempted to define subclass '{cls}' of actor class. Inheriting from actor classes is not "
                "currently supported. You can instead inherit from a non-actor base class and make the derived class "
                "an actor class (with @ray.remote)."
            )
        self.__ray_actor_class__ = cls
        self._default_options = dict(options)
        self.remote = _Wrapper(cls, self._default_options).remote
        self.__doc__ = cls.__doc__
        self.__ray_metadata__ = ActorClassMethodMetadata(cls.__name__, cls.__module__)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "__ray_actor_class__" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.__ray_actor_class__, name)

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        del args, kwargs
        name = self.__ray_actor_class__.__name__
        raise TypeError(f"Actors cannot be instantiated directly. Instead of '{name}()', use '{name}.remote()'.")

    def options(self, **options: Any) -> _Wrapper:
        """Return the class with other options for its actors."""
        check_options(options, for_actors=True, in_options=True)
        return _Wrapper(self.__ray_actor_class__, {**self._default_options, **options})

    def __repr__(self) -> str:
        return f"ActorClass({self.__ray_actor_class__.__name__})"

    def __reduce__(self) -> Any:
        return _new_class, (), {"cls": self.__ray_actor_class__, "options": self._default_options}

    def __setstate__(self, values: dict[str, Any]) -> None:
        self.__init__(values["cls"], values["options"])


class ActorClassMethodMetadata(NamedTuple):
    """The facts about an actor class that programs look at."""

    class_name: str
    module: str


def _new_class() -> ActorClass[Any]:
    return ActorClass.__new__(ActorClass)


def exit_actor() -> NoReturn:
    """End the actor whose method runs; its calls without an answer raise ActorDiedError."""
    if process.actor is None:
        raise TypeError("exit_actor API is called on a non-actor worker. Call this API inside an actor.")
    if process.actor.is_asynchronous:
        leave()  # an event loop does not pass on what the program's own asyncio tasks raise
    raise Exit
