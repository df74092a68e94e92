"""The connection of the worker process that this is.

It is kept apart from the context, because a worker makes its context only when its code asks for one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fray._native import Client

__all__ = ["client_of_worker"]

client_of_worker: Client | None = None
"""None in a process that is no worker."""
