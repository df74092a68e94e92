"""`NativeJobContext`: tasks on worker processes, objects in shared memory."""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
import weakref
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from inspect import isgeneratorfunction, signature
from typing import TYPE_CHECKING, Any, ClassVar

from fray import _native
from fray._checks import check_name
from fray._cpp_library import CppActor, CppFunction
from fray._extras import needs
from fray._failures import failure_text
from fray._recent import Recent
from fray._settings import default_namespace
from fray._stack_dump import offer_stacks, withdraw_stacks
from fray.backend.native.address import refuse_settings
from fray.backend.native.arrival import arrive_natively
from fray.backend.native.breakpoints import DEBUG_VARIABLE
from fray.backend.native.functions import FunctionTable, HoldsRefs, IsCpp, call, cpp_function
from fray.backend.native.launch import (
    attach,
    check_settings,
    cpp_worker_key,
    namespace_env,
    start_embedded,
    worker_key,
)
from fray.backend.native.retrying import Retrying
from fray.backend.native.rooms import make_array
from fray.backend.native.terminal import Terminal, lend_terminal
from fray.backend.native.watch import QueueWatch
from fray.errors import UnsupportedError
from fray.job.arrival import note
from fray.job.context import JobContext
from fray.job.frozen import Frozen
from fray.job.own_keywords import NOT_GIVEN, takes_keyword
from fray.job.refs import ObjectRef
from fray.job.watch import Watch
from fray.types import ActorOptions, Lifetime, RuntimeEnv, TaskOptions, check_actor_name

if TYPE_CHECKING:
    from fray.job.actor_methods import MethodKind
    from fray.job.actors import ActorLink

__all__ = ["NativeJobContext"]

ObjectRef.register(_native.ObjectRef)
_ref_types: set[type[Any]] = {_native.ObjectRef}

_ITEM_BUDGET_BYTES = 16 << 20
_MOST_PLAN_BYTES = 8 << 20
_PLAN_BYTES = 2048
_DEFAULTS = TaskOptions()


