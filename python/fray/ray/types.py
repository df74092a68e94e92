"""`ray.types`: the type of refs, for annotations."""

from __future__ import annotations

from fray.ray._refs import ObjectRef

__all__ = ["ObjectRef"]
