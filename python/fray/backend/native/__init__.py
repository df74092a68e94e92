"""The native engine: tasks on worker processes of this machine, values in shared memory."""

from __future__ import annotations

from fray.backend.native.context import NativeJobContext

__all__ = ["NativeJobContext"]
