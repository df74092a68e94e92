"""Functions that do not travel as others do: how C++ is told, and what `FunctionTable.handle` raises for its caller."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["HoldsRefs", "IsCpp", "is_cpp_class", "is_cpp_function"]

_CPP_MODULE = "fray._cpp_library"
"""Programs without C++ never import it."""


class HoldsRefs(Exception):
    """The function captures refs or handles. It has to travel as an argument, where the engine counts them."""


class IsCpp(Exception):
    """The function is C++ code, which runs in workers of another worker key."""


def is_cpp_function(fn: Any) -> bool:
    """Return whether `fn` is a `fray._cpp_library.CppFunction`."""
    cpp = sys.modules.get(_CPP_MODULE)
    return cpp is not None and type(fn) is cpp.CppFunction


def is_cpp_class(cls: type[Any]) -> bool:
    """Return whether `cls` derives from `fray._cpp_library.CppActor`."""
    cpp = sys.modules.get(_CPP_MODULE)
    return cpp is not None and issubclass(cls, cpp.CppActor)
