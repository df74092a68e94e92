"""`ray._private.ray_constants`: the one that Ray's documentation uses."""

from __future__ import annotations

__all__ = ["RESOURCE_CONSTRAINT_PREFIX"]

RESOURCE_CONSTRAINT_PREFIX = "accelerator_type:"
"""Of the resource that stands for a type of accelerator."""
