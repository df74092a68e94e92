"""Ray itself. Its types tell a type checker little, so the rest of the backend takes it from here, untyped."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["cloudpickle", "global_worker", "node_affinity", "ray", "theirs"]

try:
    ray: Any = importlib.import_module("ray")
except ModuleNotFoundError as error:
    if error.name != "ray":
        raise
    raise ImportError("Ray is not installed here; run `pip install 'fray[ray]'`", name="ray") from None

theirs: Any = importlib.import_module("ray.exceptions")
"""Ray's exceptions."""
cloudpickle: Any = importlib.import_module("ray.cloudpickle")
global_worker: Any = importlib.import_module("ray._private.worker").global_worker
"""Ray's connection of this process."""


def node_affinity(node_id: str) -> Any:
    """Return the strategy that puts a task or actor onto one node, or nowhere."""
    strategies: Any = importlib.import_module("ray.util.scheduling_strategies")
    return strategies.NodeAffinitySchedulingStrategy(node_id, soft=False)
