"""`ray.util.multiprocessing.Pool`: Fray's pool with the interface of Ray's."""

from __future__ import annotations

from fray.ray.util.multiprocessing.pool import Pool, TimeoutError

__all__ = ["Pool", "TimeoutError"]
