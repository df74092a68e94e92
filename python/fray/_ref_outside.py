"""The error of a ref that another pickler than Fray's meets: it would not count the ref."""

from __future__ import annotations

__all__ = ["RefOutsideError"]


class RefOutsideError(TypeError):
    """A pickler that is not Fray's met a ref or a handle: these travel only in arguments, results and put values."""
