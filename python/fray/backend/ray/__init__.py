"""Ray: `RayJobContext` for tasks and actors inside a program, `RayCluster` for whole programs. Needs ``fray[ray]``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fray._lazy import lazy_attribute

if TYPE_CHECKING:
    from fray.backend.ray.context import RayJobContext

__all__ = ["RayJobContext"]

_LAZY = {"RayJobContext": ("fray.backend.ray.context", "RayJobContext")}


def __getattr__(name: str) -> Any:
    return lazy_attribute(__name__, name, _LAZY)
