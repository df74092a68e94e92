"""Actors of the native engine, from the caller's side."""

from __future__ import annotations

import pickle
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from fray import _native
from fray._native import FunctionKind
from fray._recent import Recent
from fray.backend.native.functions import checked_label
from fray.job.actor_methods import MethodKind
from fray.job.actors import ActorHandle, ActorLink, CallOptions

__all__ = ["ActorDescription", "AnyMethods", "NativeActorLink", "restore_handle"]

_STREAMS = (MethodKind.GENERATOR, MethodKind.ASYNC_GENERATOR)
_ITEM_BUDGET_BYTES = 16 << 20
_MOST_PLAN_BYTES = 1 << 20
_PLAN_BYTES = 1024
_PLAIN = CallOptions()
_MOST_NAME_BYTES = 120
_PORTABLE = b"FRAY\x01"  # see src/capi/actor_description.h
_LIMITS = struct.Struct("<iiq")


class AnyMethods(Mapping[str, MethodKind]):
    """The methods of a class that this process does not know: every public name may be a method."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and not name.startswith("_")

    def __getitem__(self, name: str) -> MethodKind:
        if name not in self:
            raise KeyError(name)
        return MethodKind.PLAIN

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


class ActorDescription(NamedTuple):
    """The facts that every handle of an actor carries."""

    class_name: str
    name: str | None
    namespace: str
    methods: Mapping[str, MethodKind]
    max_task_retries: int
    max_pending_calls: int
    max_concurrency: int
    is_cpp: bool = False
    annotations: Mapping[str, str] = {}

    def pack(self) -> bytes:
        """Return bytes that `unpack` reads; the engine keeps them with the actor's name."""
        if isinstance(self.methods, AnyMethods):
            return self.pack_portable()
        kinds = {name: str(kind) for name, kind in self.methods.items()}
        return pickle.dumps((*self[:3], kinds, *self[4:]), protocol=5)

    def pack_portable(self) -> bytes:
        """Return the description without the methods, in the form that C++ reads and writes."""
        texts = [text.encode() for text in (self.class_name, self.name or "", self.namespace)]
        packed = b"".join(len(text).to_bytes(4, "little") + text for text in texts)
        limits = _LIMITS.pack(self.max_task_retries, self.max_concurrency, self.max_pending_calls)
        return _PORTABLE + bytes([0 if self.is_cpp else 1]) + packed + limits

    @classmethod
    def unpack(cls, data: bytes) -> ActorDescription:
        """Read what `pack` wrote."""
        if data.startswith(_PORTABLE):
            return cls._unpack_portable(data[len(_PORTABLE) :])
        class_name, name, namespace, methods, *rest = pickle.loads(data)
        return cls(class_name, name, namespace, {key: MethodKind(kind) for key, kind in methods.items()}, *rest)

    @classmethod
    def _unpack_portable(cls, data: bytes) -> ActorDescription:
        is_cpp, rest = data[0] == 0, data[1:]
        texts: list[str] = []
        for _ in range(3):
            end = 4 + int.from_bytes(rest[:4], "little")
            texts.append(rest[4:end].decode())
            rest = rest[end:]
        retries, concurrency, pending = _LIMITS.unpack(rest)
        class_name, name, namespace = texts
        return cls(class_name, name or None, namespace, AnyMethods(), retries, pending, concurrency, is_cpp)


class NativeActorLink(ActorLink):
    """Connects handles to an actor by the ref to its object, which the engine counts like any other."""

    __slots__ = (
        "_client",
        "_description",
        "_most_items",
        "_plans",
        "_ref",
        "actor_id",
        "annotations",
        "class_name",
        "methods",
        "name",
    )

    def __init__(self, ref: Any, description: ActorDescription, most_items: int = 0) -> None:
        self._ref = ref
        self._most_items = most_items
        self._client = ref._client
        self._description = description
        self._plans: Recent[tuple[str, CallOptions], tuple[Any, Any]] = Recent(_MOST_PLAN_BYTES, _size_of_plan)
        self.actor_id = ref._id()
        self.class_name = description.class_name
        self.name = description.name
        self.methods = description.methods
        self.annotations = description.annotations

    @property
    def ref(self) -> Any:
        """The ref to the actor's object."""
        return self._ref

    @property
    def description(self) -> ActorDescription:
        """The facts that every handle of the actor carries."""
        return self._description

    def submit(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any], options: CallOptions) -> Any:
        """Send a call behind all others of this process; see `ActorLink.submit`."""
        plan = self._plans[method, options] or self._plan(method, options)
        return _native.call_actor(
            self._client, self._ref, plan[0], plan[1], args, kwargs, self._description.max_pending_calls
        )

    def reduce(self) -> tuple[Callable[..., ActorHandle], tuple[Any, ...]]:
        """Pickle as the ref, which the engine counts on its way, and the description."""
        return restore_handle, (self._ref, self._description.pack())

    def with_retries(self, retries: int) -> NativeActorLink:
        """Return a link to the same actor that repeats a call up to `retries` times if the process dies; -1: always."""
        description = self._description._replace(max_task_retries=retries)
        return NativeActorLink(self._ref, description, self._most_items)

    def with_most_items(self, most_items: int) -> NativeActorLink:
        """Return a link to the same actor whose generator methods wait while so many of their items are not taken."""
        return NativeActorLink(self._ref, self._description, most_items)

    def kill(self, no_restart: bool) -> None:
        """End the actor's process; with `no_restart` the actor as well."""
        _native.kill_actor(self._ref, bool(no_restart))

    def belongs_to(self, client: _native.Client) -> bool:
        """Return whether the actor is one of this client's node."""
        return self._client is client

    def _plan(self, method: str, options: CallOptions) -> tuple[Any, Any]:
        if len(method.encode()) > _MOST_NAME_BYTES:
            raise ValueError(f"the method's name {method!r} is longer than {_MOST_NAME_BYTES} bytes")
        label = options.name or f"{self.class_name}.{method}"
        kind = FunctionKind.CPP_METHOD if self._description.is_cpp else FunctionKind.METHOD
        function = _native.make_function(kind, method.encode(), checked_label(label), 0)
        streams = self.methods[method] in _STREAMS
        retries = self._description.max_task_retries
        budget = (_ITEM_BUDGET_BYTES, self._most_items)
        plan = _native.make_plan({}, retries, options.num_returns, streams, 0.0, *budget)
        return self._plans.keep((method, options), (function, plan))


def _size_of_plan(key: tuple[str, CallOptions], known: tuple[Any, Any]) -> int:
    return _PLAN_BYTES + sys.getsizeof(key[0]) + sys.getsizeof(known[0])


def restore_handle(ref: Any, description: bytes) -> ActorHandle:
    """Return the handle of the actor that `ref` stands for."""
    return ActorHandle(NativeActorLink(ref, ActorDescription.unpack(description)))
