"""Reads the pickle of a Ray context. The reading process may have no Ray, so only an imported Ray is used."""

from __future__ import annotations

import threading

from fray.backend import BACKENDS
from fray.job.arrival import arrive
from fray.job.context import JobContext
from fray.job.surroundings import is_ray_worker

__all__ = ["arrive_on_ray", "reading"]

reading = threading.local()
"""`context`: the context whose `get` this thread is in."""


def arrive_on_ray(session: str, own_name: str, namespace: str) -> JobContext:
    """Return the context of this process; in a worker of Ray, the one with that namespace, which its tasks use too."""
    if is_ray_worker():
        return BACKENDS["ray"].context_class().of_worker(namespace)
    return arrive(session, own_name, getattr(reading, "context", None))
