"""`ray.dag.input_node`."""

from __future__ import annotations

from fray.ray.dag import InputAttributeNode, InputNode

__all__ = ["InputAttributeNode", "InputNode"]
