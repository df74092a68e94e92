"""`NativeJobContext`: tasks on worker processes, objects in shared memory."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from fray import _native
from fray._checks import check_actor_name, check_name
from fray._settings import default_namespace
from fray._stack_dump import offer_stacks, withdraw_stacks
from fray.backend.native import seat
from fray.backend.native.beginning import Begun, begin, closing_on_failure
from fray.backend.native.detours import HoldsRefs, IsCpp, IsPartial
from fray.backend.native.launch import attach, namespace_env
from fray.backend.native.tracing import settle_traces, take_cpp_spans
from fray.errors import UnsupportedError
from fray.job.arrival import arrive, note
from fray.job.context import JobContext
from fray.job.frozen import most_items_of
from fray.job.own_keywords import NOT_GIVEN, takes_keyword
from fray.job.refs import ObjectRef
from fray.job.task_options import TaskOptions

if TYPE_CHECKING:
    from fray._cpp_spans import CppSpans
    from fray.backend.native.engine import NativeEngine
    from fray.backend.native.needs import Needs
    from fray.backend.native.terminal import Terminal

__all__ = ["NativeJobContext"]

ObjectRef.register(_native.ObjectRef)
_ref_types: set[type[Any]] = {_native.ObjectRef}


class NativeJobContext(JobContext):
    """Runs tasks on the worker processes of a node on this machine.

    Args:
        cpus: CPUs that tasks share; by default those that the container and the affinity mask allow.
        memory: bytes of memory that tasks may ask for; by default those that the container allows.
        memory_threshold: the share of the machine's or its container's memory, from 0 to 1, above which tasks and
            actors are ended with `OutOfMemoryError`; by default all but 5 %, or all but 1 GiB where that is less.
        store_memory: bytes of shared memory for objects; further objects spill.
        spill_dir: folder that objects spill to.
        resources: further resources of the node, such as ``{"TPU": 4}``.
        namespace: where named actors are looked up; ``"default"`` if not given.
        address: a running node, as ``"auto"`` for the started node of this home, its home or its socket; by default a
            node is started that ends with this process. What the node has is then its own: no other setting but
            `namespace` goes with it.
        max_workers: the most worker processes at once, including workers that are blocked; by default 128, or 8 for
            each CPU where that is more, as long as the machine has 64 MiB for each.
        debug: tasks may stop at ``breakpoint()``.
        worker_env: variables of all workers, for contexts that are built on this one.
        dashboard: a node that is started for this process answers HTTP as a started one does.
        tracing: this program and its tasks are traced; by default where FRAY_OTEL says so.
        start_method: ``"fork"`` for workers that are copies of this process, ``"forkserver"`` for new interpreters; by
            default copies where tasks cannot tell.

    Raises:
        NodeDiedError: the node cannot be started or reached.
        SettingsError: settings of a node together with an address.
        VersionMismatchError: the node at `address` is of another release.
    """

    _current: ClassVar[NativeJobContext | None] = None
    """That of the worker process that this is, once it has been asked for."""
    _inherited: bool = False  # the context was made by the process that forked this one
    _pending: Mapping[str, Any] | None = None
    """The settings of a context that was not used yet."""
    _borrowed: bool = False
    """Whether the context uses the connection of the worker that this process is."""
    _terminal: Terminal | None = None
    _cpp_spans: CppSpans | None = None
    """What C++ workers tell of what they run, while this program is traced."""
    _devices: Mapping[str, list[int]] = {}
    _extra_env: Mapping[str, str] = {}

    def __init__(
        self,
        cpus: float | None = None,
        memory: int | None = None,
        store_memory: int | None = None,
        spill_dir: str | os.PathLike[str] | None = None,
        resources: Mapping[str, float] | None = None,
        namespace: str | None = None,
        address: str | None = None,
        max_workers: int | None = None,
        debug: bool = False,
        worker_env: Mapping[str, str] | None = None,
        dashboard: bool = False,
        tracing: bool | None = None,
        memory_threshold: float | None = None,
        start_method: str | None = None,
    ) -> None:
        self._go_on(
            begin(
                cpus,
                memory,
                store_memory,
                spill_dir,
                resources,
                namespace,
                address,
                max_workers,
                debug,
                worker_env,
                dashboard,
                tracing,
                memory_threshold,
                start_method,
            )
        )

    @classmethod
    def of_begun(cls, begun: Begun) -> NativeJobContext:
        """Return the context that has begun already, before its class was imported."""
        context = cls.__new__(cls)
        context._go_on(begun)
        return context

    def _go_on(self, begun: Begun) -> None:
        self.namespace, self._extra_env = begun.namespace, begun.extra_env
        with closing_on_failure(begun.needs):
            # While the node starts, and with it the interpreter of its workers, this process imports the rest.
            import_module("fray.backend.native.engine")
            client = begun.opening.client()
            with closing_on_failure(client):  # which also ends a node that was started for this context
                self._set_up(client, self._terminal_of(client) if begun.debug else None, begun.needs)
                self._cpp_spans = take_cpp_spans(client)
                offer_stacks()

    @staticmethod
    def _terminal_of(client: Any) -> Terminal:
        from fray.backend.native.terminal import Terminal

        return Terminal(client, client.session_folder())

    def _set_up(self, client: Any, terminal: Terminal | None = None, needs: Needs | None = None) -> None:
        from fray.backend.native.engine import NativeEngine

        self._client, self._terminal = client, terminal
        engine = NativeEngine(client, self.namespace, self._extra_env, terminal, needs)
        self._engine: NativeEngine = engine  # pyright: ignore[reportIncompatibleVariableOverride]
        self._devices = {}
        _contexts.add(self)
        note(self)

    @classmethod
    def later(cls, **settings: Any) -> NativeJobContext:
        """Return a context that starts its node when it is first used; it takes what the constructor takes.

        In a worker, without settings of a node, the context uses the node of the worker.
        """
        from inspect import signature

        bound = signature(cls).bind(**settings).arguments
        context = cls.__new__(cls)
        context.namespace = check_actor_name(bound.get("namespace") or default_namespace(), "namespace")
        context._pending, context._closed = bound, True
        return context

    def _begin(self, settings: Mapping[str, Any]) -> None:
        """Become what the constructor makes of `settings`."""
        worker = NativeJobContext.current()
        if worker is None or set(settings) - {"namespace"}:
            self.__init__(**settings)
        else:
            self._extra_env = namespace_env(self.namespace)
            self._borrowed = True
            self._set_up(worker._client)
        self._pending, self._closed = None, False

    def __getattr__(self, name: str) -> Any:
        # Python calls this for attributes that are not set: a context that `later` returned sets them at its first use.
        if self._pending is None or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self._check_open()
        return getattr(self, name)

    @classmethod
    def current(cls) -> NativeJobContext | None:
        """Return the context of the worker process that this is, or None in any other process.

        It is made when it is first asked for: many tasks and actors never do, and share what it would write to.
        """
        client = seat.client_of_worker
        if NativeJobContext._current is None and client is not None:
            with _connecting:
                if NativeJobContext._current is None:  # pyright: ignore[reportUnnecessaryComparison]
                    context = NativeJobContext.__new__(NativeJobContext)
                    context.namespace = default_namespace()
                    context._set_up(client)
                    NativeJobContext._current = context
        return NativeJobContext._current

    @classmethod
    def of_client(cls, client: _native.Client) -> NativeJobContext | None:
        """Return the context with that connection; where several share it, the context that the worker itself made."""
        worker = cls.current()
        if worker is not None and worker._client is client:
            return worker
        return next((context for context in list(_contexts) if context._client is client), None)

    def resource_ids(self) -> dict[str, list[int]]:
        """Return the indices of the devices that this worker is bound to; see `JobContext.resource_ids`."""
        worker = NativeJobContext.current() if self._borrowed else None
        return {kind: list(indices) for kind, indices in (worker or self)._devices.items()}

    # ---- the hot path: where C++ refuses the arguments, the base class raises the error

    def run(self, fn: Callable[..., Any], *args: Any, name: Any = NOT_GIVEN, **kwargs: Any) -> Any:
        """Start ``fn(*args, **kwargs)`` and return a ref to its result; see `JobContext.run` for `name`."""
        if self._closed or not callable(fn):
            return super().run(fn, *args, name=name, **kwargs)
        if name is NOT_GIVEN:
            name = None
        elif takes_keyword(fn, "name", len(args)):
            kwargs["name"], name = name, None
        elif name is not None:
            check_name(name, "run")
        engine = self._engine
        try:
            handle, generator = engine.functions.handle(fn, name, 0)
        except HoldsRefs:
            return engine.submit_as_argument(fn, args, kwargs, TaskOptions(name=name))
        except IsCpp:
            return engine.submit_cpp(fn, args, kwargs, TaskOptions(name=name))
        except IsPartial:
            return engine.submit(fn, args, kwargs, engine.defaults if name is None else TaskOptions(name=name))
        plan = engine.plan(engine.defaults, True, most_items_of(fn)) if generator else engine.plain
        return _native.submit(self._client, handle, plan, args, kwargs or None)

    def get(self, refs: Any, timeout: float | None = None) -> Any:
        """Return the value of a ref, or the values of a list or tuple of refs; see `JobContext.get`."""
        if timeout is None and not self._closed and self._terminal is None:
            kind: type[Any] = type(refs)  # pyright: ignore[reportUnknownVariableType]
            if kind in _ref_types:
                return _native.get(self._client, refs, None)
            if kind is list and refs and type(refs[0]) in _ref_types:
                values = _native.get_many(self._client, refs, None)
                if values is not NotImplemented:
                    return values
        return super().get(refs, timeout)

    def wait(self, refs: list[Any], num_returns: int = 1, timeout: float | None = None) -> tuple[list[Any], list[Any]]:
        """Split `refs` into ready ones and others; see `JobContext.wait`."""
        if timeout is None and self._is_plain():
            answer = _native.wait(self._client, refs, num_returns, None)
            if answer is not NotImplemented:
                return answer
        return super().wait(refs, num_returns, timeout)

    def _is_plain(self) -> bool:
        return not self._closed and self._terminal is None

    @classmethod
    def extend_refs(cls, methods: type[Any]) -> None:
        """Give the refs of this process, from now on, the methods of a class; see `JobContext.extend_refs`."""
        if any(issubclass(kind, methods) for kind in _ref_types):
            return
        _ref_types.add(_native.extend_refs(methods))

    @property
    def session_folder(self) -> str:
        """The folder with the node's socket."""
        self._check_open()
        return self._client.session_folder()

    def session_name(self) -> str:
        """Return the folder of the session; see `JobContext.session_name`."""
        return self.session_folder if not self.closed else super().session_name()

    @property
    def begun_engine(self) -> NativeEngine | None:
        """The engine; None where no node was started yet, and in a forked child, which has run nothing itself."""
        return None if self._inherited or self._pending is not None else self._engine

    def __reduce__(self) -> Any:
        return arrive_natively, (self.session_name(), self.own_name())

    # ---- forks

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed and not self._inherited and self._pending is None

    def close(self) -> None:
        """End the context; see `JobContext.close`. A forked child that has not used the context only forgets it."""
        self._inherited = False
        self._pending = None
        if self._borrowed:
            self._closed = True  # the connection is the worker's
        elif not self._closed:
            settle_traces(self._client, self._cpp_spans)
            super().close()
            if self._cpp_spans is not None:
                self._cpp_spans.close()
            withdraw_stacks()

    def _leave_to_parent(self) -> None:
        """Begin anew in a child of fork(): the connection is the parent's, and the first use makes another."""
        if not self._closed:
            self._closed = self._inherited = True
            self._cpp_spans = None  # its thread is the parent's

    def _not_open(self) -> None:
        if self._pending is not None:
            with _connecting:
                settings = self._pending  # None where another thread has begun meanwhile
                if settings is not None:  # pyright: ignore[reportUnnecessaryComparison]
                    self._begin(settings)
            return
        if not self._inherited:
            return super()._not_open()
        if NativeJobContext._current is self:
            raise UnsupportedError(
                "a process that a task has forked cannot use the task's context; "
                "start the work in the task itself, or return what is to be done"
            )
        with _connecting:
            if self._inherited:
                _parents_clients.append(self._client)
                client = attach(self._client.session_folder(), self._extra_env).client()
                self._set_up(client, self._terminal)
                self._cpp_spans = take_cpp_spans(client)
                self._closed = self._inherited = False

    def _drain_output(self) -> None:
        if not self._closed:
            settle_traces(self._client, self._cpp_spans)
            self._client.drain_output()
            self._client.tell_last_runs()


def arrive_natively(session: str, own_name: str) -> JobContext:
    """Return the context that reads the value, to which the refs in it belong; where none reads it, see `arrive`."""
    client = _native.receiving_client()
    if client is not None:
        context = NativeJobContext.of_client(client)
        if context is not None:
            return context
    return arrive(session, own_name)


_contexts: weakref.WeakSet[NativeJobContext] = weakref.WeakSet()
_connecting = threading.RLock()
_parents_clients: list[Any] = []
"""Never freed: at the time of the fork another thread may have held their locks, which a destructor would take."""


def _after_fork_in_child() -> None:
    global _connecting
    _connecting = threading.RLock()
    # Asked first: in a worker that is forked there are none, and it shares the memory that it does not touch.
    for context in list(_contexts) if _contexts else ():
        context._leave_to_parent()  # pyright: ignore[reportPrivateUsage]


os.register_at_fork(after_in_child=_after_fork_in_child)


@atexit.register
def _drain_all() -> None:
    # Contexts are not closed here: that would wake waiting threads with an error while the interpreter shuts down. The
    # node sees that this process has ended.
    for context in list(_contexts):
        if context is not NativeJobContext.current():
            context._drain_output()  # pyright: ignore[reportPrivateUsage]
