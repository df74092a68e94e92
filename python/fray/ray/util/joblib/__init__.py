"""`ray.util.joblib.register_ray`: joblib's backend "ray", which is Fray's."""

# pyright: basic, reportMissingTypeStubs=false
# joblib brings no types.

from __future__ import annotations

from typing import Any

from joblib.parallel import register_parallel_backend

from fray.joblib import FrayBackend
from fray.ray._options import task_options
from fray.ray._session import context

__all__ = ["register_ray"]


def _backend(ray_remote_args: dict[str, Any] | None = None, **settings: Any) -> FrayBackend:
    return FrayBackend(context(), task_options(ray_remote_args or {}, "joblib"), **settings)


def register_ray() -> None:
    """Make ``joblib.parallel_backend("ray")`` known."""
    register_parallel_backend("ray", _backend)
