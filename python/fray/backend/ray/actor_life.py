"""The states and names of Ray's actors, which Ray changes without telling its callers."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any, cast

from fray.backend.ray.actors import RayActorLink
from fray.backend.ray.library import ray, theirs
from fray.job.actor_request import name_taken

__all__ = ["free_name", "named_actors", "state_of", "wait_until_gone", "wait_until_restarted"]

_NAME_FREE_SECONDS = 10.0
_RESTART_SECONDS = 60.0
_LOOK_SECONDS = 0.01
_HEAR_SECONDS = 0.1
"""What the news of a restart may take to reach this process, which may have missed seeing itself hear of it."""
_ALIVE = 2
"""`ALIVE` of `ActorTableData.ActorState` in Ray's `gcs.proto`; the state is None for an actor not called from here."""
_RAYS_OWN = ("_ray_internal_", "SUPERVISOR_ACTOR_RAY_NAMESPACE")


def named_actors() -> list[tuple[str, str]]:
    """Return namespace and name of each living actor that has one, without those that are Ray's own."""
    listed = cast("list[dict[str, str]]", ray.util.list_named_actors(all_namespaces=True))
    found = [(entry["namespace"], entry["name"]) for entry in listed]
    return [pair for pair in found if not any(text.startswith(_RAYS_OWN) for text in pair)]


def free_name(name: str, namespace: str) -> None:
    """Raise NameTakenError where a living actor has the name; else have Ray forget the ended actor of that name."""
    if (namespace, name) in named_actors():
        raise name_taken(name, namespace)
    with suppress(ValueError, theirs.RayError):
        ray.kill(ray.get_actor(name, namespace=namespace))
    time.sleep(_LOOK_SECONDS)


def wait_until_gone(link: RayActorLink) -> None:
    """Wait until the actor has ended, so that its name is free."""
    deadline = time.monotonic() + _NAME_FREE_SECONDS
    while time.monotonic() < deadline and link.name in [name for _, name in named_actors()]:
        if state_of(link)[0] == "DEAD":
            return  # the name is that of an actor in another namespace
        time.sleep(_LOOK_SECONDS)


def wait_until_restarted(link: RayActorLink, restarts: int) -> None:
    """Wait until the actor was restarted, and this process knows it, or has ended.

    A call that is sent to the old process would be lost, and Ray refuses one while this process believes that the actor
    is being restarted; it hears of the end of a restart later than the server that `state_of` asks.
    """
    deadline = time.monotonic() + _RESTART_SECONDS
    heard = False
    while time.monotonic() < deadline:
        here = link.ray_handle._get_local_state()
        heard = heard or here != _ALIVE
        state, now = state_of(link)
        if state == "DEAD" or (state == "ALIVE" and now > restarts and here in (_ALIVE, None)):
            if not heard:
                time.sleep(_HEAR_SECONDS)
            return
        time.sleep(_LOOK_SECONDS)


def state_of(link: RayActorLink) -> tuple[str, int]:
    """Return Ray's name for the state of an actor, and how often it was restarted."""
    found: Any = ray._private.state.actors(actor_id=link.actor_id)
    return found.get("State", "DEAD"), int(found.get("NumRestarts", 0))
