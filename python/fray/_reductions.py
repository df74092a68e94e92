"""How things of the standard library travel that plain pickle refuses, or refers to by a name that only one script has.

Each arrives as its decorator or class makes it: a cached function with an empty cache, a variable of the context or
thread without what it has in this one. Nothing of Fray is needed to load them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import Context, ContextVar
from functools import cached_property, lru_cache, partial
from struct import Struct
from threading import local
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from fray._functions import is_importable

__all__ = ["REDUCTIONS", "CachedFunction", "state_of_cached"]

CachedFunction: type[Any] = type(lru_cache(abs))
"""What `functools.lru_cache` makes of a function."""

_MADE_ANEW = "cache_parameters"
_LOCK = "lock"
"""That of a cached property, which it has up to Python 3.11."""


def state_of_cached(fn: Any) -> dict[str, Any]:
    """Return the attributes of a cached function that travel with it; among them the function that it calls."""
    state = dict[str, Any](fn.__dict__)
    state.pop(_MADE_ANEW, None)
    wrapped = state.get("__wrapped__")
    copied: Mapping[str, Any] = vars(wrapped) if isinstance(wrapped, type) else {}  # all that a class has
    return {name: value for name, value in state.items() if name not in copied or copied[name] is not value}


class _Decorator:
    """What `lru_cache` returns for these parameters, which cannot be pickled; it arrives as that."""

    def __init__(self, maxsize: int | None, typed: bool) -> None:
        self._parameters = maxsize, typed

    def __reduce__(self) -> Any:
        return lru_cache, self._parameters

    def __call__(self, fn: Any) -> Any:
        return lru_cache(*self._parameters)(fn)


def _reduce_cached(fn: Any) -> Any:
    if is_importable(fn):
        return fn.__reduce__()
    return _Decorator(**fn.cache_parameters()), (fn.__wrapped__,), state_of_cached(fn)


def _reduce_cached_property(thing: cached_property[Any]) -> Any:
    state = {name: value for name, value in vars(thing).items() if name != _LOCK}
    return cached_property, (thing.func,), state


def _reduce_variable(variable: ContextVar[Any]) -> Any:
    try:
        default = Context().run(variable.get)
    except LookupError:
        return ContextVar, (variable.name,)
    return partial(ContextVar, variable.name, default=default), ()


def _reduce_weak_mapping(mapping: Any) -> Any:
    return type(mapping), (), None, None, iter(list(mapping.items()))


REDUCTIONS: dict[type[Any], Callable[[Any], Any]] = {
    CachedFunction: _reduce_cached,
    cached_property: _reduce_cached_property,
    ContextVar: _reduce_variable,
    local: lambda _: (local, ()),
    Struct: lambda struct: (Struct, (struct.format,)),
    WeakKeyDictionary: _reduce_weak_mapping,
    WeakValueDictionary: _reduce_weak_mapping,
}
"""By exact type what a pickler's `dispatch_table` may have, or its `reducer_override` may return."""
