"""`ray.util.queue.Queue`: `fray.ActorQueue`, whose actor and errors are Ray's."""

from __future__ import annotations

import queue
from collections.abc import Mapping
from typing import Any

from fray.actor_queue import ActorQueue, QueueActor
from fray.ray import _objects
from fray.ray._remote import remote
from fray.ray.exceptions import RayError

__all__ = ["Empty", "Full", "Queue"]


class Empty(queue.Empty):
    """There is nothing to get."""


class Full(queue.Full):
    """There is no room."""


class Queue(ActorQueue):
    __doc__ = ActorQueue.__doc__
    Empty = Empty
    Full = Full

    def __init__(self, maxsize: int = 0, actor_options: Mapping[str, Any] | None = None) -> None:
        super().__init__(maxsize, actor_options)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    def _make(self, maxsize: int, options: Any) -> Any:
        return remote(num_cpus=0)(QueueActor).options(**dict(options or {})).remote(maxsize, Empty, Full)

    def _call(self, method: str, *args: Any) -> Any:
        return getattr(self.actor, method).remote(*args)

    def _value(self, ref: Any) -> Any:
        return _objects.get(ref)

    def _end(self, actor: Any, force: bool, grace_period_s: float) -> None:
        if not force:
            ending = actor.__ray_terminate__.remote()
            try:
                done, _ = _objects.wait([ending], timeout=grace_period_s)
            except RayError:
                done = [ending]
            if done:
                return
        _objects.kill(actor, no_restart=True)
