"""Functions that do not travel as others do: `FunctionTable.handle` raises one of these for its caller to handle."""

from __future__ import annotations

__all__ = ["HoldsRefs", "IsCpp"]


class HoldsRefs(Exception):
    """The function captures refs or handles. It has to travel as an argument, where the engine counts them."""


class IsCpp(Exception):
    """The function is C++ code, which runs in workers of another worker key."""
