"""`IrisJobContext`: tasks and actors in an Iris job."""

from __future__ import annotations

import os
from typing import Any, ClassVar

from fray._settings import IRIS_WORKER_VARIABLE, PRELOAD_VARIABLE
from fray.backend import BACKENDS
from fray.backend.iris.engine import IrisEngine
from fray.backend.iris.task import current_task, node_settings
from fray.job.arrival import arrive, note
from fray.job.context import JobContext

__all__ = ["IrisJobContext"]


class IrisJobContext(JobContext):
    """Runs tasks, and actors without a name, on the machine of the Iris task that this process is part of.

    They have the CPUs, the memory and the devices that Iris gave the task. Actors with a name are shared by all tasks
    of the root job and its children: each is hosted by an Iris job of its own, and called over HTTP.

    Args:
        controller: ignored, as are the other arguments: a task uses the controller that started it. They exist so that
            one spec works outside of Iris, where it names a cluster, and inside.
        user: see `controller`.
        token_file: see `controller`.

    Raises:
        UnsupportedError: this process is not part of an Iris task.
    """

    _current: ClassVar[IrisJobContext | None] = None

    def __init__(self, controller: str | None = None, user: str | None = None, token_file: str | None = None) -> None:
        current_task()
        self._stand_on(_native()(**_node()))

    @classmethod
    def later(cls, **settings: Any) -> IrisJobContext:
        """Return a context that starts its node when it is first used; it takes what the constructor takes."""
        current_task()
        context = cls.__new__(cls)
        context._stand_on(_native().later(**({} if _native().current() is not None else _node())))
        return context

    @classmethod
    def current(cls) -> IrisJobContext | None:
        """Return the context of the worker process that this is, or None in any other process."""
        worker = _native().current()
        if worker is None:
            return None
        if cls._current is None or cls._current._native is not worker:
            cls._current = cls.__new__(cls)
            cls._current._stand_on(worker)
        return cls._current

    def _stand_on(self, native: Any) -> None:
        self._native = native
        self._engine = IrisEngine(native, type(self).__name__)
        self.namespace = native.namespace
        self.run, self.get, self.wait = native.run, native.get, native.wait  # the hot path
        note(self)

    @property
    def engine(self) -> IrisEngine:
        """The engine behind this context; see `JobContext.engine`."""
        self._check_open()
        engine: Any = self._engine
        return engine

    @property
    def begun_engine(self) -> Any:
        """The engine; None where no node was started yet."""
        return None if self._native.begun_engine is None else self._engine

    @classmethod
    def extend_refs(cls, methods: type[Any]) -> None:
        """Give the refs of this process, from now on, the methods of a class; see `JobContext.extend_refs`."""
        _native().extend_refs(methods)

    def session_name(self) -> str:
        """Return the name of the session that holds the objects; see `JobContext.session_name`."""
        return f"iris {self._native.session_name()}"

    def __reduce__(self) -> Any:
        return arrive, (self.session_name(), self.own_name())

    def _check_open(self) -> None:
        self._native.engine  # noqa: B018  (raises where it was closed)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._native.closed

    def close(self) -> None:
        """End the context: tasks that have not ended are cancelled. Named actors live on for other tasks."""
        self._native.close()


def _native() -> Any:
    return BACKENDS["local"].context_class()


def _node() -> dict[str, Any]:
    """Return the settings of the task's node; its fork server loads this context for the workers."""
    preloaded = ",".join(filter(None, [os.environ.get(PRELOAD_VARIABLE), __name__]))
    environment = {IRIS_WORKER_VARIABLE: str(os.getpid()), PRELOAD_VARIABLE: preloaded}
    return {**node_settings(), "worker_env": environment}
