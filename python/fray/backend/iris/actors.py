"""Named actors of an Iris job, from the caller's side: the link of their handles, and how handles travel."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

from fray.backend.iris.names import actor_of
from fray.backend.iris.task import current_task
from fray.errors import UnsupportedError
from fray.job.actor_methods import MethodKind
from fray.job.actor_spec import ActorSpec
from fray.job.actors import ActorHandle, ActorLink, CallOptions

__all__ = ["Description", "IrisActorLink", "LinkFinder", "LinkMaker", "reduce_leaving", "restore_handle"]


class Description(NamedTuple):
    """The facts that every handle of an actor carries."""

    class_name: str
    name: str
    namespace: str
    methods: Mapping[str, MethodKind]
    max_task_retries: int
    max_pending_calls: int
    annotations: Mapping[str, str]

    @classmethod
    def of(cls, spec: ActorSpec, namespace: str) -> Description:
        """Return the description of an actor that is to be created."""
        options = spec.options
        return cls(
            spec.class_name,
            options.name or "",
            namespace,
            dict(spec.methods),
            options.max_task_retries,
            options.max_pending_calls,
            dict(options.annotations),
        )

    def text(self) -> str:
        """Return a text that `read` reads."""
        return json.dumps([*self[:3], dict(self.methods), *self[4:6], dict(self.annotations)])

    @classmethod
    def read(cls, document: Any) -> Description:
        """Return the description of which `document` is the parsed JSON."""
        class_name, name, namespace, methods, *rest = document
        return cls(class_name, name, namespace, {key: MethodKind(kind) for key, kind in methods.items()}, *rest)


class LinkMaker(Protocol):
    """What a link needs of the engine that made it."""

    def relay_of(self, link: IrisActorLink) -> ActorLink:
        """Return the link of the actor of this machine that passes calls on."""
        ...


@runtime_checkable
class LinkFinder(Protocol):
    """An engine that knows actors which jobs host."""

    def link_to(self, job: str, description: Description) -> IrisActorLink:
        """Return the link to the actor that a job hosts."""
        ...


class IrisActorLink(ActorLink):
    """Connects handles to the actor that a job hosts, by way of an actor of this machine, the relay.

    So the ref of a call is a ref of the machine's engine.
    """

    __slots__ = (
        "_maker",
        "_named",
        "_relay",
        "actor_id",
        "annotations",
        "class_name",
        "description",
        "job",
        "methods",
        "name",
    )

    def __init__(self, job: str, description: Description, maker: LinkMaker) -> None:
        self.job, self.description = job, description
        self._maker = maker
        self._relay: ActorLink | None = None
        self._named: dict[tuple[str, CallOptions], CallOptions] = {}
        from hashlib import sha256  # at module level it would cost every worker some milliseconds

        self.actor_id = sha256(job.encode()).hexdigest()[:32]
        self.class_name, self.name = description.class_name, description.name
        self.methods, self.annotations = description.methods, description.annotations

    @property
    def relay(self) -> ActorLink:
        """The link of the relay, which is made when it is first needed."""
        if self._relay is None:
            self._relay = self._maker.relay_of(self)
        return self._relay

    def forget_relay(self) -> None:
        """Drop the relay in a child of fork(), which has its own connection to the machine's engine."""
        self._relay = None

    def belongs_to(self, maker: LinkMaker) -> bool:
        """Return whether that engine made this link."""
        return self._maker is maker

    def submit(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any], options: CallOptions) -> Any:
        """Send a call behind all others of this process; see `ActorLink.submit`."""
        relay = self._relay or self.relay
        named = self._named.get((method, options))
        if named is None:
            named = CallOptions(options.num_returns, options.name or f"{self.class_name}.{method}")
            self._named[method, options] = named
        return relay.submit(method, args, kwargs, named)

    def reduce(self) -> tuple[Callable[..., ActorHandle], tuple[Any, ...]]:
        """Pickle as the id of the job, by which every task of the root job finds the actor."""
        return restore_handle, (self.job, self.description.text())


def reduce_leaving(handle: ActorHandle) -> Any:
    """Return what ``__reduce__`` of a handle returns where it leaves this machine.

    In the job that hosts an actor, a handle of it belongs to the machine's engine; it leaves as the handle that other
    jobs use.
    """
    link: Any = handle._fray_link  # pyright: ignore[reportPrivateUsage]
    job = current_task().job
    hosted = actor_of(job)
    if hosted is None or isinstance(link, IrisActorLink) or link.name != hosted.name:
        return link.reduce()
    retries: int = link.description.max_task_retries
    about = Description(link.class_name, link.name, hosted.namespace, link.methods, retries, -1, link.annotations)
    return restore_handle, (job, about.text())


def restore_handle(job: str, description: str) -> ActorHandle:
    """Return the handle of the actor that `job` hosts.

    Raises:
        UnsupportedError: this process is no task of the actor's root job.
    """
    from fray.job.current import get_job_context

    engine = get_job_context().engine
    if not isinstance(engine, LinkFinder):
        raise UnsupportedError(
            f"the handle of the actor that the Iris job {job} hosts was read in a process that is no task of its root "
            "job, or that has set another context; only tasks of that job can call it"
        )
    return ActorHandle(engine.link_to(job, Description.read(json.loads(description))))