class NativeJobContext(JobContext):
    """Runs tasks on the worker processes of a node on this machine.

    Args:
        cpus: CPUs that tasks share; by default what the container and the affinity mask give.
        memory: bytes of memory that tasks may ask for; by default what the container gives.
        store_memory: most bytes of shared memory for objects; beyond it they spill.
        spill_dir: folder that objects spill to.
        resources: further resources of the node, such as ``{"TPU": 4}``.
        namespace: where named actors are looked up; ``"default"`` if not given.
        address: a running node, as ``"auto"`` for the started node of this home, its home or its socket; by default a
            node is started that ends with this process. What the node has is then its own: no other setting but
            `namespace` goes with it.
        max_workers: most worker processes at once, blocked ones included.
        debug: tasks may stop at ``breakpoint()``.

    Raises:
        NodeDiedError: the node cannot be started or reached.
        SettingsError: settings of a node together with an address.
        VersionMismatchError: the node at `address` is of another release.
    """

    _ref_type: ClassVar[type[Any]] = _native.ObjectRef
    _current: ClassVar[NativeJobContext | None] = None
    _inherited: bool = False  # from the process that forked this one
    _pending: Mapping[str, Any] | None = None
    """The settings of a context that was not used yet."""
    _borrowed: bool = False
    """It uses the connection of the worker that this process is."""
    _terminal: Terminal | None = None
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
    ) -> None:
        self.namespace = check_actor_name(default_namespace() if namespace is None else namespace, "namespace")
        self._extra_env = {**namespace_env(self.namespace), **({DEBUG_VARIABLE: str(os.getpid())} if debug else {})}
        if address is not None:
            settings = {
                "cpus": cpus,
                "memory": memory,
                "store_memory": store_memory,
                "spill_dir": spill_dir,
                "resources": resources,
                "max_workers": max_workers,
            }
            refuse_settings(address, settings)
            client = attach(address, self._extra_env)
        else:
            check_settings(cpus, memory, store_memory, max_workers, spill_dir, resources)
            options = {
                "cpus": cpus,
                "memory_bytes": memory,
                "store_memory_bytes": store_memory,
                "spill_folder": None if spill_dir is None else os.fspath(spill_dir),
                "resources": dict(resources or {}),
                "max_workers": max_workers,
            }
            prestart = int(cpus or len(os.sched_getaffinity(0)))
            client = start_embedded(options, prestart, self._extra_env)
        try:
            self._set_up(client)
            offer_stacks()
            if debug:
                self._terminal = Terminal(client, self.session_folder)
        except BaseException:
            client.close()  # and with it a node that is there for nobody else
            raise

    def _set_up(self, client: Any) -> None:
        self._client = client
        self._devices = {}
        _contexts.add(self)
        note(self)
        self._functions = FunctionTable()
        self._plans: Recent[tuple[int, bool], tuple[TaskOptions, Any]] = Recent(_MOST_PLAN_BYTES, _size_of_plan)
        self._keys: dict[Hashable, WorkerKeyNumber] = {}
        self._cpp_keys: dict[str, tuple[tuple[int, int, int], WorkerKeyNumber]] = {}
        self._parallelism = max(1, int(client.total_resources().get("CPU", 1)))
        self._plain = self._plan(_DEFAULTS, False)

    @classmethod
    def later(cls, **settings: Any) -> NativeJobContext:
        """Return a context that starts its node when it is first used; it takes what the constructor takes.

        Without settings of a node, in a worker, it is then on the worker's node.
        """
        bound = signature(cls).bind(**settings).arguments
        context = cls.__new__(cls)
        context.namespace = check_actor_name(bound.get("namespace") or default_namespace(), "namespace")
        context._pending, context._closed = bound, True
        return context

    def _begin(self, settings: Mapping[str, Any]) -> None:
        """Become what the constructor makes of `settings`."""
        worker = NativeJobContext._current
        if worker is None or set(settings) - {"namespace"}:
            self.__init__(**settings)
        else:
            self._extra_env = namespace_env(self.namespace)
            self._borrowed = True
            self._set_up(worker._client)
        self._pending, self._closed = None, False

    def __getattr__(self, name: str) -> Any:
        # Reached for what is not set: a context that `later` returned has nothing of its node before its first use.
        if self._pending is None or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self._check_open()
        return getattr(self, name)

    @classmethod
    def current(cls) -> NativeJobContext | None:
        """Return the context of the worker process that this is, or None in any other process."""
        return cls._current

    @classmethod
    def of_client(cls, client: Any) -> NativeJobContext | None:
        """Return the context with that connection, the worker's own where others have borrowed it."""
        if cls._current is not None and cls._current._client is client:
            return cls._current
        return next((context for context in list(_contexts) if context._client is client), None)

    @classmethod
    def _adopt(cls, client: Any) -> None:
        """Make this process's worker connection its context."""
        context = cls.__new__(cls)
        context.namespace = default_namespace()
        context._set_up(client)
        cls._current = context

    def resource_ids(self) -> dict[str, list[int]]:
        """Return the indices of the devices that this worker is bound to; see `JobContext.resource_ids`."""
        worker = NativeJobContext._current if self._borrowed else None
        return {kind: list(indices) for kind, indices in (worker or self)._devices.items()}

    # ---- the hot path: what C++ finds wrong goes to the base class, which says so

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
        try:
            handle, generator = self._functions.handle(fn, name, 0)
        except HoldsRefs:
            return self._submit_as_argument(fn, args, kwargs, TaskOptions(name=name))
        except IsCpp:
            return self._submit_cpp(fn, args, kwargs, TaskOptions(name=name))
        plan = self._plan(_DEFAULTS, True) if generator else self._plain
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

    def __reduce__(self) -> Any:
        return arrive_natively, (self.session_name(), self.own_name())

    # ---- what the base class asks for

    def _submit(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], options: TaskOptions
    ) -> Any:
        if isinstance(fn, Frozen) and options.retry_exceptions is False:
            known = self._functions.frozen(fn, options.name, options.max_calls or 0)
            if known is not None:
                return _native.submit(self._client, known[0], self._plan(options, known[1]), args, kwargs or None)
        if type(fn) is CppFunction:
            return self._submit_cpp(fn, args, kwargs, options)
        if options.retry_exceptions is not False:
            fn = _retrying(fn, options.retry_exceptions)
        try:
            handle, generator = self._functions.handle(fn, options.name, options.max_calls or 0)
        except HoldsRefs:
            return self._submit_as_argument(fn, args, kwargs, options)
        return _native.submit(self._client, handle, self._plan(options, generator), args, kwargs or None)

    def _submit_cpp(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: TaskOptions) -> Any:
        if options.max_calls or isinstance(options.retry_exceptions, tuple):
            raise UnsupportedError(
                f"the C++ function {fn.name!r} cannot have max_calls, nor types of exceptions in retry_exceptions: "
                "it is retried after all of them or none"
            )
        plan = self._make_plan(options, self._cpp_key(fn.library), False)
        handle = cpp_function(fn.name, options.name, options.retry_exceptions is not False)
        return _native.submit(self._client, handle, plan, args, kwargs or None)

    def _cpp_key(self, library: str) -> WorkerKeyNumber:
        # Asked each time: the library may have been built anew, and its content is part of the key.
        stamp = os.stat(library)
        content = (stamp.st_mtime_ns, stamp.st_size, stamp.st_ino)
        known = self._cpp_keys.get(library)
        if known is not None and known[0] == content:
            return known[1]
        if len(self._cpp_keys) >= _MOST_KEYS:
            self._cpp_keys.clear()
        key = cpp_worker_key(library, self._extra_env)
        number = WorkerKeyNumber.of(self._client, self._client.define_key(*key))
        self._cpp_keys[library] = (content, number)
        return number

    def _submit_as_argument(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], options: TaskOptions
    ) -> Any:
        name = options.name or getattr(fn, "__qualname__", type(fn).__qualname__).replace("<locals>.", "")
        called: Callable[..., Any] = call
        generator = isgeneratorfunction(fn)
        if isinstance(fn, Frozen):
            fn, generator = fn.fn, fn.is_generator
        if isinstance(fn, Retrying):
            called, fn = Retrying(call, fn.allowed), fn.fn
        handle, _ = self._functions.handle(called, name, options.max_calls or 0)
        plan = self._plan(options, generator)
        return _native.submit(self._client, handle, plan, (fn, *args), kwargs or None)

    def _put(self, value: Any) -> Any:
        return _native.put(self._client, value)

    def _get(self, ref: Any, timeout: float | None) -> Any:
        return _native.get(self._client, ref, lend_terminal(self._client, [ref], timeout))

    def _get_many(self, refs: Sequence[Any], timeout: float | None) -> list[Any]:
        return _native.get_many(self._client, list(refs), lend_terminal(self._client, refs, timeout))

    def _wait(self, refs: list[Any], num_returns: int, timeout: float | None) -> tuple[list[Any], list[Any]]:
        left = timeout if self._terminal is None else self._terminal.lend(refs, num_returns, timeout)
        return _native.wait(self._client, list(refs), num_returns, left)

    def _cancel(self, ref: Any, force: bool) -> None:
        if force and ref._is_call():
            raise ValueError(
                "cancel: force would end the actor of this call and all its calls; leave force out, or kill the actor"
            )
        _native.cancel(self._client, ref, force)

    def _is_waiting(self, ref: Any, cancel: bool = False) -> bool:
        return _native.is_waiting(self._client, ref, cancel)

    def _watch(self) -> Watch:
        return QueueWatch(self._client)

    def _owns(self, ref: Any) -> bool:
        return ref._client is self._client

    # ---- actors

    def _create_actor(
        self,
        cls: type[Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        options: ActorOptions,
        methods: Mapping[str, MethodKind],
    ) -> ActorLink:
        from fray.backend.native.actors import ActorDescription, AnyMethods, NativeActorLink
        from fray.job.actor_methods import runs_on_loop

        is_cpp = issubclass(cls, CppActor)
        if is_cpp:
            methods = AnyMethods()
        namespace = options.namespace or self.namespace
        on_loop = runs_on_loop(methods)
        concurrency = options.max_concurrency or (1000 if on_loop else 1)
        description = ActorDescription(
            cls.__qualname__.replace("<locals>.", ""),
            options.name,
            namespace,
            methods,
            options.max_task_retries,
            options.max_pending_calls,
            concurrency,
            is_cpp,
            dict(options.annotations),
        )
        packed = description.pack()
        if issubclass(cls, CppActor):
            handle, key = cpp_function(cls.cpp_name), self._cpp_key(cls.cpp_library)
        else:
            handle, _ = self._functions.handle(cls, None, 0)
            key = self._worker_key(options.runtime_env)
        plan = _native.make_plan({**options.shape(), "key": key}, 0, 1, False, 0.0, 0)
        made = _native.create_actor(
            self._client,
            handle,
            plan,
            args,
            kwargs or None,
            namespace,
            description.class_name,
            options.name,
            options.get_if_exists,
            options.lifetime is Lifetime.DETACHED,
            options.max_restarts,
            on_loop,
            packed,
            packed,
        )
        if made is None:
            from fray.job.actor_request import name_taken

            raise name_taken(options.name or "", namespace)
        ref, existing = made
        return NativeActorLink(ref, ActorDescription.unpack(existing) if existing else description)

    def _find_actor(self, name: str, namespace: str) -> ActorLink | None:
        from fray.backend.native.actors import ActorDescription, NativeActorLink

        found = _native.find_actor(self._client, namespace, name)
        if found is None:
            return None
        ref, description = found
        return NativeActorLink(ref, ActorDescription.unpack(description))

    def _named_actors(self) -> list[tuple[str, str]]:
        return _native.list_actors(self._client)

    def _kill_actor(self, link: Any, no_restart: bool) -> None:
        link.kill(no_restart)

    def _owns_actor(self, link: Any) -> bool:
        from fray.backend.native.actors import NativeActorLink

        return isinstance(link, NativeActorLink) and link.belongs_to(self._client)

    # ---- forks

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed and not self._inherited and self._pending is None

    def close(self) -> None:
        """End the context; see `JobContext.close`. In a forked child that has not used it: forget it."""
        self._inherited = False
        self._pending = None
        super().close()

    def _leave_to_parent(self) -> None:
        """Begin anew in a child of fork(): the connection is the parent's, and the first use makes another."""
        if not self._closed:
            self._closed = self._inherited = True

    def _not_open(self) -> None:
        if self._pending is not None:
            with _connecting:
                settings = self._pending  # None where another thread was faster
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
                self._set_up(attach(self._client.session_folder(), self._extra_env))
                self._closed = self._inherited = False

    def _close(self) -> None:
        if self._borrowed:
            return
        self._client.drain_output()
        self._client.close()
        withdraw_stacks()

    def _empty(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        with needs("numpy", "numpy", "ctx.empty"):
            import numpy

        kind = numpy.dtype(dtype)
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        bytes_needed = int(numpy.prod(sizes, dtype=numpy.int64)) * kind.itemsize
        if kind.hasobject or bytes_needed == 0:
            return numpy.empty(shape, dtype)
        return make_array(self._client, sizes, kind, bytes_needed)

    def _timeline_events(self) -> Iterator[dict[str, Any]]:
        if self._inherited or self._pending is not None:
            return  # what ran, ran for the parent; or nothing did
        pids: set[int] = set()
        failures = {task: text for _, task, text in self._failures()}
        for name, task, started_ns, duration_ns, pid, status, *costs in self._client.timeline():
            if pid not in pids:
                pids.add(pid)
                yield {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": f"worker {pid}"}}
            yield {
                "ph": "X",
                "name": name,
                "cat": "task",
                "ts": started_ns / 1000,
                "dur": duration_ns / 1000,
                "pid": pid,
                "tid": pid,
                "args": {"task": task, "status": _STATUSES[status], **_costs(*costs)}
                | ({"error": failures[task]} if task in failures else {}),
            }

    def _failures(self) -> Iterator[tuple[str, int, str]]:
        if self._pending is not None:
            return
        for name, task, packed, data in self._client.failures():
            yield name, task, failure_text(data) if packed else data.decode(errors="replace")

    def _status(self) -> dict[str, Any]:
        self._check_open()
        return json.loads(self._client.status())

    def _drain_output(self) -> None:
        if not self._closed:
            self._client.drain_output()

    # ---- options

    def _plan(self, options: TaskOptions, generator: bool) -> Any:
        key = (id(options), generator)
        known = self._plans[key]
        if known is not None:
            return known[1]
        plan = self._make_plan(options, self._worker_key(options.runtime_env), generator)
        self._plans.keep(key, (options, plan))  # the options stay alive, so their id stays theirs
        return plan

    def _make_plan(self, options: TaskOptions, key: int, generator: bool) -> Any:
        return _native.make_plan(
            {**options.shape(), "key": key},
            options.max_retries,
            options.num_returns,
            generator,
            options.timeout or 0.0,
            _ITEM_BUDGET_BYTES,
        )

    def _worker_key(self, runtime_env: RuntimeEnv | None) -> int:
        if runtime_env is None:
            return 0
        known = _key_of(runtime_env)
        number = self._keys.get(known)
        if number is None:
            if len(self._keys) >= _MOST_KEYS:
                self._keys.clear()
                self._plans.clear()
            number = self._keys[known] = self._define_key(runtime_env)
        return number

    def _define_key(self, runtime_env: RuntimeEnv) -> WorkerKeyNumber:
        from fray.backend.native.environments import describe

        description = describe(runtime_env)
        if not description and not runtime_env.env:
            return WorkerKeyNumber(0)
        key = worker_key({**self._extra_env, **runtime_env.env})
        return WorkerKeyNumber.of(self._client, self._client.define_key(*key, description))


class WorkerKeyNumber(int):
    """The number of a runtime env. Plans hold it: when nothing does any more, the engine forgets what it stood for."""

    _client: Any = None

    @classmethod
    def of(cls, client: Any, number: int) -> WorkerKeyNumber:
        """Return the number that `client` has just given out."""
        made = cls(number)
        made._client = client
        return made

    def __del__(self) -> None:
        if self._client is not None:
            self._client.forget_key(int(self))


def _retrying(fn: Callable[..., Any], allowed: bool | tuple[type[BaseException], ...]) -> Callable[..., Any]:
    if isinstance(fn, Frozen):
        return fn.variant(allowed, partial(Retrying, allowed=allowed))
    return Retrying(fn, allowed)


def _size_of_plan(key: Any, known: tuple[TaskOptions, Any]) -> int:
    del key
    return _PLAN_BYTES + sys.getsizeof(known[0].name)


def _key_of(env: RuntimeEnv) -> Hashable:
    lists = (env.package_requirements, env.conda)
    return (*(tuple(lines) for lines in lists), env.container_image, env.working_dir, tuple(sorted(env.env.items())))


def _costs(cpu_ns: int | None, peak_memory: int | None, bytes_in: int, bytes_out: int) -> dict[str, Any]:
    costs: dict[str, Any] = {"bytes_in": bytes_in, "bytes_out": bytes_out}
    if cpu_ns is not None:
        costs["cpu_ms"] = cpu_ns / 1e6
    if peak_memory is not None:
        costs["peak_memory_bytes"] = peak_memory
    return costs


_MOST_KEYS = 64
"""So many runtime envs that are used again and again are defined once; a program may use any number of them."""

_STATUSES = ("succeeded", "failed", "cancelled", "timed out", "retried")


_contexts: weakref.WeakSet[NativeJobContext] = weakref.WeakSet()
_connecting = threading.Lock()
_parents_clients: list[Any] = []
"""Kept for ever: another thread may have held their locks at the time of the fork."""


def _after_fork_in_child() -> None:
    global _connecting
    _connecting = threading.Lock()
    for context in list(_contexts):
        context._leave_to_parent()  # pyright: ignore[reportPrivateUsage]


os.register_at_fork(after_in_child=_after_fork_in_child)


@atexit.register
def _drain_all() -> None:
    # Contexts are not closed here: threads that still wait would be woken with an error, at a time when the interpreter
    # is going. The node sees that this process has ended.
    for context in list(_contexts):
        if context is not NativeJobContext.current():
            context._drain_output()  # pyright: ignore[reportPrivateUsage]
