"""Whether a keyword that a context could take itself, such as ``name=``, is meant for the function that it calls.

`run` and `create_actor` pass on all keywords but a few of their own. Where the function has a parameter of the same
name as one of these, that parameter must not lose its argument silently.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from enum import Enum
from types import FunctionType, MethodType
from typing import Any, Final, cast

__all__ = ["NOT_GIVEN", "NotGiven", "takes_keyword"]


class NotGiven(Enum):
    """The type of the default of a keyword for which None is a value like any other."""

    NOT_GIVEN = "not given"

    def __repr__(self) -> str:
        return "None"


NOT_GIVEN: Final = NotGiven.NOT_GIVEN

_NO_PLACE = -1
_NEVER_TAKEN = 1 << 30
_known: weakref.WeakKeyDictionary[Any, dict[str, int]] = weakref.WeakKeyDictionary()
"""For callables whose signature takes long to read: the place of each keyword that was asked for."""


def takes_keyword(fn: Callable[..., Any], keyword: str, positional: int) -> bool:
    """Return whether `fn` has a parameter called `keyword` that `positional` arguments before it do not fill.

    ``**kwargs`` does not count as a parameter of this name. A callable without a signature counts as one that has no
    such parameter.
    """
    bound = type(fn) is MethodType
    plain: Any = cast("Any", fn).__func__ if bound else fn
    if type(plain) is FunctionType and not plain.__dict__:  # no __wrapped__, no __signature__
        return _place_in_code(plain, keyword) >= positional + bound
    return _place_in_signature(fn, keyword) >= positional


def _place_in_code(fn: FunctionType, keyword: str) -> int:
    code = fn.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if keyword not in names:
        return _NO_PLACE
    place = names.index(keyword)
    if place < code.co_posonlyargcount:
        return _NO_PLACE
    return place if place < code.co_argcount else _NEVER_TAKEN


def _place_in_signature(fn: Any, keyword: str) -> int:
    try:
        places = _known.setdefault(fn, {})
    except TypeError:  # no weak reference can be made to it, or it has no hash
        return _work_out(fn, keyword)
    if keyword not in places:
        places[keyword] = _work_out(fn, keyword)
    return places[keyword]


def _work_out(fn: Any, keyword: str) -> int:
    import inspect

    try:
        parameters = inspect.signature(fn).parameters
    except (TypeError, ValueError):  # a builtin without a signature
        return _NO_PLACE
    parameter = parameters.get(keyword)
    if parameter is None:
        return _NO_PLACE
    if parameter.kind is parameter.KEYWORD_ONLY:
        return _NEVER_TAKEN
    return list(parameters).index(keyword) if parameter.kind is parameter.POSITIONAL_OR_KEYWORD else _NO_PLACE
