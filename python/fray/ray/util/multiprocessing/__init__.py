"""`ray.util.multiprocessing.Pool`: Fray's pool with the interface of Ray's."""

from __future__ import annotations

from multiprocessing import JoinableQueue, TimeoutError

from fray.ray.util.multiprocessing.pool import Pool

__all__ = ["JoinableQueue", "Pool", "TimeoutError"]
