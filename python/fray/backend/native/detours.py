"""Functions that do not travel as others do: `FunctionTable.handle` raises these for who submits them."""

from __future__ import annotations

__all__ = ["HoldsRefs", "IsCpp"]


class HoldsRefs(Exception):
    """A function captures refs or handles: they must be counted on their way, so it has to travel as an argument."""


class IsCpp(Exception):
    """A function is C++ code: its workers are others than this context's own."""
