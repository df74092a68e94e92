"""Reads the pickle of a Ray context. There may be no Ray where it is read, so it is used only if it was imported."""

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
    """Return this process's context; in a worker of Ray's the one of that namespace, as its tasks find it."""
    if is_ray_worker():
        return BACKENDS["ray"].context_class().of_worker(namespace)
    return arrive(session, own_name, getattr(reading, "context", None))
