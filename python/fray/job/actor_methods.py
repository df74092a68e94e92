"""Which methods of a class can be called through a handle, and what each is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any

__all__ = ["CREATE_ACTOR_KEYWORDS", "MethodKind", "check_constructor", "methods_of", "missing_method", "runs_on_loop"]


CREATE_ACTOR_KEYWORDS = ("options", "name", "get_if_exists", "lifetime", "preemptible", "num_cpus")
"""Keywords that never reach a constructor."""


class MethodKind(StrEnum):
    """What calling a method gives, as far as its definition tells."""

    PLAIN = "plain"
    GENERATOR = "generator"
    ASYNC = "async"
    ASYNC_GENERATOR = "async generator"


def methods_of(cls: type[Any]) -> dict[str, MethodKind]:
    """Return the public methods of `cls`, inherited ones included."""
    found: dict[str, MethodKind] = {}
    for name in dir(cls):
        if name.startswith("_"):
            continue
        value = getattr(cls, name, None)
        if callable(value) and not isinstance(value, type):
            found[name] = _kind_of(value)
    return found


def runs_on_loop(methods: Mapping[str, MethodKind]) -> bool:
    """Return whether an actor with these methods runs all of them on one event loop."""
    return any(kind in (MethodKind.ASYNC, MethodKind.ASYNC_GENERATOR) for kind in methods.values())


def check_constructor(cls: type[Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], options: Iterable[str]) -> None:
    """Raise TypeError where `cls` cannot be called so; the message suggests one of `options` for an unknown keyword."""
    import inspect

    try:
        signature = inspect.signature(cls)
    except (TypeError, ValueError):  # a class written in C may have no signature
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        wanted = signature.parameters
        misplaced = [key for key in kwargs if key in options and key not in wanted]
        hint = "".join(f"; {key} is an option of actors: write options=ActorOptions({key}=...)" for key in misplaced)
        taken = [key for key in CREATE_ACTOR_KEYWORDS if key in wanted]
        if taken:
            hint += f"; {', '.join(taken)} as a keyword is create_actor's own: give the constructor's by position"
        raise TypeError(f"create_actor: {cls.__qualname__}{signature} {error}{hint}") from None


def missing_method(class_name: str, methods: Mapping[str, MethodKind], name: str) -> AttributeError:
    """Return the error for a method that does not exist, with the names of similar methods."""
    if name.startswith("_"):
        return AttributeError(f"{name!r} is private to the actor {class_name}; only public methods can be called")
    import difflib

    near = difflib.get_close_matches(name, methods, n=3, cutoff=0.5)
    if near:
        hint = f"did you mean {' or '.join(repr(item) for item in near)}?"
    elif methods:
        hint = f"it has {', '.join(sorted(methods))}"
    else:
        hint = "it has no public methods"
    return AttributeError(f"the actor {class_name} has no method {name!r}; {hint}")


def _kind_of(method: Callable[..., Any]) -> MethodKind:
    import inspect

    if inspect.isasyncgenfunction(method):
        return MethodKind.ASYNC_GENERATOR
    if inspect.iscoroutinefunction(method):
        return MethodKind.ASYNC
    if inspect.isgeneratorfunction(method):
        return MethodKind.GENERATOR
    return MethodKind.PLAIN
