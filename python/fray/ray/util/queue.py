"""`ray.util.queue.Queue`: `fray.ActorQueue` with an actor and errors of Ray."""

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
    """The queue has no item."""


class Full(queue.Full):
    """The queue has no room."""


class _QueueActor(QueueActor):
    """The actor of a queue, from which packages derive actors for queues of their own."""

    def __init__(self, maxsize: int) -> None:
        super().__init__(maxsize, Empty, Full)
        self.maxsize = maxsize

    def empty(self) -> bool:
        return self.queue.empty()

    def full(self) -> bool:
        return self.queue.full()

    def put_nowait(self, item: Any) -> None:
        self.queue.put_nowait(item)

    def get_nowait(self) -> Any:
        return self.queue.get_nowait()


class Queue(ActorQueue):
    __doc__ = ActorQueue.__doc__
    Empty = Empty
    Full = Full

    def __init__(self, maxsize: int = 0, actor_options: Mapping[str, Any] | None = None) -> None:
        super().__init__(maxsize, actor_options)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    def _make(self, maxsize: int, options: Any) -> Any:
        return remote(num_cpus=0)(_QueueActor).options(**dict(options or {})).remote(maxsize)

    def _call(self, method: str, *args: Any) -> Any:
        return getattr(self.actor, method).remote(*args)

    def _value(self, ref: Any, timeout: float | None = None) -> Any:
        return _objects.get(ref, timeout=timeout)

    def _cancel(self, ref: Any) -> None:
        _objects.cancel(ref)

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
