"""`Arguments`: what is sent to Ray in the place of the arguments of tasks, calls and actors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from fray.backend.ray.library import ray, theirs
from fray.backend.ray.refs import RayRef, packed
from fray.backend.ray.stream import RayStream
from fray.backend.ray.worker import Items, task_failure
from fray.job.actors import ActorHandle
from fray.job.checks import foreign_actor, foreign_ref
from fray.job.refs import ObjectRef

__all__ = ["Arguments", "has_items"]


class Arguments:
    """Checks and replaces the arguments of one context.

    Args:
        owns: whether a ref is one of the context.
        owns_actor: whether a link leads to an actor of the context.
        context_name: the name of the context's class, for messages.
    """

    def __init__(self, owns: Callable[[Any], bool], owns_actor: Callable[[Any], bool], context_name: str) -> None:
        self._owns = owns
        self._owns_actor = owns_actor
        self._context_name = context_name

    def sent(self, args: Sequence[Any], kwargs: Mapping[str, Any], verb: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments with Ray's refs in the place of Fray's refs.

        Raises:
            ForeignRefError: a ref or handle of another context.
        """
        return (
            tuple([self._sent(value, verb) for value in args]),
            {name: self._sent(value, verb) for name, value in kwargs.items()} if kwargs else {},
        )

    def _sent(self, value: Any, verb: str) -> Any:
        kind: type[Any] = type(value)  # pyright: ignore[reportUnknownVariableType]
        if kind is RayRef:
            self._check_owned(value, verb)
            return value._raw
        if kind is list:
            return packed(value)
        if kind in _PLAIN_TYPES:
            return value
        if kind is RayStream:
            self._check_owned(value, verb)
            return _items_argument(value)
        if isinstance(value, ObjectRef):
            self._check_owned(cast("ObjectRef[Any]", value), verb)
        elif isinstance(value, ActorHandle) and not self._owns_actor(value._fray_link):  # pyright: ignore[reportPrivateUsage]
            raise foreign_actor(value, verb, self._context_name)
        return cast("Any", value)

    def _check_owned(self, ref: ObjectRef[Any], verb: str) -> None:
        if not self._owns(ref):
            raise foreign_ref(ref, verb, self._context_name)


def has_items(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Return whether one of the arguments that are sent stands for a generator task."""
    return any(type(value) is Items for value in args) or any(type(value) is Items for value in kwargs.values())


def _items_argument(stream: RayStream[Any]) -> Any:
    """Return the argument for a generator task: all its items or, where it failed, Ray's ref of its failure."""
    try:
        return Items(stream.items())
    except Exception as error:
        return ray.put(theirs.RayTaskError("generator", str(error), task_failure(error, False)))


_PLAIN_TYPES = frozenset((int, float, str, bytes, bool, type(None), dict, tuple))
