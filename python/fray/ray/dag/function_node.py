"""`ray.dag.function_node`."""

from __future__ import annotations

from fray.ray.dag import FunctionNode

__all__ = ["FunctionNode"]
