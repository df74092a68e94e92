"""`ray.internal`: freeing objects by hand."""

from __future__ import annotations

from typing import Any

__all__ = ["free"]


def free(object_refs: Any, local_only: bool = False) -> None:
    """Do nothing: an object is freed when the last ref to it is gone."""
    del object_refs, local_only
