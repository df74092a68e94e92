"""`ray.dag.dag_node`."""

from __future__ import annotations

from fray.ray.dag import DAGNode

__all__ = ["DAGNode"]
