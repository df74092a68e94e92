"""Where a context of the native engine arrives."""

from __future__ import annotations

from fray import _native
from fray.job.arrival import arrive
from fray.job.context import JobContext

__all__ = ["arrive_natively"]


def arrive_natively(session: str, own_name: str) -> JobContext:
    """Return the context that reads the value, to which the refs in it belong; see `arrive` where none does."""
    client = _native.receiving_client()
    if client is not None:
        from fray.backend.native.context import NativeJobContext

        context = NativeJobContext.of_client(client)
        if context is not None:
            return context
    return arrive(session, own_name)
