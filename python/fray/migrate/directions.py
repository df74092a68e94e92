"""The two directions of moves: from Ray to Fray, and back."""

from __future__ import annotations

import re

from fray.migrate.fray_side import FRAY, FrayApi
from fray.migrate.from_ray import find_ray
from fray.migrate.program import Direction
from fray.migrate.ray_side import PACKAGES, RayApi
from fray.migrate.to_ray import find_fray

__all__ = ["from_ray", "to_ray"]


def from_ray(sync_tests: bool = False) -> Direction:
    """Return the direction from Ray to Fray.

    Args:
        sync_tests: whether tests start a LocalJobContext rather than the engine.
    """
    return Direction(
        lambda kinds, source, constants: find_ray(kinds, source, constants, sync_tests),
        RayApi,
        PACKAGES,
        "import fray",
        "fray.get_job_context",
        re.compile(r"\bray\b|\.remote\b"),
    )


def to_ray() -> Direction:
    """Return the direction from Fray to Ray."""
    return Direction(
        lambda kinds, source, constants: find_fray(kinds, source),
        FrayApi,
        FRAY,
        "import ray",
        "",
        re.compile(r"\bfray\b|\bctx\b"),
    )
