"""`Engine`: the protocol of what runs tasks and holds objects behind a `JobContext`; libraries use it as well.

`JobContext` is for programs: it checks its arguments and says what is wrong with them. An engine trusts its caller. A
backend implements it, and `JobContext.map`, `fray.Executor`, joblib, Dask and `fray.ray` use it, by ``context.engine``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from fray._extras import needs
from fray.errors import UnsupportedError
from fray.job.task_options import TaskOptions
from fray.job.watch import PollingWatch, Watch

if TYPE_CHECKING:
    from fray.job.actor_spec import ActorSpec
    from fray.job.actors import ActorLink

__all__ = ["Engine"]


class Engine(Protocol):
    """The operations of one backend. Thread-safe.

    The caller has checked the arguments: values are of the types that are named here, refs and links are of this
    engine, unless a method says otherwise. Refs are of the backend's own type, registered as `ObjectRef`. What has
    not ended when the engine is closed fails with ContextClosedError, and so does whatever is submitted after that.

    A backend derives from this class, which has what many backends have in common.
    """

    @property
    @abstractmethod
    def closed(self) -> bool:
        """Whether the engine was closed."""

    @property
    @abstractmethod
    def parallelism(self) -> int:
        """How many tasks run at the same time; 0 where `submit` runs the task itself."""

    # ---- tasks

    @abstractmethod
    def submit(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], options: TaskOptions
    ) -> Any:
        """Start a task; return its ref, or the list of its refs when ``options.num_returns`` > 1.

        Refs among `args` and `kwargs` were not checked: one of another context is a ForeignRefError.
        """

    def caller(
        self, fn: Callable[..., Any], options: TaskOptions, carrier: Callable[..., Any] | None = None
    ) -> Callable[[tuple[Any, ...]], Any]:
        """Return what starts a task of ``fn(*args)``, or of ``carrier(fn, *args)``, given `args`, and returns its ref.

        It is for many calls of one function. A backend may send that once, as it is now; the tasks that one worker runs
        share its globals then, as those of `submit` do.
        """
        if carrier is None:
            return lambda args: self.submit(fn, args, {}, options)
        return lambda args: self.submit(carrier, (fn, *args), {}, options)

    @abstractmethod
    def cancel(self, ref: Any, force: bool) -> None:
        """Cancel the task of `ref`; no effect on an object that was put or a task that has ended."""

    def is_waiting(self, ref: Any, cancel: bool = False) -> bool:
        """Return whether the task of `ref` has not begun, as far as is known; with `cancel`, whether it never will."""
        return False

    # ---- objects

    @abstractmethod
    def put(self, value: Any) -> Any:
        """Hold a value and return its ref."""

    @abstractmethod
    def get(self, ref: Any, timeout: float | None) -> Any:
        """Return the value of one ref, or raise its task's exception or GetTimeoutError."""

    @abstractmethod
    def get_many(self, refs: Sequence[Any], timeout: float | None) -> list[Any]:
        """Return the values of all `refs` (at least one, repeats allowed) within one timeout."""

    @abstractmethod
    def wait(self, refs: list[Any], num_returns: int, timeout: float | None) -> tuple[list[Any], list[Any]]:
        """Block until `num_returns` are ready or the time is over; split `refs` as `JobContext.wait` says."""

    @abstractmethod
    def owns(self, ref: Any) -> bool:
        """Return whether `ref`, which may be a ref of any engine, is one of this engine.

        Raises:
            ObjectLostError: it was one, and its value is gone with the process or cluster that held it.
        """

    def watch(self) -> Watch:
        """Return a new watch over refs of this engine."""
        return PollingWatch(self.wait)

    def blocking(self) -> AbstractContextManager[None]:
        """Surround a wait of this thread that the engine does not see, so that another task can have its place."""
        return nullcontext()

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        """Return an array to be filled; in ordinary memory unless the backend has a store for it."""
        with needs("numpy", "numpy", "ctx.empty"):
            import numpy

        return numpy.empty(shape, dtype)

    # ---- actors

    @abstractmethod
    def create_actor(self, spec: ActorSpec) -> ActorLink:
        """Start an actor, or find the existing one where the options allow that, in one step; return a link to it.

        A name without a namespace is in the namespace of the
        context. The name of an actor that has ended, or whose constructor raised, is free.

        Raises:
            NameTakenError: made by `fray.job.actor_request.name_taken`.
        """

    @abstractmethod
    def find_actor(self, name: str, namespace: str) -> ActorLink | None:
        """Return a link to the living actor of that name; one whose constructor still runs is living."""

    @abstractmethod
    def named_actors(self) -> list[tuple[str, str]]:
        """Return (namespace, name) of every living actor that has a name, in any order."""

    @abstractmethod
    def kill_actor(self, link: Any, no_restart: bool) -> None:
        """End the actor of `link`; see `JobContext.kill`."""

    @abstractmethod
    def owns_actor(self, link: Any) -> bool:
        """Return whether `link`, any link at all, leads to an actor of this engine."""

    # ---- status and history

    def resource_ids(self) -> dict[str, list[int]]:
        """Return the indices of the devices that the running task or this actor has; see `JobContext.resource_ids`."""
        return {}

    def timeline_events(self) -> Iterable[Mapping[str, Any]]:
        """Return the tasks that ran, oldest first, as events of Chrome's trace format (times in microseconds)."""
        return _lacking(self, "does not remember when its tasks ran")

    def failures(self) -> Iterable[tuple[str, int, str]]:
        """Return (task's name, its number or 0, what it failed with) of the tasks that failed."""
        for event in self.timeline_events():
            if not event.get("args", {}).get("ok", True):
                yield event["name"], 0, "failed"

    def status(self) -> dict[str, Any]:
        """Return what there is and what of it is free, as `fray status --json` shows it."""
        return _lacking(self, "has no node to ask")

    # ---- life

    @abstractmethod
    def close(self) -> None:
        """Cancel what has not ended and release everything; called once."""


def _lacking(engine: Engine, what: str) -> NoReturn:
    raise UnsupportedError(f"{type(engine).__name__} {what}")
