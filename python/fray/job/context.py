"""`JobContext`: the one way to run tasks and hold objects, wherever they run.

This class is the public interface: its methods, their documentation and the checks of their arguments. Behind it is an
`Engine`, which a backend implements. A backend's context adds how it is made and how it is pickled, and may override a
method where that makes it faster.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, overload

from fray._checks import check_actor_name
from fray._lazy import lazy_attribute
from fray.errors import GetTimeoutError, UnsupportedError
from fray.job.checks import (
    check_keywords,
    check_timeout,
    checked_shape,
    context_closed,
    first_duplicate,
    foreign_actor,
    foreign_ref,
)
from fray.job.own_keywords import NOT_GIVEN, takes_keyword
from fray.job.refs import ObjectRef
from fray.job.task_options import TaskOptions

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from fray.job.actor_options import ActorOptions, Lifetime
    from fray.job.actors import ActorContext, ActorHandle
    from fray.job.engine import Engine

__all__ = ["JobContext"]

T = TypeVar("T")

_DEFAULT_OPTIONS = TaskOptions()


class JobContext:
    """Runs tasks and holds objects. Thread-safe; a context manager that closes itself.

    Pickled, in an argument, a result or a captured variable, it is the context of the process where it arrives.

    Args:
        engine: runs the tasks. Programs do not pass one: they call `create_job_ctx`, or a backend's context.
    """

    namespace: str = "default"
    """The namespace of actors that are created or looked up without one."""

    _engine: Engine
    _closed: bool = False
    """Whether the engine cannot be used now, because it was closed or has not begun; see `_not_open`."""
    _own_name: str = ""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def engine(self) -> Engine:
        """The engine behind this context, for libraries that check arguments themselves; see `fray.job.engine`.

        Raises:
            ContextClosedError: the context was closed.
        """
        if self._closed:
            self._not_open()
        return self._engine

    @property
    def begun_engine(self) -> Engine | None:
        """The engine, also after the context was closed; None where it has not begun, so that nothing has run."""
        return self._engine

    # ---- tasks

    def create_task(
        self,
        fn: Callable[..., T],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
        options: TaskOptions | None = None,
    ) -> ObjectRef[T]:
        """Start ``fn(*args, **kwargs)`` and return a ref to its result.

        A ref among the arguments is replaced by its value; the task waits for it without holding resources. A ref
        inside another value stays a ref. A generator function streams its items: iterate the ref. With
        ``TaskOptions(num_returns=n)``, n > 1, a list of n refs is returned.

        Raises:
            TypeError: `fn` is not callable, `args` is not a tuple, or `options` is not a TaskOptions.
            SerializationError: the function or an argument cannot be pickled.
            ForeignRefError: an argument is a ref of another context.
            ContextClosedError: the context was closed.
        """
        if not callable(fn):
            raise TypeError(f"create_task needs a function, got {fn!r}; pass the function and its arguments apart")
        if options is None:
            options = _DEFAULT_OPTIONS
        elif not isinstance(options, TaskOptions):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"create_task: options must be a TaskOptions(...), got {type(options).__name__}")
        if not isinstance(args, (tuple, list)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"create_task: args must be a tuple such as (x,), got {type(args).__name__}")
        if kwargs is not None:
            check_keywords(kwargs)
        if self._closed:
            self._not_open()
        return self._engine.submit(fn, tuple(args), dict(kwargs) if kwargs else {}, options)

    def run(self, fn: Callable[..., T], *args: Any, name: Any = NOT_GIVEN, **kwargs: Any) -> ObjectRef[T]:
        """Start ``fn(*args, **kwargs)`` and return a ref to its result.

        Args:
            fn: a function, or anything else that can be called.
            args: for `fn`.
            name: for `fn` where it has a parameter called `name` that `args` do not fill. Where it has none
                (``**kwargs`` alone is none) the name of the task, a text or None; ``TaskOptions(name=...)`` names any
                task.
            kwargs: for `fn`.
        """
        if name is NOT_GIVEN:
            return self.create_task(fn, args, kwargs)
        if takes_keyword(fn, "name", len(args)):
            return self.create_task(fn, args, {**kwargs, "name": name})
        return self.create_task(fn, args, kwargs, TaskOptions(name=name))

    def map(
        self,
        fn: Callable[[Any], T],
        items: Iterable[Any],
        batch: int | Literal["auto"] = "auto",
        ordered: bool = True,
        max_in_flight: int | None = None,
        options: TaskOptions | None = None,
    ) -> Iterator[T]:
        """Return an iterator of ``fn(item)`` for every item; nothing runs before its first step.

        Args:
            fn: called with one item. Workers may get it, and what it refers to, as they are at the first step; they may
                share large arrays among that, and cannot write to those.
            items: any iterable, also an endless one; taken from only as results are taken.
            batch: items for one task. ``"auto"`` starts with one and aims at 20 ms for a task.
            ordered: results in the order of the items; False gives each as soon as it is there.
            max_in_flight: the most items that were taken and whose results were not; None for a few tasks per worker.
            options: of every task; retries count per item. With a `timeout` each item is a task of its own.

        The first exception is raised at the place of its item and ends the iteration; the other tasks are cancelled.
        """
        from fray.job.mapping import map_items

        return map_items(self.engine, fn, items, batch, ordered, max_in_flight, options or _DEFAULT_OPTIONS)

    def as_completed(self, refs: Iterable[ObjectRef[T]], timeout: float | None = None) -> Iterator[ObjectRef[T]]:
        """Return an iterator of the refs in the order in which they become ready; failed tasks count as ready.

        Args:
            refs: no ref twice.
            timeout: seconds for all of them together.

        Raises:
            GetTimeoutError: when the next ref is not ready in time.
        """
        pending = list(refs)
        self._check_refs(pending, "as_completed")
        return self._completed(pending, check_timeout(timeout))

    def _completed(self, pending: list[ObjectRef[T]], timeout: float | None) -> Iterator[ObjectRef[T]]:
        total = len(pending)
        deadline = None if timeout is None else time.monotonic() + timeout
        while pending:
            ready, pending = self.wait(pending, 1, None if deadline is None else max(0.0, deadline - time.monotonic()))
            if not ready:
                raise GetTimeoutError(f"{len(pending)} of {total} refs were not ready after {timeout} s")
            if pending:
                # One more `wait`, without a timeout, takes all refs that are ready: many do not cost a `wait` each.
                more, pending = self.wait(pending, len(pending), 0)
                ready += more
            yield from ready

    def cancel(self, ref: ObjectRef[Any], force: bool = False) -> None:
        """Cancel the task of `ref`: getting it raises TaskCancelledError. A task that has ended stays as it is.

        Every process that has a ref of the task can cancel it. A running task is interrupted where it is; one that
        catches that and returns keeps its value.

        Args:
            ref: any ref of the task.
            force: end the worker process, for a task that does not react to the interrupt.
        """
        self._check_refs([ref], "cancel")
        self._engine.cancel(ref, force)

    # ---- actors

    def create_actor(
        self,
        cls: type[Any],
        *args: Any,
        options: ActorOptions | None = None,
        name: str | None = None,
        get_if_exists: bool | None = None,
        lifetime: Lifetime | str | None = None,
        preemptible: bool | None = None,
        num_cpus: float | None = None,
        **kwargs: Any,
    ) -> ActorHandle:
        """Start an actor, ``cls(*args, **kwargs)`` in a place of its own, and return its handle at once.

        A ref among the arguments is replaced by its value. What the constructor raises ends the actor: every call of it
        raises ActorDiedError with that as its cause.

        Args:
            cls: its class; public methods can be called through the handle.
            args: for the constructor.
            options: all options of the actor; give either these or the keywords that follow.
            name: as in `ActorOptions`.
            get_if_exists: as in `ActorOptions`.
            lifetime: as in `ActorOptions`.
            preemptible: False for ``schedule_on_head``.
            num_cpus: CPUs that it holds while it lives.
            kwargs: for the constructor. An argument whose name is one of those above is given by position, or as a
                keyword beside `options`.

        Raises:
            TypeError: `cls` is no class, or its constructor does not take these arguments, or a keyword could be meant
                for the actor and for its constructor.
            NameTakenError: the name has an actor, and `get_if_exists` is not set.
            InfeasibleError: it asks for resources that no place can ever give.
            SerializationError: the class or an argument cannot be pickled.
        """
        from fray.job.actor_methods import check_constructor, methods_of
        from fray.job.actor_request import actor_options, constructors_own
        from fray.job.actor_spec import ActorSpec
        from fray.job.actors import ActorHandle

        keywords = {
            "name": name,
            "get_if_exists": get_if_exists,
            "lifetime": lifetime,
            "preemptible": preemptible,
            "num_cpus": num_cpus,
        }
        if not isinstance(cls, type):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"create_actor needs a class, got {cls!r}; pass the class and its arguments apart")
        given = {key: value for key, value in keywords.items() if value is not None}
        if given:
            theirs = constructors_own(cls, args, given, options is not None)
            kwargs.update(theirs)
            given = {key: value for key, value in given.items() if key not in theirs}
        chosen = actor_options(options, given)
        check_constructor(cls, args, kwargs, chosen.__dataclass_fields__)
        return ActorHandle(self.engine.create_actor(ActorSpec(cls, args, kwargs, chosen, methods_of(cls))))

    def get_actor(self, name: str, namespace: str | None = None) -> ActorHandle:
        """Return a handle of the living actor of that name.

        Raises:
            ActorNotFoundError: there is none.
        """
        from fray.job.actor_request import not_found
        from fray.job.actors import ActorHandle

        check_actor_name(name, "get_actor: name")
        space = self.namespace if namespace is None else check_actor_name(namespace, "get_actor: namespace")
        engine = self.engine
        link = engine.find_actor(name, space)
        if link is None:
            raise not_found(name, space, engine.named_actors())
        return ActorHandle(link)

    @overload
    def list_named_actors(self, all_namespaces: Literal[False] = False) -> list[str]: ...
    @overload
    def list_named_actors(self, all_namespaces: Literal[True]) -> list[dict[str, str]]: ...
    def list_named_actors(self, all_namespaces: bool = False) -> Any:
        """Return the names of the living actors of this context's namespace, sorted.

        With `all_namespaces` they are dicts with a ``name`` and a ``namespace``.
        """
        named = sorted(self.engine.named_actors())
        if all_namespaces:
            return [{"name": name, "namespace": space} for space, name in named]
        return [name for space, name in named if space == self.namespace]

    def kill(self, actor: ActorHandle, no_restart: bool = True) -> None:
        """End an actor at once; calls of it that have not ended raise ActorDiedError. No effect on an ended one.

        Args:
            actor: any handle of it.
            no_restart: False to have it started again where its `max_restarts` allows, as after a death.
        """
        from fray.job.actors import ActorHandle

        if not isinstance(actor, ActorHandle):  # pyright: ignore[reportUnnecessaryIsInstance]
            hint = "; cancel(ref) ends a task" if isinstance(actor, ObjectRef) else ""
            raise TypeError(f"kill needs an actor's handle, got {type(actor).__name__}{hint}")
        engine, link = self.engine, actor._fray_link  # pyright: ignore[reportPrivateUsage]
        if not engine.owns_actor(link):
            raise foreign_actor(actor, "kill", type(self).__name__)
        engine.kill_actor(link, no_restart)

    def current_actor(self) -> ActorContext:
        """Return the actor whose constructor or method this code runs in; RuntimeError where there is none."""
        from fray.job.actors import current_actor

        return current_actor()

    # ---- objects

    def put(self, value: T) -> ObjectRef[T]:
        """Hold `value` and return a ref to it.

        Raises:
            TypeError: `value` is a ref already.
            SerializationError: it cannot be pickled.
            StoreFullError: there is no room for it.
        """
        if isinstance(value, ObjectRef):
            raise TypeError("put of a ref: it stands for a held value already; put [ref] to hold the ref itself")
        if self._closed:
            self._not_open()
        return self._engine.put(value)

    @overload
    def get(self, refs: ObjectRef[T], timeout: float | None = None) -> T: ...
    @overload
    def get(self, refs: list[ObjectRef[T]], timeout: float | None = None) -> list[T]: ...
    @overload
    def get(self, refs: tuple[ObjectRef[T], ...], timeout: float | None = None) -> tuple[T, ...]: ...
    @overload
    def get(self, refs: object, timeout: float | None = None) -> Any: ...
    def get(self, refs: Any, timeout: float | None = None) -> Any:
        """Return the value of a ref, or the values of a list or tuple of refs in the same kind of sequence.

        Any other value is returned as it is, so that the items of every generator can be handed to `get`.

        Args:
            refs: a ref, a list or a tuple of refs, or any other value.
            timeout: seconds for all of them together; None for as long as it takes, 0 to look only.

        Raises:
            GetTimeoutError: nothing came in time.
            TypeError: refs and other values mixed in one sequence.
            Exception: what the task raised; of several, the first in the order of the sequence.
        """
        if self._closed:
            self._not_open()
        timeout = check_timeout(timeout)
        if isinstance(refs, ObjectRef):
            self._check_owned(cast("ObjectRef[Any]", refs), "get")
            return self._engine.get(refs, timeout)
        if isinstance(refs, (list, tuple)):
            return self._get_sequence(cast("Sequence[Any]", refs), timeout)
        return refs

    def wait(
        self, refs: list[ObjectRef[T]], num_returns: int = 1, timeout: float | None = None
    ) -> tuple[list[ObjectRef[T]], list[ObjectRef[T]]]:
        """Wait until `num_returns` of `refs` are ready and return (ready, others), both in the order given.

        At most `num_returns` refs are returned as ready. Failed tasks are ready; a generator is when its next item is.

        Args:
            refs: a list, no ref twice; an empty one returns at once.
            num_returns: from 1 to ``len(refs)``.
            timeout: seconds; None for as long as it takes, 0 to look only. When it passes, fewer are ready.

        Raises:
            ValueError: duplicates, or `num_returns` out of range, or a negative timeout.
            TypeError: `refs` is not a list of refs.
        """
        if not isinstance(refs, list):  # pyright: ignore[reportUnnecessaryIsInstance]
            hint = "; write [ref] for one" if isinstance(refs, ObjectRef) else ""
            raise TypeError(f"wait needs a list of refs, got {type(refs).__name__}{hint}")
        timeout = check_timeout(timeout)
        self._check_refs(refs, "wait")
        if not refs:
            return [], []
        if isinstance(num_returns, bool) or not isinstance(num_returns, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"wait: num_returns must be a whole number, got {num_returns!r}")
        if not 1 <= num_returns <= len(refs):
            raise ValueError(f"wait: num_returns must be from 1 to the {len(refs)} refs given, got {num_returns}")
        return self._engine.wait(refs, num_returns, timeout)

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        """Return an uninitialised numpy array; in the store where the context has one, so that `put` copies nothing.

        An array in the store is read-only once it was put, passed or returned. What is written after that through other
        views of it or pointers to it stays in this process and does not change the object; `put` warns of such views.
        """
        return self.engine.empty(checked_shape(shape), dtype)

    @classmethod
    def extend_refs(cls, methods: type[Any]) -> None:
        """Give the refs that this process makes from now on the methods of a class as well.

        Args:
            methods: a class with empty ``__slots__`` and bases that have the same; refs become instances of it. A
                process has one such class at most.
        """
        raise UnsupportedError(f"{cls.__name__} cannot extend its refs")

    # ---- where the code runs

    def resource_ids(self) -> dict[str, list[int]]:
        """Return the indices of the devices that the running task or this actor has, such as ``{"GPU": [0]}``.

        Devices are GPUs and TPUs. Empty outside of tasks and actors, and in those that asked for no device. A task that
        asked for a fraction gets the index of the shared device. In-process contexts count from 0.
        """
        return self._engine.resource_ids()

    # ---- life

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def close(self) -> None:
        """End the context: tasks that have not ended are cancelled, and every later use is an error. Idempotent.

        A node that this process has started for itself ends with it: what runs there is killed, and gone when this
        returns. The wait for that lasts at most 5 s.
        """
        if not self._closed:
            self._closed = True
            self._engine.close()

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, frames: TracebackType | None
    ) -> None:
        self.close()

    # ---- pickling

    def own_name(self) -> str:
        """Return a name that no other context has."""
        if not self._own_name:
            import uuid

            self._own_name = uuid.uuid4().hex
        return self._own_name

    def session_name(self) -> str:
        """Return a name of the session that holds the objects; contexts that share their objects have the same one."""
        return self.own_name()

    def __reduce__(self) -> Any:
        raise TypeError(
            f"a {type(self).__name__} does not say how it travels; use get_job_context() where it is needed"
        )

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    # ---- checks

    def _not_open(self) -> None:
        """Make the context usable, or raise the error that says why it is not."""
        raise context_closed(type(self).__name__)

    def _check_open(self) -> None:
        if self._closed:
            self._not_open()

    def _check_owned(self, ref: ObjectRef[Any], verb: str) -> None:
        if not self._engine.owns(ref):
            raise foreign_ref(ref, verb, type(self).__name__)

    def _check_refs(self, refs: Sequence[ObjectRef[Any]], verb: str) -> None:
        """Check that all are refs of this open context, and that none is there twice."""
        self._check_open()
        for position, ref in enumerate(refs):
            if not isinstance(ref, ObjectRef):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"{verb} needs refs; at position {position} there is a {type(ref).__name__}")
            self._check_owned(ref, verb)
        if len(set(refs)) != len(refs):
            raise ValueError(f"{verb}: the ref at position {first_duplicate(refs)} was given before; give each once")

    def _get_sequence(self, refs: Sequence[Any], timeout: float | None) -> Any:
        stranger = next((i for i, ref in enumerate(refs) if not isinstance(ref, ObjectRef)), None)
        if not refs:
            return refs
        if stranger is not None:
            if not any(isinstance(ref, ObjectRef) for ref in refs):
                return refs
            raise TypeError(
                f"get of refs mixed with other values: at position {stranger} there is a "
                f"{type(refs[stranger]).__name__}, not a ref"
            )
        for ref in refs:
            self._check_owned(ref, "get")
        values = self._engine.get_many(refs, timeout)
        return tuple(values) if isinstance(refs, tuple) else values


# Names that were here in older versions.
_LAZY = {
    "ContextConfig": ("fray.job.config", "ContextConfig"),
    "_job_context": ("fray.job.current", "_flow"),
    "RayContext": ("fray.backend.ray.ray_job", "RayJobContext"),
    "SyncContext": ("fray.backend.local.sync", "SyncContext"),
    "ThreadContext": ("fray.backend.local.thread", "ThreadContext"),
    "create_job_ctx": ("fray.job.factory", "create_job_ctx"),
    "fray_default_job_ctx": ("fray.job.current", "fray_default_job_ctx"),
    "get_default_job_ctx": ("fray.job.current", "get_default_job_ctx"),
}


def __getattr__(name: str) -> Any:
    return lazy_attribute(__name__, name, _LAZY)
