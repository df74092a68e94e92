"""`ray.dag.class_node`."""

from __future__ import annotations

from fray.ray.dag import ClassMethodNode, ClassNode

__all__ = ["ClassMethodNode", "ClassNode"]
