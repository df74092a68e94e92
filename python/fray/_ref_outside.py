"""The error of a ref that something else than Fray pickles, which would not count it."""

from __future__ import annotations

__all__ = ["RefOutsideError"]


class RefOutsideError(TypeError):
    """A ref or a handle was met by a pickler that is not Fray's: it must travel as an argument, a result or a value."""
