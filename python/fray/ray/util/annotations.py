"""`ray.util.annotations`: decorators that say how stable an API is; here they return what they are given."""

from __future__ import annotations

from typing import Any

__all__ = ["Deprecated", "DeveloperAPI", "PublicAPI", "RayDeprecationWarning"]


class RayDeprecationWarning(DeprecationWarning):
    """Something of Ray's will go."""


def _mark(*args: Any, **kwargs: Any) -> Any:
    del kwargs
    return args[0] if len(args) == 1 and callable(args[0]) else lambda target: target  # pyright: ignore


PublicAPI = DeveloperAPI = Deprecated = _mark
