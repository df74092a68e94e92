"""`Cancels`: cancels tasks and calls on Ray, and remembers what Ray does not tell of them later."""

from __future__ import annotations

import weakref
from typing import Any, cast

from fray import errors
from fray.backend.ray.actor_table import ActorTable
from fray.backend.ray.ending import end_tasks
from fray.backend.ray.library import actor_of, ray
from fray.backend.ray.refs import RayRef

__all__ = ["Cancels"]

_FORCE_SECONDS = 1.0


class Cancels:
    """The cancels of one connection to Ray.

    Args:
        actors: the actors whose calls may be cancelled.
    """

    def __init__(self, actors: ActorTable) -> None:
        self._actors = actors
        self._forced: set[bytes] = set()
        self._dropped: weakref.WeakSet[RayRef[Any]] = weakref.WeakSet()
        self.has_dropped = False
        """Whether a call was ever dropped: refs need no look before that."""

    def cancel(self, ref: Any, force: bool) -> None:
        """Cancel the task or call of `ref`; see `Engine.cancel`."""
        raw = ref.task_ref()
        if ray.wait([raw], timeout=0, fetch_local=False)[0]:
            return
        actor = actor_of(raw)
        if force and actor is not None:
            raise ValueError(
                "cancel: force would end the actor of this call and all its calls; leave force out, or kill the actor"
            )
        if force:
            self._forced.add(raw.binary())
            end_tasks([raw], _FORCE_SECONDS)
        elif type(ref) is RayRef and actor is not None and self._runs_in_order(actor):
            # Ray would lose the calls behind this one (they fail after 30 s): so it runs on, and its result is dropped.
            self._dropped.add(cast("RayRef[Any]", ref))
            self.has_dropped = True
        else:
            ray.cancel(raw)

    def is_dropped(self, ref: Any) -> bool:
        """Return whether the call of `ref` was cancelled although Ray runs it on."""
        return self.has_dropped and ref in self._dropped

    def check_dropped(self, ref: Any) -> None:
        """Raise TaskCancelledError where the call of `ref` was cancelled although Ray runs it on."""
        if self.has_dropped and ref in self._dropped:
            raise errors.TaskCancelledError("the call was cancelled")

    def was_forced(self, raw: Any) -> bool:
        """Return whether one of the tasks of Ray's ref, or of a list of them, was cancelled by force."""
        raws = cast("list[Any]", raw) if isinstance(raw, list) else [raw]
        return any(one.binary() in self._forced for one in raws)

    def _runs_in_order(self, actor: str) -> bool:
        link = self._actors.link(actor)
        return link is not None and not link.ray_handle._ray_allow_out_of_order_execution
