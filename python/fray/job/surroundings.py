"""What this process's surroundings say about Ray and Iris, asked without importing either."""

from __future__ import annotations

import os
import sys
from typing import Any

__all__ = ["is_iris_task", "is_ray_job", "is_ray_worker", "ray_is_initialized"]


def ray_is_initialized() -> bool:
    """Return whether this process is connected to a Ray; only a program that has imported Ray itself can be."""
    ray = _module("ray")
    is_initialized = getattr(ray, "is_initialized", None)
    return bool(is_initialized and is_initialized())


def is_ray_worker() -> bool:
    """Return whether Ray has started this process to run tasks."""
    worker = _module("ray._private.worker")
    return worker is not None and worker.global_worker.mode == worker.WORKER_MODE


def _module(name: str) -> Any:
    """Return a module of Ray itself; `fray.ray`, which may stand in its place, has that name in `sys.modules` only."""
    module = sys.modules.get(name)
    return module if getattr(module, "__name__", None) == name else None


def is_ray_job() -> bool:
    """Return whether this program is part of a job of Ray; a job's variables reach all processes that it starts."""
    return bool(os.environ.get("RAY_JOB_CONFIG_JSON_ENV_VAR") and os.environ.get("RAY_ADDRESS"))


def is_iris_task() -> bool:
    """Return whether this program is part of a task of Iris; the variables of a task reach all processes it starts."""
    controller = os.environ.get("IRIS_CONTROLLER_URL") or os.environ.get("IRIS_CONTROLLER_ADDRESS")
    return bool(os.environ.get("IRIS_TASK_ID") and controller)
