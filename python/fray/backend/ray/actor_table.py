"""`ActorTable`: the actors that one context has created or found on Ray."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from fray import _traces
from fray.backend.ray.actor_life import free_name, named_actors, state_of, wait_until_gone, wait_until_restarted
from fray.backend.ray.actors import ActorSetup, Caller, RayActorLink, actor_class, bare_methods, link_of
from fray.backend.ray.library import ray, theirs
from fray.backend.ray.options import actor_keywords
from fray.backend.ray.task_environment import buildable, with_sent_folder
from fray.backend.ray.worker import TRACE_KEYWORD
from fray.job.actor_methods import runs_on_loop
from fray.job.actor_spec import ActorSpec

__all__ = ["ActorTable"]

_RAW_REF = ray.ObjectRef


class Creator(Caller, Protocol):
    """What the table needs of the engine that it belongs to."""

    namespace: str

    def place(self, demand: Mapping[str, float], what: str) -> dict[str, float]: ...


class ActorTable:
    """Creates, finds and ends actors, and knows the links to those that live. Made anew for each connection to Ray."""

    def __init__(self, engine: Creator) -> None:
        self._engine = engine
        self._links: weakref.WeakValueDictionary[str, RayActorLink] = weakref.WeakValueDictionary()
        self._kept: dict[str, RayActorLink] = {}
        """Named actors that this context has created: Ray ends an actor when the handle that created it is dropped."""

    def link(self, actor_id: str) -> RayActorLink | None:
        """Return the link to an actor of this table."""
        return self._links.get(actor_id)

    def create(self, spec: ActorSpec) -> RayActorLink:
        """Create an actor, or find the one that its options allow; see `Engine.create_actor`."""
        engine = self._engine
        cls, args, kwargs, options, methods = spec
        class_name = spec.class_name
        demand = engine.place(options.demand(), f"actor {class_name}")
        sent, keywords = engine.arguments.sent(args, kwargs, "create_actor")
        is_serial = not runs_on_loop(methods) and (options.max_concurrency or 1) == 1
        setup = ActorSetup(engine.namespace, options.name, class_name, methods, is_serial)
        bare = bare_methods(cls, methods) if _traces.recorder() is None else frozenset[str]()
        made = actor_class(class_name, tuple(methods.items()), bare)
        namespace = options.namespace or engine.namespace
        create = made.options(**with_sent_folder(actor_keywords(buildable(options), demand, namespace))).remote
        trace = _traces.sent(class_name, "create")
        if trace is not None:
            keywords = {**keywords, TRACE_KEYWORD: trace}
        raw = self._create(create, (cls, setup, *sent), keywords, options.name, namespace)
        if raw._ray_weak_ref:  # the actor existed already
            link = link_of(raw, engine, options.name)
        else:
            link = RayActorLink(raw, engine, class_name, options.name, methods)
            if options.max_restarts:
                link.hold([value for value in (*sent, *keywords.values()) if isinstance(value, _RAW_REF)])
            if options.name is not None and not options.is_detached():
                self._kept[link.actor_id] = link
        self._links[link.actor_id] = link
        return link

    def _create(
        self, create: Any, sent: Sequence[Any], keywords: Mapping[str, Any], name: str | None, namespace: str
    ) -> Any:
        """Return Ray's handle. Where an ended actor still has the name in Ray, wait until it is free and try again."""
        cls, setup, *arguments = sent
        while True:
            try:
                raw = create(*sent, **keywords)
            except theirs.ActorAlreadyExistsError:
                free_name(name or "", namespace)
                continue
            except Exception as error:
                what = f"actor {setup.class_name}"
                raise self._engine.submission_error(error, (cls, *arguments), keywords, what) from None
            if not raw._ray_weak_ref or (namespace, name) in named_actors():
                return raw
            free_name(name or "", namespace)

    def find(self, name: str, namespace: str) -> RayActorLink | None:
        """Return a link to the living actor of that name; see `Engine.find_actor`."""
        try:
            raw = ray.get_actor(name, namespace=namespace)
        except ValueError:
            return None
        if (namespace, name) not in named_actors():
            return None  # Ray in this process still knows an actor that has ended
        link = link_of(raw, self._engine, name)
        return self._links.setdefault(link.actor_id, link)

    def kill(self, link: RayActorLink, no_restart: bool) -> None:
        """End an actor and wait until its name is free, or until it was restarted; see `JobContext.kill`."""
        restarts = None if no_restart else state_of(link)[1]
        try:
            ray.kill(link.ray_handle, no_restart=no_restart)
        except (theirs.RayError, ValueError):
            return  # the actor has ended
        if restarts is not None:
            wait_until_restarted(link, restarts)
            return
        self._kept.pop(link.actor_id, None)
        if link.name is not None:
            wait_until_gone(link)

    def close(self) -> None:
        """End the actors that end with the context: those without a name, and those that this context has created."""
        for link in list(self._links.values()):
            if link.name is None or link.actor_id in self._kept:
                ray.kill(link.ray_handle)
        self._kept.clear()
