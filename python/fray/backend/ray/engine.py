"""`RayEngine`: tasks, actors and objects on a Ray cluster."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, cast

from fray import _traces, errors
from fray._checks import check_actor_name
from fray._settings import default_namespace
from fray.backend.ray.actor_life import named_actors
from fray.backend.ray.actor_table import ActorTable
from fray.backend.ray.actors import RayActorLink
from fray.backend.ray.arguments import Arguments, has_items
from fray.backend.ray.arrival import reading
from fray.backend.ray.cancels import Cancels
from fray.backend.ray.capacity import Capacity
from fray.backend.ray.connection import Connection, chosen_namespace, connect, living_nodes
from fray.backend.ray.failures import actor_died, converted
from fray.backend.ray.functions import FunctionTable, can_pickle
from fray.backend.ray.library import global_worker, ray, theirs
from fray.backend.ray.own_calls import check_can_come, is_serial_actor
from fray.backend.ray.refs import RayRef, packed
from fray.backend.ray.stream import RayStream
from fray.backend.ray.waiting import wait_for
from fray.backend.ray.worker import TRACE_KEYWORD
from fray.job.actor_spec import ActorSpec
from fray.job.actors import ActorLink
from fray.job.checks import context_closed
from fray.job.context import JobContext
from fray.job.engine import Engine
from fray.job.surroundings import is_ray_worker
from fray.types import TaskOptions

__all__ = ["RayEngine"]

_MOST_TASKS = 1024
_NOT_CONNECTED: Any = object()


class RayEngine(Engine):
    """The engine of one context on Ray. It connects when it is first used, and again after ``ray.init()``.

    Args:
        context: the context that the engine belongs to; it is the current one in the code of the engine's tasks.
        address: of the cluster, as ``ray.init`` takes it.
        namespace: where named actors are looked up; None for Ray's namespace, or the default.
        autoscaling: whether tasks wait for resources that no node has now.
        connected: called after each connection, the first one included.
    """

    def __init__(
        self,
        context: JobContext,
        address: str | None,
        namespace: str | None,
        autoscaling: bool,
        connected: Callable[[], None],
    ) -> None:
        if is_ray_worker():
            _traces.only_children()
        _traces.switch_on()
        self.context = context
        self._asked = (address, namespace, autoscaling)
        self._connected = connected
        self.namespace = check_actor_name(namespace or default_namespace(), "namespace")
        self._is_closed = False
        self._session: Any = _NOT_CONNECTED
        self._owns_ray = False
        self._connecting = threading.Lock()
        self.arguments = Arguments(self.owns, self.owns_actor, type(context).__name__)

    # ---- the connection

    def _connect(self) -> None:
        address, namespace, autoscaling = self._asked
        is_first = self._session is _NOT_CONNECTED
        self._owns_ray = connect(address, namespace)
        self.namespace = check_actor_name(namespace or chosen_namespace() or default_namespace(), "namespace")
        self._capacity = Capacity(living_nodes, autoscaling)
        self._functions = FunctionTable(self.namespace, self._capacity)
        self._tasks: list[weakref.ref[RayRef[Any]]] = []
        self._most_tasks = _MOST_TASKS
        self._actors = ActorTable(self)
        self._cancels = Cancels(self._actors)
        self._has_old_refs = not is_first
        self._connection = Connection(self, global_worker.node)
        self._session = global_worker.node
        self._connected()

    def connect(self) -> None:
        """Connect to the Ray of this process, or start one; no effect on a connected engine."""
        with self._connecting:
            if global_worker.node is not self._session:
                self._connect()

    @property
    def closed(self) -> bool:
        return self._is_closed or (self._session is not _NOT_CONNECTED and not global_worker.connected)

    def connection(self) -> Connection:
        """Return what refs and handles that are made now belong to."""
        self.check_usable()
        return self._connection

    def session_name(self) -> str:
        """Return the name of Ray's session."""
        return f"ray {getattr(self._session, 'session_name', '')}"

    def is_current(self) -> bool:
        """Return whether the Ray of this process is the one that the engine is connected to."""
        return global_worker.node is self._session

    def is_plain(self) -> bool:
        """Return whether refs need no check before Ray is asked for their values."""
        return not (self._is_closed or self._has_old_refs or self._cancels.has_dropped or is_serial_actor())

    def check_usable(self) -> None:
        """Connect if necessary; raise ContextClosedError where the context was closed, or Ray was shut down."""
        if self._is_closed:
            raise context_closed(type(self.context).__name__)
        if global_worker.node is self._session:
            return
        if self._session is not _NOT_CONNECTED and not global_worker.connected:
            raise errors.ContextClosedError("Ray was shut down; call ray.init(), with which this context goes on")
        self.connect()

    # ---- tasks

    def submit(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], options: TaskOptions
    ) -> Any:
        if self._is_closed or global_worker.node is not self._session:
            self.check_usable()
        if type(fn) is _REMOTE_FUNCTION:
            fn = cast("Any", fn)._function
        submitter = self._functions.submitter(fn, options)
        if _traces.recorder() is not None:
            trace = _traces.sent(submitter.name, "submit")
            kwargs = kwargs if trace is None else {**kwargs, TRACE_KEYWORD: trace}
        if args or kwargs:
            args, kwargs = self.arguments.sent(args, kwargs, "create_task")
            if has_items(args, kwargs):
                submitter = self._functions.as_argument(fn, options)
        try:
            answer = (
                submitter.remote(fn, *args, **kwargs) if submitter.as_argument else submitter.remote(*args, **kwargs)
            )
        except Exception as error:
            if submitter.as_argument:
                args = (fn, *args)
            raise self.submission_error(error, args, kwargs, f"a task of {getattr(fn, '__qualname__', fn)}") from None
        if type(answer) is not _RAW_REF:
            return self.wrapped(answer)
        ref = _new_ref(answer, self._connection)
        self._tasks.append(weakref.ref(ref))
        if len(self._tasks) > self._most_tasks:
            self._tasks = [known for known in self._tasks if known() is not None]
            self._most_tasks = max(_MOST_TASKS, 2 * len(self._tasks))
        return ref

    def wrapped(self, answer: Any) -> Any:
        """Return Fray's refs for what Ray's submission returned."""
        if type(answer) is _RAW_REF:
            return _new_ref(answer, self._connection)
        if isinstance(answer, list):
            return [_new_ref(raw, self._connection) for raw in cast("list[Any]", answer)]
        return _new_stream(answer, self._connection)

    def submission_error(
        self, error: Exception, args: Sequence[Any], kwargs: Mapping[str, Any], what: str
    ) -> Exception:
        """Return the error to raise where Ray refuses a task or call; it names the argument at fault."""
        if isinstance(error, theirs.RayError):
            return self.converted(error)
        for position, value in [*enumerate(args), *kwargs.items()]:
            if not isinstance(value, _RAW_REF) and not can_pickle(value):
                from fray._unpicklable import serialization_error

                which = f"argument {position}" if isinstance(position, int) else f"argument {position!r}"
                return serialization_error(f"{which} of {what}", value, error, can_pickle)
        return error

    # ---- objects

    def put(self, value: Any) -> Any:
        self.check_usable()
        try:
            return _new_ref(ray.put(packed(value)), self._connection)
        except theirs.RayError as error:
            raise self.converted(error) from None
        except Exception as error:
            if can_pickle(value):
                raise
            from fray._unpicklable import serialization_error

            raise serialization_error("the value to put", value, error, can_pickle) from None

    def get(self, ref: Any, timeout: float | None) -> Any:
        self._cancels.check_dropped(ref)
        check_can_come(ref, timeout)
        if type(ref) is RayStream:
            return self.fetch(ref.items(), timeout)
        return self.fetch(ref._raw, timeout)

    def get_many(self, refs: Sequence[Any], timeout: float | None) -> list[Any]:
        for ref in refs:
            self._cancels.check_dropped(ref)
            check_can_come(ref, timeout)
        if any(type(ref) is RayStream for ref in refs):
            deadline = None if timeout is None else time.monotonic() + timeout
            return [self.get(ref, None if deadline is None else max(0.0, deadline - time.monotonic())) for ref in refs]
        return self.fetch([ref._raw for ref in refs], timeout)

    def fetch(self, raw: Any, timeout: float | None = None) -> Any:
        """Return the value of Ray's ref, or the values of a list of them."""
        self.check_usable()  # else Ray would start itself again
        reading.context = self.context
        try:
            count = len(cast("list[Any]", raw)) if isinstance(raw, list) else 1
            with _traces.waiting("get", f"{count} result{'s' if count > 1 else ''}"):
                return ray.get(raw, timeout=timeout)
        except theirs.RayError as error:
            failure = self._failure(raw, error, timeout)
        finally:
            reading.context = None
        raise failure

    def _failure(self, raw: Any, error: Exception, timeout: float | None) -> Exception:
        if isinstance(error, theirs.WorkerCrashedError) and self._cancels.was_forced(raw):
            return errors.TaskCancelledError("the task was cancelled, its worker ended")
        return self.converted(error, timeout)

    def wait(self, refs: list[Any], num_returns: int, timeout: float | None) -> tuple[list[Any], list[Any]]:
        self.check_usable()
        try:
            return wait_for(refs, num_returns, timeout, self._is_known_ready)
        except theirs.RayError as error:
            raise self.converted(error) from None

    def _is_known_ready(self, ref: Any) -> bool:
        return ref.is_ready() if type(ref) is RayStream else self._cancels.is_dropped(ref)

    def cancel(self, ref: Any, force: bool) -> None:
        self.check_usable()
        self._cancels.cancel(ref, force)

    # ---- what refs call

    def check_holds(self, ref: Any) -> None:
        """Raise where the Ray that held the value of `ref`, which is this context's, was shut down."""
        self.check_usable()
        if ref.connection.node is not self._session:
            raise errors.ObjectLostError(f"{ref!r} is lost: the Ray that held its value was shut down")

    def check_lives(self, link: RayActorLink) -> None:
        """Raise where the Ray that had the actor of `link`, which is this context's, was shut down."""
        if global_worker.node is not link.connection.node or self._is_closed:
            self.check_usable()
        if link.connection.node is not self._session:
            raise errors.ActorDiedError(
                f"the actor {link.class_name} has ended: the Ray that it lived on was shut down",
                class_name=link.class_name,
                actor_name=link.name,
            )

    def wait_in_loop(self, ref: RayRef[Any]) -> Generator[Any, None, Any]:
        """Suspend the running coroutine until Ray has the value, and return it."""
        self.check_holds(ref)
        self._cancels.check_dropped(ref)
        raw = ref.ray_ref
        try:
            with _traces.waiting("get", "1 result"):
                return cast("Any", (yield from raw.__await__()))
        except theirs.RayError as error:
            failure = self._failure(raw, error, None)
        raise failure

    # ---- actors

    def create_actor(self, spec: ActorSpec) -> ActorLink:
        self.check_usable()
        return self._actors.create(spec)

    def find_actor(self, name: str, namespace: str) -> ActorLink | None:
        self.check_usable()
        try:
            return self._actors.find(name, namespace)
        except theirs.RayError as error:
            raise self.converted(error) from None

    def named_actors(self) -> list[tuple[str, str]]:
        self.check_usable()
        return named_actors()

    def kill_actor(self, link: Any, no_restart: bool) -> None:
        self.check_usable()
        self._actors.kill(link, no_restart)

    def owns_actor(self, link: Any) -> bool:
        return isinstance(link, RayActorLink) and link.connection.node is self._session

    def owns(self, ref: Any) -> bool:
        if type(ref) not in _OURS:
            return False
        if ref.connection.engine is self:
            self.check_holds(ref)
        return ref.connection.node is self._session

    def place(self, demand: Mapping[str, float], what: str) -> dict[str, float]:
        """Return the resources to ask Ray for; InfeasibleError where no node can ever give them."""
        return self._capacity.place(demand, what)

    def nodes(self) -> Sequence[Mapping[str, float]]:
        """Return the resources of the nodes, as of a moment ago at most."""
        self.check_usable()
        return self._capacity.nodes()

    # ---- where the code runs

    @property
    def parallelism(self) -> int:
        self.check_usable()
        return max(1, int(sum(node.get("CPU", 0) for node in self._capacity.nodes())))

    def resource_ids(self) -> dict[str, list[int]]:
        if not is_ray_worker():
            return {}
        listed = ray.get_runtime_context().get_accelerator_ids()
        return {kind: [int(index) for index in indices] for kind, indices in listed.items() if indices}

    def timeline_events(self) -> Iterable[Mapping[str, Any]]:
        raise errors.UnsupportedError(
            "RayJobContext does not remember when its tasks ran; Ray does, a second later: ray.timeline('trace.json')"
        )

    def close(self) -> None:
        self._is_closed = True
        if not global_worker.connected or global_worker.node is not self._session:
            return
        if self._owns_ray:
            ray.shutdown()
            return
        pending = [ref.task_ref() for task in list(self._tasks) if (ref := task()) is not None]
        if pending:
            _, pending = ray.wait(pending, num_returns=len(pending), timeout=0, fetch_local=False)
        for raw in pending:
            ray.cancel(raw)
        self._actors.close()

    # ---- errors

    def converted(self, error: Any, timeout: float | None = None) -> Exception:
        """Return what a caller of Fray gets for an exception of Ray's."""
        if isinstance(error, theirs.RayActorError):
            link = self._actors.link(error.actor_id or "")
            return actor_died(error, link.class_name, link.name) if link is not None else actor_died(error)
        if timeout is not None and isinstance(error, theirs.GetTimeoutError):
            return errors.GetTimeoutError(f"nothing came within {timeout:g} s; the task goes on")
        return converted(error)


_RAW_REF = ray.ObjectRef
_REMOTE_FUNCTION = ray.remote_function.RemoteFunction
_OURS = (RayRef, RayStream)
_new_ref: Any = RayRef  # without the type parameter: applying it costs as much as making a ref
_new_stream: Any = RayStream
