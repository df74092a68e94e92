"""`IrisEngine`: the native engine of a task's own machine, and actors with names for all tasks of the root job."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from fray import errors
from fray._iris_jobs import IrisJobRequest, IrisJobs
from fray.backend.iris.actors import Description, IrisActorLink
from fray.backend.iris.directory import ActorDirectory
from fray.backend.iris.hosting import host_order
from fray.backend.iris.relay import CONNECT, KILL, Relay, methods_of_relay
from fray.backend.iris.task import current_task, secret
from fray.job.actor_methods import MethodKind
from fray.job.actor_request import name_taken
from fray.job.actors import ActorLink, CallOptions
from fray.job.checks import foreign_ref
from fray.job.context import JobContext
from fray.job.engine import Engine
from fray.job.refs import ObjectRef
from fray.job.watch import Watch
from fray.types import ActorOptions, Lifetime, TaskOptions

__all__ = ["IrisEngine"]

_RELAYS = "fray.iris"
"""The namespace of relays on each machine."""
_KILL_SECONDS = 10.0
"""For an actor to end by itself before its job is stopped."""
_PLAIN = CallOptions()


class IrisEngine(Engine):
    """Thread-safe.

    Args:
        context: the native context of this machine; a child of fork() finds another engine behind it.
        name: of the class of the context that this is the engine of.
    """

    def __init__(self, context: JobContext, name: str) -> None:
        self._context, self._name = context, name
        self._links: weakref.WeakValueDictionary[str, IrisActorLink] = weakref.WeakValueDictionary()
        self._known: ActorDirectory | None = None

    @property
    def native(self) -> Engine:
        """The engine of this machine."""
        return self._context.engine

    # ---- what the machine does

    @property
    def closed(self) -> bool:
        return self._context.closed

    @property
    def parallelism(self) -> int:
        return self.native.parallelism

    def submit(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], options: TaskOptions
    ) -> Any:
        return self.native.submit(fn, args, kwargs, options)

    def cancel(self, ref: Any, force: bool) -> None:
        self.native.cancel(ref, force)

    def is_waiting(self, ref: Any, cancel: bool = False) -> bool:
        return self.native.is_waiting(ref, cancel)

    def put(self, value: Any) -> Any:
        return self.native.put(value)

    def get(self, ref: Any, timeout: float | None) -> Any:
        return self.native.get(ref, timeout)

    def get_many(self, refs: Sequence[Any], timeout: float | None) -> list[Any]:
        return self.native.get_many(refs, timeout)

    def wait(self, refs: list[Any], num_returns: int, timeout: float | None) -> tuple[list[Any], list[Any]]:
        return self.native.wait(refs, num_returns, timeout)

    def owns(self, ref: Any) -> bool:
        return self.native.owns(ref)

    def watch(self) -> Watch:
        return self.native.watch()

    def blocking(self) -> AbstractContextManager[None]:
        return self.native.blocking()

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        return self.native.empty(shape, dtype)

    def resource_ids(self) -> dict[str, list[int]]:
        return self._context.resource_ids()

    def timeline_events(self) -> Iterable[Mapping[str, Any]]:
        return self.native.timeline_events()

    def failures(self) -> Iterable[tuple[str, int, str]]:
        return self.native.failures()

    def status(self) -> dict[str, Any]:
        return self.native.status()

    def close(self) -> None:
        self._context.close()

    # ---- actors

    @property
    def _directory(self) -> ActorDirectory:
        if self._known is None:
            task = current_task()
            self._known = ActorDirectory(IrisJobs(task.controller, user=task.user), task)
        return self._known

    def create_actor(
        self,
        cls: type[Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        options: ActorOptions,
        methods: Mapping[str, MethodKind],
    ) -> ActorLink:
        native = self.native
        if options.name is None:
            return native.create_actor(cls, args, kwargs, options, methods)
        secret()
        namespace = options.namespace or self._context.namespace
        order: IrisJobRequest | None = None
        while True:
            job, following = self._directory.find(namespace, options.name)
            if job is not None:
                if not options.get_if_exists:
                    raise name_taken(options.name, namespace)
                link = self._link_of(job)
                if link is not None:
                    return link
                continue  # it has ended meanwhile
            if order is None:
                about = Description.of(cls, options, namespace, methods)
                args, kwargs = self._values(args, kwargs)
                order = host_order(cls, args, kwargs, replace(options, namespace=namespace), methods, about)
            job = self._directory.launch(order, following)
            if job is not None:
                link = self.link_to(job, Description.of(cls, options, namespace, methods))
                link.relay.submit(CONNECT, (), {}, _PLAIN)
                return link

    def _values(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments with values in the place of refs, which do not leave the machine."""

        def value(argument: Any) -> Any:
            if not isinstance(argument, ObjectRef):
                return argument
            if not self.owns(argument):
                raise foreign_ref(argument, "create_actor", self._name)
            return self.get(argument, None)

        return tuple(map(value, args)), {key: value(argument) for key, argument in kwargs.items()}

    def find_actor(self, name: str, namespace: str) -> ActorLink | None:
        while True:
            job, _ = self._directory.find(namespace, name)
            if job is None:
                return None
            link = self._link_of(job)
            if link is not None:
                return link

    def _link_of(self, job: str) -> ActorLink | None:
        """Return a link to the actor that a job hosts, waiting until its host says what it is; None where it ends."""
        known = self._links.get(job)
        if known is not None:
            return known
        host = self._directory.wait_for_host(job)
        return None if host is None else self.link_to(job, Description.read(host.description))

    def link_to(self, job: str, description: Description) -> IrisActorLink:
        """Return the link to the actor that a job hosts; see `restore_handle`."""
        known = self._links.get(job)
        if known is None:
            known = self._links[job] = IrisActorLink(job, description, self)
        return known

    def relay_of(self, link: IrisActorLink) -> ActorLink:
        """Return the link of the relay of this machine for an actor; see `LinkMaker`."""
        options = ActorOptions(
            name=link.actor_id,
            namespace=_RELAYS,
            get_if_exists=True,
            lifetime=Lifetime.DETACHED,
            max_restarts=-1,
            max_task_retries=link.description.max_task_retries,
            max_pending_calls=link.description.max_pending_calls,
            max_concurrency=_MOST_CALLS,
        )
        args = (link.job, list(link.description))
        return self.native.create_actor(Relay, args, {}, options, methods_of_relay(link.description))

    def named_actors(self) -> list[tuple[str, str]]:
        return list(self._directory.named())

    def kill_actor(self, link: Any, no_restart: bool) -> None:
        if not isinstance(link, IrisActorLink):
            self.native.kill_actor(link, no_restart)
            return
        killed = link.relay.submit(KILL, (no_restart,), {}, _PLAIN)
        try:
            self.native.get(killed, _KILL_SECONDS)
        except errors.GetTimeoutError:
            if no_restart:
                self._directory.stop(link.job)

    def owns_actor(self, link: Any) -> bool:
        return link.belongs_to(self) if isinstance(link, IrisActorLink) else self.native.owns_actor(link)


_MOST_CALLS = 1_000_000
