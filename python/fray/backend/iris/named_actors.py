"""`NamedActors`: creates, finds and ends the actors that all tasks of a root job share."""

from __future__ import annotations

import os
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from fray import errors
from fray._iris_jobs import IrisJobRequest, IrisJobs
from fray.backend.iris.actors import Description, IrisActorLink
from fray.backend.iris.directory import ActorDirectory
from fray.backend.iris.foreign import ForeignRelay, describe_foreign
from fray.backend.iris.hosting import host_order
from fray.backend.iris.names import ActorName, actor_of
from fray.backend.iris.open_service import is_open, open_name
from fray.backend.iris.relay import CONNECT, KILL, RELAYS, Relay, methods_of_relay, name_of_relay
from fray.backend.iris.task import current_task, secret
from fray.job.actor_request import name_taken
from fray.job.actor_spec import ActorSpec
from fray.job.actors import ActorHandle, ActorLink, CallOptions
from fray.job.checks import foreign_actor, foreign_ref
from fray.job.current import get_job_context
from fray.job.refs import ObjectRef
from fray.types import ActorOptions, Lifetime, TaskOptions

if TYPE_CHECKING:
    from fray.job.engine import Engine

__all__ = ["NamedActors"]

_KILL_SECONDS = 10.0
"""How long an actor may take to end by itself before its job is stopped."""
_MOST_CALLS = 1_000_000
_MOST_JOB_NAME_BYTES = 200
_MANY = 999_999
_PLAIN = CallOptions()
_NO_CPU = TaskOptions(resources={"CPU": 0})


class Machine(Protocol):
    """What named actors need of the engine that they belong to."""

    @property
    def native(self) -> Engine:
        """The engine of this machine."""
        ...

    @property
    def namespace(self) -> str:
        """The namespace of names that are given without one."""
        ...


class NamedActors:
    """The named actors of a root job, as one process of it sees them. Thread-safe.

    Args:
        machine: the engine that the actors belong to.
        owner: class name of the engine's context, for messages.
    """

    def __init__(self, machine: Machine, owner: str) -> None:
        self._machine, self._owner = machine, owner
        self._links: weakref.WeakValueDictionary[str, IrisActorLink] = weakref.WeakValueDictionary()
        task = current_task()
        self._directory = ActorDirectory(IrisJobs(task.controller, user=task.user), task)
        _every.add(self)

    def leave_to_parent(self) -> None:
        """Begin anew in a child of fork()."""
        for link in list(self._links.values()):
            link.forget_relay()

    def create(self, spec: ActorSpec) -> ActorLink:
        """Launch a job that hosts the actor, or find the one that the options allow; see `Engine.create_actor`."""
        secret()
        self._machine.native  # noqa: B018  (raises where the context was closed)
        options = spec.options
        name, namespace = options.name or "", options.namespace or self._machine.namespace
        _check_length(name, namespace)
        about = Description.of(spec, namespace)
        order: IrisJobRequest | None = None
        while True:
            job, following = self._directory.find(namespace, name)
            if job is not None:
                if not options.get_if_exists:
                    raise name_taken(name, namespace)
                link = self._link_of(job)
                if link is not None:
                    return link
                continue  # the actor has ended meanwhile
            if order is None:
                args, kwargs = self._values(spec.args, spec.kwargs)
                options = replace(options, namespace=namespace)
                order = host_order(spec._replace(args=args, kwargs=kwargs, options=options), about)
            job = self._directory.launch(order, following)
            if job is not None:
                link = self.link_to(job, about)
                # Wait for this call, so that it does not count towards the max_pending_calls of the actor.
                self._machine.native.get(link.relay.submit(CONNECT, (), {}, _PLAIN), None)
                return link

    def _values(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments with values in the place of refs, which do not leave the machine."""
        native = self._machine.native

        def value(argument: Any) -> Any:
            if isinstance(argument, ActorHandle):
                link: Any = argument._fray_link  # pyright: ignore[reportPrivateUsage]
                if not (isinstance(link, IrisActorLink) or native.owns_actor(link)):
                    raise foreign_actor(argument, "create_actor", self._owner)
            if not isinstance(argument, ObjectRef):
                return argument
            ref: Any = argument  # pyright: ignore[reportUnknownVariableType]
            if not native.owns(ref):
                raise foreign_ref(ref, "create_actor", self._owner)
            return native.get(ref, None)

        return tuple(map(value, args)), {key: value(argument) for key, argument in kwargs.items()}

    def find(self, name: str, namespace: str) -> ActorLink | None:
        """Return a link to the living actor of that name; see `Engine.find_actor`."""
        while True:
            job, _ = self._directory.find(namespace, name)
            if job is None:
                return self._find_foreign(name)
            link = self._link_of(job)
            if link is not None:
                return link

    def _find_foreign(self, name: str) -> ActorLink | None:
        """Return a link to the actor of that name that another program of the root job hosts by Iris's own protocol."""
        if not is_open():
            return None
        endpoint = open_name(current_task().root, name)
        about = describe_foreign(self._directory, endpoint)
        return None if about is None else self.link_to(endpoint, about)

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
            name=name_of_relay(link.job),
            namespace=RELAYS,
            get_if_exists=True,
            lifetime=Lifetime.DETACHED,
            max_restarts=-1,
            max_task_retries=link.description.max_task_retries,
            max_pending_calls=link.description.max_pending_calls,
            max_concurrency=_MOST_CALLS,
        )
        if actor_of(link.job) is None:
            foreign = replace(options, max_concurrency=1)
            return self._machine.native.create_actor(ActorSpec(ForeignRelay, (link.job,), {}, foreign, link.methods))
        args, methods = (link.job, list(link.description)), methods_of_relay(link.description)
        return self._machine.native.create_actor(ActorSpec(Relay, args, {}, options, methods))

    def names(self) -> list[tuple[str, str]]:
        """Return (namespace, name) of every living actor."""
        return list(self._directory.named())

    def kill(self, link: IrisActorLink, no_restart: bool) -> None:
        """End an actor, or its process; return when it has ended."""
        native = self._machine.native
        if actor_of(link.job) is None:
            raise errors.UnsupportedError(f"the actor {link.job} is hosted by another program, which alone can end it")
        try:
            killed = link.relay.submit(KILL, (no_restart,), {}, _PLAIN)
        except errors.PendingCallsLimitError:  # the limit is that of this process: another process has no pending calls
            killed = native.submit(_kill_from_elsewhere, (ActorHandle(link), no_restart), {}, _NO_CPU)
        try:
            native.get(killed, _KILL_SECONDS)
        except errors.GetTimeoutError:
            if no_restart:
                self._directory.stop(link.job)


def _kill_from_elsewhere(actor: ActorHandle, no_restart: bool) -> None:
    get_job_context().kill(actor, no_restart)


def _check_length(name: str, namespace: str) -> None:
    size = len(ActorName(namespace, name, _MANY).job_name())
    if size > _MOST_JOB_NAME_BYTES:
        raise ValueError(
            f"the actor's name {name!r} and the namespace {namespace!r} take {size} bytes in the name of the job that "
            f"is to host it, and Iris takes {_MOST_JOB_NAME_BYTES}; choose shorter ones, of ASCII letters and digits"
        )


_every: weakref.WeakSet[NamedActors] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for each in list(_every):
        each.leave_to_parent()


os.register_at_fork(after_in_child=_after_fork_in_child)
