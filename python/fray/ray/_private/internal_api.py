"""`ray._private.internal_api`."""

from __future__ import annotations

from fray.ray._session import context
from fray.ray.internal import free

__all__ = ["free", "memory_summary"]


def memory_summary(*args: object, **kwargs: object) -> str:
    """Return what is in the store, in words."""
    del args, kwargs
    store = context().engine.status()["store"]
    return f"{store['used_bytes']} of {store['limit_bytes']} bytes of shared memory hold objects"
