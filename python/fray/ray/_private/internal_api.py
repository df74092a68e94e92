"""`ray._private.internal_api`."""

from __future__ import annotations

from fray.ray.internal import free

__all__ = ["free"]
