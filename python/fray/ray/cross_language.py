"""`ray.cross_language`: refused by name."""

from __future__ import annotations

from fray.ray._others import cpp_function, java_actor_class, java_function

__all__ = ["cpp_function", "java_actor_class", "java_function"]
