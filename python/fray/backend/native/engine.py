"""`NativeEngine`: tasks on the worker processes of one node, over one connection to it."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from fray import _native
from fray._extras import needs
from fray._failures import failure_text
from fray._functions import is_generator_function, is_importable, name_of
from fray._large_parts import PartsOfClient
from fray._recent import Recent
from fray.backend.native.detours import HoldsRefs, is_cpp_class, is_cpp_function, is_own_partial
from fray.backend.native.functions import FunctionTable, call, call_partial, cpp_function
from fray.backend.native.launch import cpp_worker_key, worker_key
from fray.backend.native.needs import Needs
from fray.backend.native.retrying import Retrying
from fray.backend.native.rooms import make_array
from fray.backend.native.terminal import Terminal, lend_terminal
from fray.errors import ContextClosedError, InfeasibleError, SerializationError, UnsupportedError
from fray.job.engine import Engine
from fray.job.frozen import Frozen, most_items_of
from fray.job.task_options import TaskOptions
from fray.job.watch import Watch

if TYPE_CHECKING:
    from fray.job.actor_spec import ActorSpec
    from fray.job.actors import ActorLink
    from fray.job.runtime_env import RuntimeEnv

__all__ = ["NativeEngine"]

_REF: Any = _native.ObjectRef
_SMALL = (int, float, bool, type(None))
_ITEM_BUDGET_BYTES = 16 << 20
_MOST_PLAN_BYTES = 8 << 20
_PLAN_BYTES = 2048


class NativeEngine(Engine):
    """The engine over one connection. A context that connects anew, as in a child of fork(), gets a new engine.

    Args:
        client: the connection.
        namespace: the namespace of actors that are created without one.
        extra_env: variables of every worker that is started for this engine.
        terminal: the terminal for tasks that stop at ``breakpoint()``.
        needs: collects the packages of the calls for the node's fork server; None where that does not read them.
    """

    defaults = TaskOptions()
    """The options of tasks that are submitted without any."""

    def __init__(
        self,
        client: _native.Client,
        namespace: str,
        extra_env: Mapping[str, str],
        terminal: Terminal | None = None,
        needs: Needs | None = None,
    ) -> None:
        self.client = client
        self.functions = FunctionTable(partial(_native.store_function, client), needs)
        self._parts = PartsOfClient(client)
        self._needs = needs
        if needs is not None:
            _native.watch_pickles(needs.see_pickle)
        self._namespace = namespace
        self._extra_env = extra_env
        self._terminal = terminal
        self._closed = False
        self._plans: Recent[tuple[int, bool, int], tuple[TaskOptions, Any]] = Recent(_MOST_PLAN_BYTES, _size_of_plan)
        self._keys: dict[Hashable, WorkerKeyNumber] = {}
        self._cpp_keys: dict[str, tuple[tuple[int, int, int], WorkerKeyNumber]] = {}
        self._parallelism = max(1, int(client.total_resources().get("CPU", 1)))
        self.plain = self.plan(self.defaults, False)
        """The plan of a task with the default options that is no generator."""

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def parallelism(self) -> int:
        return self._parallelism

    def close(self) -> None:
        self._closed = True
        try:
            self.drain_output()
        finally:
            self._parts.close()
            self.client.close()
            if self._needs is not None:
                self._needs.close()

    def drain_output(self) -> None:
        """Write what tasks have printed so far."""
        self.client.drain_output()

    @contextmanager
    def blocking(self) -> Generator[None, None, None]:
        try:
            self.client.block()
            yield
        finally:
            self.client.unblock()

    # ---- tasks and objects

    def submit(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], options: TaskOptions
    ) -> Any:
        if isinstance(fn, Frozen) and options.retry_exceptions is False:
            known = self.functions.frozen(fn, options.name, options.max_calls or 0)
            if known is not None:
                plan = self.plan(options, known[1], fn.most_items)
                return _native.submit(self.client, known[0], plan, args, kwargs or None)
        if is_cpp_function(fn):
            return self.submit_cpp(fn, args, kwargs, options)
        if is_own_partial(fn):
            fn, args, kwargs = fn.func, (*fn.args, *args), {**fn.keywords, **kwargs}
        if options.retry_exceptions is not False:
            fn = _retrying(fn, options.retry_exceptions)
        try:
            handle, generator = self.functions.handle(fn, options.name, options.max_calls or 0)
        except HoldsRefs:
            return self.submit_as_argument(fn, args, kwargs, options)
        plan = self.plan(options, generator, most_items_of(fn))
        return _native.submit(self.client, handle, plan, args, kwargs or None)

    def caller(
        self, fn: Callable[..., Any], options: TaskOptions, carrier: Callable[..., Any] | None = None
    ) -> Callable[[tuple[Any, ...]], Any]:
        submit = super().caller(fn, options, carrier)
        if options.retry_exceptions is not False:
            return submit
        name = options.name or name_of(carrier or fn).replace("<locals>.", "")
        keywords: dict[str, Any] | None = None
        try:
            if is_own_partial(fn) and (carrier is None or is_importable(carrier)):
                found, keywords = self._partial_for_calls(fn, carrier, name, options.max_calls or 0)
            else:
                found = self.functions.for_calls(fn, carrier, name, options.max_calls or 0)
        except SerializationError:  # the arguments say so
            found = None
        if found is None:
            return submit
        client, (handle, first) = self.client, found
        plan = self.plan(options, carrier is None and is_generator_function(fn))

        def start(args: tuple[Any, ...]) -> Any:
            with suppress(InfeasibleError):  # it is too large to travel like that
                return _native.submit(client, handle, plan, first + args, keywords)
            return submit(args)

        return start

    def _partial_for_calls(
        self, fn: partial[Any], carrier: Callable[..., Any] | None, name: str, max_calls: int
    ) -> tuple[tuple[Any, tuple[Any, ...]] | None, dict[str, Any] | None]:
        """Return what `FunctionTable.for_calls` does, and keywords, with what is bound to `fn` put into objects."""
        found = self.functions.for_calls(fn.func, None if carrier is None else call_partial, name, max_calls)
        if found is None:
            return None, None
        handle, first = found
        if carrier is not None:
            return (handle, (*first, self.put((carrier, fn.args, fn.keywords)))), None
        keywords = {key: self._held(value) for key, value in fn.keywords.items()}
        return (handle, (*first, *map(self._held, fn.args))), keywords

    def _held(self, value: Any) -> Any:
        """Return an argument of many calls: a small value, or a ref to it."""
        return value if type(value) in _SMALL else self.put(value)

    def submit_cpp(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: TaskOptions) -> Any:
        if options.max_calls or isinstance(options.retry_exceptions, tuple):
            raise UnsupportedError(
                f"the C++ function {fn.name!r} cannot have max_calls, nor types of exceptions in retry_exceptions: "
                "it is retried after all of them or none"
            )
        plan = self._make_plan(options, self._cpp_key(fn.library), False)
        handle = cpp_function(fn.name, options.name, options.retry_exceptions is not False)
        return _native.submit(self.client, handle, plan, args, kwargs or None)

    def _cpp_key(self, library: str) -> WorkerKeyNumber:
        # The library may have been built anew since the last call, and its content is part of the worker key.
        stamp = os.stat(library)
        content = (stamp.st_mtime_ns, stamp.st_size, stamp.st_ino)
        known = self._cpp_keys.get(library)
        if known is not None and known[0] == content:
            return known[1]
        if len(self._cpp_keys) >= _MOST_KEYS:
            self._cpp_keys.clear()
        key = cpp_worker_key(library, self._extra_env)
        number = WorkerKeyNumber.of(self.client, self.client.define_key(*key, ""))
        self._cpp_keys[library] = (content, number)
        return number

    def submit_as_argument(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], options: TaskOptions
    ) -> Any:
        name = options.name or getattr(fn, "__qualname__", type(fn).__qualname__).replace("<locals>.", "")
        called: Callable[..., Any] = call
        generator, most_items = is_generator_function(fn), most_items_of(fn)
        if isinstance(fn, Frozen):
            fn, generator = fn.fn, fn.is_generator
        if isinstance(fn, Retrying):
            called, fn = Retrying(call, fn.allowed), fn.fn
        handle, _ = self.functions.handle(called, name, options.max_calls or 0)
        plan = self.plan(options, generator, most_items)
        return _native.submit(self.client, handle, plan, (fn, *args), kwargs or None)

    def put(self, value: Any) -> Any:
        return _native.put(self.client, value)

    def get(self, ref: Any, timeout: float | None) -> Any:
        return _native.get(self.client, ref, lend_terminal(self.client, [ref], timeout))

    def get_many(self, refs: Sequence[Any], timeout: float | None) -> list[Any]:
        return _native.get_many(self.client, list(refs), lend_terminal(self.client, refs, timeout))

    def wait(self, refs: list[Any], num_returns: int, timeout: float | None) -> tuple[list[Any], list[Any]]:
        left = timeout if self._terminal is None else self._terminal.lend(refs, num_returns, timeout)
        return _native.wait(self.client, list(refs), num_returns, left)

    def cancel(self, ref: Any, force: bool, recursive: bool = False) -> None:
        """Cancel the task of `ref`; with `recursive`, also the tasks that it has submitted and that have not ended."""
        if force and ref._is_call():
            raise ValueError(
                "cancel: force would end the actor of this call and all its calls; leave force out, or kill the actor"
            )
        _native.cancel(self.client, ref, bool(force), bool(recursive))

    def is_waiting(self, ref: Any, cancel: bool = False) -> bool:
        return _native.is_waiting(self.client, ref, cancel)

    def set_aside(
        self, name: str, resources: Mapping[str, float], offered: Mapping[str, float], about: str, detached: bool
    ) -> None:
        """Begin a reservation: what is offered, by names with an ``@``, is there for tasks once the resources are.

        Args:
            name: of the reservation, never given twice; `status` lists it as long as it lasts.
            resources: that are taken from the node together.
            offered: what tasks and actors ask for that run inside of it.
            about: a text to know it by.
            detached: whether it outlives this program.
        """
        _native.set_aside(self.client, name, dict(resources), dict(offered), about, detached)

    def put_back(self, name: str) -> None:
        """End a reservation, and with it what runs inside of it; what waits for it raises ReservationEndedError."""
        _native.put_back(self.client, name)

    def watch(self) -> Watch:
        return QueueWatch(self.client)

    def publish(self, ref: Any) -> str:
        """Return an id by which `find_object` finds the object, as long as this process holds a ref to it."""
        _native.share(ref)
        return ref._id()

    def find_object(self, object_id: str) -> Any:
        """Return a ref to the object with an id that `publish` returned, None where that was in another session.

        Where nobody holds the object any more, its value is an ObjectLostError.
        """
        epoch, owner, sequence = object_id.split(".")
        return _native.find_object(self.client, int(epoch, 16), int(owner), int(sequence))

    def owns(self, ref: Any) -> bool:
        return isinstance(ref, _REF) and ref._client is self.client

    # ---- actors

    def create_actor(self, spec: ActorSpec) -> ActorLink:
        from fray.backend.native.actors import ActorDescription, AnyMethods, NativeActorLink
        from fray.job.actor_methods import runs_on_loop

        cls, args, kwargs, options, methods = spec
        is_cpp = is_cpp_class(cls)
        if is_cpp:
            methods = AnyMethods()
        namespace = options.namespace or self._namespace
        on_loop = runs_on_loop(methods)
        concurrency = options.max_concurrency or (1000 if on_loop else 1)
        description = ActorDescription(
            spec.class_name,
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
        if is_cpp:
            handle, key = cpp_function(cls.cpp_name), self._cpp_key(cls.cpp_library)
        else:
            try:
                handle, _ = self.functions.handle(cls, None, 0)
            except HoldsRefs:
                handle, _ = self.functions.handle(call, None, 0)
                args = (cls, *args)
            key = self.worker_key(options.runtime_env)
        plan = _native.make_plan({**options.shape(), "key": key}, 0, 1, False, 0.0, 0, 0)
        made = _native.create_actor(
            self.client,
            handle,
            plan,
            args,
            kwargs or None,
            namespace,
            description.class_name,
            options.name,
            options.get_if_exists,
            options.is_detached(),
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

    def find_actor(self, name: str, namespace: str) -> ActorLink | None:
        from fray.backend.native.actors import ActorDescription, NativeActorLink

        found = _native.find_actor(self.client, namespace, name)
        return None if found is None else NativeActorLink(found[0], ActorDescription.unpack(found[1]))

    def actor_by_id(self, actor_id: str) -> ActorLink | None:
        """Return a link to the actor with this `ActorLink.actor_id`, None where the node has no such actor any more."""
        from fray.backend.native.actors import ActorDescription, NativeActorLink

        epoch, owner, sequence = actor_id.split(".")
        found = _native.find_actor_by_id(self.client, int(epoch, 16), int(owner), int(sequence))
        return None if found is None else NativeActorLink(found[0], ActorDescription.unpack(found[1]))

    def named_actors(self) -> list[tuple[str, str]]:
        return _native.list_actors(self.client)

    def kill_actor(self, link: Any, no_restart: bool) -> None:
        link.kill(no_restart)

    def owns_actor(self, link: Any) -> bool:
        from fray.backend.native.actors import NativeActorLink

        return isinstance(link, NativeActorLink) and link.belongs_to(self.client)

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        with needs("numpy", "numpy", "ctx.empty"):
            import numpy

        kind = numpy.dtype(dtype)
        sizes = (shape,) if isinstance(shape, int) else shape
        bytes_needed = math.prod(sizes) * kind.itemsize
        if kind.hasobject or bytes_needed == 0 or bytes_needed > sys.maxsize:  # numpy refuses so large an array
            return numpy.empty(shape, dtype)
        return make_array(self.client, sizes, kind, bytes_needed)

    def timeline_events(self) -> Iterator[dict[str, Any]]:
        pids: set[int] = set()
        failures = {task: text for _, task, text in self.failures()}
        for name, task, started_ns, duration_ns, pid, status, cpu, peak, read, written in self.client.timeline():
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
                "args": {"task": task, "status": _STATUSES[status], **_costs(cpu, peak, read, written)}
                | ({"error": failures[task]} if task in failures else {}),
            }

    def failures(self) -> Iterator[tuple[str, int, str]]:
        for name, task, packed, data in self.client.failures():
            yield name, task, failure_text(data) if packed else data.decode(errors="replace")

    def status(self) -> dict[str, Any]:
        import json

        return json.loads(self.client.status())

    # ---- options

    def plan(self, options: TaskOptions, generator: bool, most_items: int = 0) -> _native.Plan:
        key = (id(options), generator, most_items)
        known = self._plans[key]
        if known is not None:
            return known[1]
        plan = self._make_plan(options, self.worker_key(options.runtime_env), generator, most_items)
        self._plans.keep(key, (options, plan))  # holds the options, so that no other object gets their id
        return plan

    def _make_plan(self, options: TaskOptions, key: int, generator: bool, most_items: int = 0) -> _native.Plan:
        return _native.make_plan(
            {**options.shape(), "key": key},
            options.max_retries,
            options.num_returns,
            generator,
            options.timeout or 0.0,
            _ITEM_BUDGET_BYTES,
            most_items,
        )

    def worker_key(self, runtime_env: RuntimeEnv | None) -> int:
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
        return WorkerKeyNumber.of(self.client, self.client.define_key(*key, description))


class WorkerKeyNumber(int):
    """The number of a runtime env. Plans hold it; when the last plan is gone, the client forgets the runtime env."""

    _client: _native.Client | None = None

    @classmethod
    def of(cls, client: _native.Client, number: int) -> WorkerKeyNumber:
        """Return `number`, which `client` has just assigned, as an object that gives it back when it is dropped."""
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
"""How many runtime envs the engine remembers; a program that uses more of them defines some again."""

_STATUSES = ("succeeded", "failed", "cancelled", "timed out", "retried")


class QueueWatch:
    """The engine's completion queue as a `Watch`.

    The thread that calls `serve` reads the sockets of the workers itself, so no other thread has to pass answers on.
    """

    def __init__(self, client: _native.Client) -> None:
        self._client = client
        self._queue = _native.make_queue(client)
        self.add: Callable[[Any, Callable[[], object]], None] = self._queue.add

    def serve(self) -> None:
        self._queue.wait(None)
        self._queue.run()

    def wake(self) -> None:
        # A closed context has woken its queues already.
        with suppress(ContextClosedError):
            self._queue.add(_native.put(self._client, None), _nothing)


def _nothing() -> None:
    pass
