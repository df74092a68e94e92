"""What this process's surroundings say about Ray, asked without importing it."""

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
    """Return a module of Ray itself; what stands for it (`fray.ray`) has that name in `sys.modules` only."""
    module = sys.modules.get(name)
    return module if getattr(module, "__name__", None) == name else None


def is_iris_task() -> bool:
    """Return whether Iris has started this program, or what started it, as a task of a job."""
    return bool(os.environ.get("IRIS_TASK_ID") and os.environ.get("IRIS_CONTROLLER_URL"))


def is_ray_job() -> bool:
    """Return whether Ray has started this program, or what started it, as a job; its environment then names both."""
    return bool(os.environ.get("RAY_JOB_CONFIG_JSON_ENV_VAR") and os.environ.get("RAY_ADDRESS"))
