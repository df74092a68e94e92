"""Functions that do not travel as others do: how C++ is told, and what `FunctionTable.handle` raises for its caller."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from fray._functions import is_partial_by_value
from fray._native import ObjectRef

if TYPE_CHECKING:
    from functools import partial
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
    """Return whether what is bound to the partial object `fn` of a function by value can travel as arguments.

    Refs cannot, which become values as arguments of a call, and stay refs in partial objects.
    """
    return is_partial_by_value(fn) and not any(
        isinstance(value, ObjectRef) for value in (*fn.args, *fn.keywords.values())
    )


def is_cpp_function(fn: Any) -> bool:
    """Return whether `fn` is a `fray._cpp_library.CppFunction`."""
    cpp = sys.modules.get(_CPP_MODULE)
    return cpp is not None and type(fn) is cpp.CppFunction


def is_cpp_class(cls: type[Any]) -> bool:
    """Return whether `cls` derives from `fray._cpp_library.CppActor`."""
    cpp = sys.modules.get(_CPP_MODULE)
    return cpp is not None and issubclass(cls, cpp.CppActor)
