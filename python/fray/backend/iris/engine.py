"""`IrisEngine`: the native engine of a task's own machine, and actors with names for all tasks of the root job."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fray.backend.iris.actors import Description, IrisActorLink
from fray.job.actor_spec import ActorSpec
from fray.job.actors import ActorLink
from fray.job.context import JobContext
from fray.job.engine import Engine
from fray.job.watch import Watch
from fray.types import TaskOptions

if TYPE_CHECKING:
    from fray.backend.iris.named_actors import NamedActors

__all__ = ["IrisEngine"]


class IrisEngine(Engine):
    """The native engine of the machine, with actors whose names all tasks of the root job share. Thread-safe.

    Args:
        context: the native context of this machine; in a child of fork() it has another engine.
        name: class name of the context that has this engine, for messages.
    """

    def __init__(self, context: JobContext, name: str) -> None:
        self._context, self._name = context, name

    @property
    def native(self) -> Engine:
        """The engine of this machine."""
        return self._context.engine

    # ---- passed on to the native engine

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

    def caller(
        self, fn: Callable[..., Any], options: TaskOptions, carrier: Callable[..., Any] | None = None
    ) -> Callable[[tuple[Any, ...]], Any]:
        return self.native.caller(fn, options, carrier)

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

    @cached_property
    def _named(self) -> NamedActors:
        # Imported with the first use of a named actor: most workers use none, and start sooner without the import.
        from fray.backend.iris.named_actors import NamedActors

        return NamedActors(self, self._name)

    @property
    def namespace(self) -> str:
        """The namespace of actors that are created without one."""
        return self._context.namespace

    def create_actor(self, spec: ActorSpec) -> ActorLink:
        native = self.native
        return native.create_actor(spec) if spec.options.name is None else self._named.create(spec)

    def find_actor(self, name: str, namespace: str) -> ActorLink | None:
        return self._named.find(name, namespace)

    def link_to(self, job: str, description: Description) -> IrisActorLink:
        """Return the link to the actor that a job hosts; see `restore_handle`."""
        return self._named.link_to(job, description)

    def named_actors(self) -> list[tuple[str, str]]:
        return self._named.names()

    def kill_actor(self, link: Any, no_restart: bool) -> None:
        if isinstance(link, IrisActorLink):
            self._named.kill(link, no_restart)
        else:
            self.native.kill_actor(link, no_restart)

    def owns_actor(self, link: Any) -> bool:
        return link.belongs_to(self._named) if isinstance(link, IrisActorLink) else self.native.owns_actor(link)
