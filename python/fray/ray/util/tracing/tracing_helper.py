"""`ray.util.tracing.tracing_helper`: says that tracing is off."""

from __future__ import annotations

__all__ = ["is_tracing_enabled"]

_global_is_tracing_enabled = False


def is_tracing_enabled() -> bool:
    """Return False."""
    return _global_is_tracing_enabled
