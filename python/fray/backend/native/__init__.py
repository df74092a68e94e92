"""The native engine: tasks on worker processes of this machine, values in shared memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fray._lazy import lazy_attribute

if TYPE_CHECKING:
    from fray.backend.native.beginning import begin
    from fray.backend.native.context import NativeJobContext

__all__ = ["NativeJobContext", "begin"]

_LAZY = {
    "NativeJobContext": ("fray.backend.native.context", "NativeJobContext"),
    "begin": ("fray.backend.native.beginning", "begin"),
}


def __getattr__(name: str) -> Any:
    return lazy_attribute(__name__, name, _LAZY)
