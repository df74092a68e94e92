"""`ray.util.ActorPool`: `fray.ActorPool` with errors of Ray."""

from __future__ import annotations

from typing import Any

import fray.actor_pool
from fray.ray import _objects
from fray.ray._refs import ObjectRef, ObjectRefGenerator

__all__ = ["ActorPool"]


class ActorPool(fray.actor_pool.ActorPool):
    __doc__ = fray.actor_pool.ActorPool.__doc__

    def _is_ref(self, value: Any) -> bool:
        return isinstance(value, (ObjectRef, ObjectRefGenerator))

    def _values_of(self, ref: Any) -> Any:
        return _objects.get(ref)

    def _first_ready(self, refs: list[Any], timeout: float | None) -> list[Any]:
        return _objects.wait(refs, num_returns=1, timeout=timeout)[0]
