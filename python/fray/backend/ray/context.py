"""`RayJobContext`: tasks, actors and objects on a Ray cluster, behind the context API."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from fray import _traces
from fray.backend.ray.arrival import arrive_on_ray
from fray.backend.ray.dashboard import refuse_name
from fray.backend.ray.engine import RayEngine
from fray.backend.ray.library import ray, theirs
from fray.backend.ray.options import task_options
from fray.backend.ray.refs import RayRef, raw_of, use_for_unpickled
from fray.backend.ray.waiting import split
from fray.job.arrival import note
from fray.job.context import JobContext
from fray.job.own_keywords import NOT_GIVEN, takes_keyword
from fray.job.surroundings import is_ray_worker
from fray.types import TaskOptions

__all__ = ["RayJobContext"]

_DEFAULTS = TaskOptions()
_MOST_NAMES = 1024


class RayJobContext(JobContext):
    """Runs tasks and actors on Ray, and holds objects in its store.

    A Ray that the program has initialised is used as it is. Otherwise it is initialised here, as ``ray.init`` does: at
    `address`, at ``RAY_ADDRESS``, or on this machine; and then it is shut down when the context is closed.

    After ``ray.shutdown()`` and ``ray.init()`` it goes on with the new Ray; refs and handles of the old one are lost.

    Args:
        address: of the cluster, as ``ray.init`` takes it.
        namespace: where named actors are looked up; by default Ray's, where the program has chosen one, else
            ``"default"``.
        autoscaling: whether Ray adds nodes by itself, so that tasks wait for resources that no node has now.
        cluster: not supported.
        ray_options: keywords of ``ray.remote`` for the tasks that `run` starts.

    Raises:
        NodeDiedError: no Ray answers, or it refuses this program.
        VersionMismatchError: it runs another version of Ray or of Python.
        AlreadyInitializedError: this process uses another Ray than the one at `address`.
    """

    _of_worker: ClassVar[dict[str, RayJobContext]] = {}
    _living: ClassVar[list[weakref.ref[RayJobContext]]] = []

    def __init__(
        self,
        address: str | None = None,
        namespace: str | None = None,
        autoscaling: bool = False,
        cluster: str | None = None,
        *,
        ray_options: Mapping[str, Any] | None = None,
        _connect: bool = True,
    ) -> None:
        refuse_name(cluster)
        engine = RayEngine(self, address, namespace, autoscaling, self._connected)
        self._engine: RayEngine = engine  # pyright: ignore[reportIncompatibleVariableOverride]
        self.namespace = engine.namespace
        self._defaults = task_options(ray_options) if ray_options else _DEFAULTS
        self._names: dict[str, TaskOptions] = {}
        if _connect:
            engine.connect()

    @classmethod
    def later(cls, **settings: Any) -> RayJobContext:
        """Return a context that connects to Ray when it is first used; it takes what the constructor takes."""
        return cls(**settings, _connect=False)

    def _connected(self) -> None:
        self.namespace = self._engine.namespace
        note(self)
        if all(known() is not self for known in self._living):
            RayJobContext._living.append(weakref.ref(self))

    # ---- which context

    @classmethod
    def current(cls) -> RayJobContext | None:
        """Return the context of the worker process that this is, or None in any other process."""
        if not cls._of_worker and is_ray_worker():
            context = cls()  # code runs before the first task: its arguments are unpickled
            cls._of_worker.setdefault(context.namespace, context)
        return next(iter(cls._of_worker.values()), None)

    @classmethod
    def of_worker(cls, namespace: str) -> RayJobContext:
        """Return this worker process's context with that namespace."""
        context = cls._of_worker.get(namespace)
        if context is None:
            context = cls._of_worker[namespace] = cls(namespace=namespace)
        return context

    @classmethod
    def of_unpickled(cls) -> RayJobContext:
        """Return the context of refs and handles that come out of a pickle: the newest that is open."""
        cls._living = [known for known in cls._living if (found := known()) is not None and not found._closed]
        newest = cls._living[-1]() if cls._living else None
        return newest if newest is not None else cls()

    def session_name(self) -> str:
        """Return the name of Ray's session; see `JobContext.session_name`."""
        if not self._closed:
            self._engine.check_usable()
        return self._engine.session_name()

    def __reduce__(self) -> Any:
        return arrive_on_ray, (self.session_name(), self.own_name(), self.namespace)

    @property
    def closed(self) -> bool:
        """Whether `close` was called, or Ray was shut down and not initialised again."""
        return self._engine.closed

    @property
    def engine(self) -> RayEngine:
        """The engine behind this context; see `JobContext.engine`."""
        self._engine.check_usable()
        return self._engine

    def _check_open(self) -> None:
        self._engine.check_usable()

    # ---- the hot path

    def run(self, fn: Callable[..., Any], *args: Any, name: Any = NOT_GIVEN, **kwargs: Any) -> Any:
        """Start ``fn(*args, **kwargs)`` and return a ref to its result; see `JobContext.run` for `name`."""
        if name is NOT_GIVEN:
            name = None
        elif takes_keyword(fn, "name", len(args)):
            kwargs["name"], name = name, None
        if name is None:
            if self._closed or not callable(fn):
                return self.create_task(fn, args, kwargs)
            return self._engine.submit(fn, args, kwargs, self._defaults)
        options = self._names.get(name)
        if options is None:
            if len(self._names) >= _MOST_NAMES:
                self._names.clear()
            options = self._names[name] = replace(self._defaults, name=name)
        return self.create_task(fn, args, kwargs, options)

    def get(self, refs: Any, timeout: float | None = None) -> Any:
        """Return the value of a ref, or the values of a list or tuple of refs; see `JobContext.get`."""
        engine = self._engine
        if not engine.is_current():
            engine.check_usable()
        if timeout is None and engine.is_plain():
            kind: type[Any] = type(refs)  # pyright: ignore[reportUnknownVariableType]
            if kind is RayRef:
                return engine.fetch(refs._raw, None)
            if kind is list and refs:
                try:
                    raws = list(map(raw_of, refs))
                except AttributeError:
                    return super().get(refs, timeout)
                return engine.fetch(raws, None)
        return super().get(refs, timeout)

    def wait(self, refs: list[Any], num_returns: int = 1, timeout: float | None = None) -> tuple[list[Any], list[Any]]:
        """Split `refs` into ready ones and others; see `JobContext.wait`."""
        engine = self._engine
        is_plain = timeout is None and type(refs) is list and _traces.recorder() is None
        if is_plain and engine.is_current() and engine.is_plain():
            try:
                raws = list(map(raw_of, refs))
                ready, others = ray.wait(raws, num_returns=num_returns, fetch_local=False)
                return split(refs, raws, ready, others)
            except (AttributeError, ValueError, TypeError, theirs.RayError):
                pass  # the base class raises the error
        return super().wait(refs, num_returns, timeout)


use_for_unpickled(lambda: RayJobContext.of_unpickled().engine.connection())
