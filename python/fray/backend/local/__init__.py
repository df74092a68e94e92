"""Contexts inside this process: `LocalJobContext` at once and in order, `ThreadContext` on threads."""

from fray.backend.local.sync import LocalJobContext, SyncContext
from fray.backend.local.thread import ThreadContext

__all__ = ["LocalJobContext", "SyncContext", "ThreadContext"]
