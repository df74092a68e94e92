"""`ray.dag.output_node`."""

from __future__ import annotations

from fray.ray.dag import MultiOutputNode

__all__ = ["MultiOutputNode"]
