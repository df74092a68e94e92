"""Functions that do not travel as others do: how C++ is told, and what `FunctionTable.handle` raises for its caller."""

from __future__ import annotations

import sys
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any

from fray._functions import is_importable
from fray._native import ObjectRef

if TYPE_CHECKING:
    from typing import TypeGuard

__all__ = ["HoldsRefs", "IsCpp", "IsPartial", "is_cpp_class", "is_cpp_function", "is_own_partial"]

_CPP_MODULE = "fray._cpp_library"
"""Programs without C++ never import it."""


class HoldsRefs(Exception):
    """The function captures refs or handles. It has to travel as an argument, where the engine counts them."""


class IsCpp(Exception):
    """The function is C++ code, which runs in workers of another worker key."""


class IsPartial(Exception):
    """The function is a `functools.partial`, whose arguments travel as those of a call; see `is_own_partial`."""


def is_own_partial(fn: Any) -> TypeGuard[partial[Any]]:
    """Return whether `fn` is a partial object of a function that workers cannot import, with no refs as its arguments.

    Programs make one for each step, as in ``pool.map(partial(nearest, centers), points)``: its function is best sent by
    itself, once for all of them. Refs become values as arguments of a call, and stay refs in partial objects.
    """
    if type(fn) is not partial or type(fn.func) is not FunctionType or is_importable(fn.func):
        return False
    return not any(isinstance(value, ObjectRef) for value in (*fn.args, *fn.keywords.values()))


def is_cpp_function(fn: Any) -> bool:
    """Return whether `fn` is a `fray._cpp_library.CppFunction`."""
    cpp = sys.modules.get(_CPP_MODULE)
    return cpp is not None and type(fn) is cpp.CppFunction


def is_cpp_class(cls: type[Any]) -> bool:
    """Return whether `cls` derives from `fray._cpp_library.CppActor`."""
    cpp = sys.modules.get(_CPP_MODULE)
    return cpp is not None and issubclass(cls, cpp.CppActor)
