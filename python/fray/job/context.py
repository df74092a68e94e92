"""`JobContext`: the one way to run tasks and hold objects, wherever they run.

This class holds the public spelling, its documentation and its checks. A backend implements the underscore methods at
the end, and may override a public one where that makes it faster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, cast, overload

from fray._extras import needs
from fray._lazy import lazy_attribute
from fray.errors import ContextClosedError, ForeignRefError, UnsupportedError
from fray.job.checks import check_timeout, first_duplicate
from fray.job.own_keywords import NOT_GIVEN, takes_keyword
from fray.job.refs import ObjectRef
from fray.types import ActorOptions, Lifetime, TaskOptions, check_actor_name

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from fray.job.actor_methods import MethodKind
    from fray.job.actors import ActorContext, ActorHandle, ActorLink
    from fray.job.watch import Watch

__all__ = ["JobContext"]

T = TypeVar("T")

_DEFAULT_OPTIONS = TaskOptions()


class JobContext(ABC):
    """Runs tasks and holds objects. Thread-safe; a context manager that closes itself.

    Pickled, in an argument, a result or a captured variable, it is the context of the process where it arrives.
    """

    namespace: str = "default"
    """Where names of actors live that do not say so."""

    _ref_type: ClassVar[type[Any]]
    """The type of this backend's refs."""
    _parallelism: int = 1
    """How many tasks run at the same time; 0 where a task has ended when it was submitted."""
    _closed: bool = False
    _own_name: str = ""

    # ---- tasks

    def create_task(
        self,
        fn: Callable[..., T],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
        options: TaskOptions | None = None,
    ) -> ObjectRef[T]:
        """Start ``fn(*args, **kwargs)`` and return a ref to its result.

        A ref among the arguments is replaced by its value, which the task waits for without occupying anything; a ref
        inside another value stays a ref. A generator function streams: iterate the ref. With
        ``TaskOptions(num_returns=n)``, n > 1, a list of n refs is returned.

        Raises:
            TypeError: `fn` is not callable, `args` not a tuple, `options` no TaskOptions.
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
        if self._closed:
            self._not_open()
        return self._submit(fn, tuple(args), dict(kwargs) if kwargs else {}, options)

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
            fn: called with one item.
            items: any iterable, also an endless one; taken from only as results are taken.
            batch: items for one task. ``"auto"`` starts with one and aims at 20 ms for a task.
            ordered: results in the order of the items; False gives each as soon as it is there.
            max_in_flight: most items taken whose results were not; None for a few tasks for each worker.
            options: of every task; retries are for each item. With a `timeout` each item is a task.

        The first exception is raised at its place and ends the iteration; the rest is cancelled.
        """
        from fray.job.mapping import map_items

        self._check_open()
        return map_items(self, fn, items, batch, ordered, max_in_flight, options or _DEFAULT_OPTIONS)

    def as_completed(self, refs: Iterable[ObjectRef[T]], timeout: float | None = None) -> Iterator[ObjectRef[T]]:
        """Return an iterator of the refs in the order in which they become ready; failed tasks count as ready.

        Args:
            refs: no ref twice.
            timeout: seconds for all of them together.

        Raises:
            GetTimeoutError: when the next ref is not ready in time.
        """
        from fray.job.completion import iterate_completed

        pending = list(refs)
        self._check_refs(pending, "as_completed")
        return iterate_completed(self, pending, check_timeout(timeout))

    def cancel(self, ref: ObjectRef[Any], force: bool = False) -> None:
        """Cancel the task of `ref`: getting it raises TaskCancelledError. A task that has ended stays as it is.

        Args:
            ref: any ref of the task.
            force: end the worker process, for a task that does not listen.
        """
        self._check_refs([ref], "cancel")
        self._cancel(ref, force)

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
            options: everything that can be chosen, or else the keywords that follow.
            name: as in `ActorOptions`.
            get_if_exists: as in `ActorOptions`.
            lifetime: as in `ActorOptions`.
            preemptible: False for ``schedule_on_head``.
            num_cpus: CPUs that it holds while it lives.
            kwargs: for the constructor. One that is called like one of the above is given by position, or as a keyword
                beside `options`.

        Raises:
            TypeError: `cls` is no class, or its constructor does not take these arguments, or a keyword could be meant
                for the actor and for its constructor.
            NameTakenError: the name has an actor, and `get_if_exists` is not set.
            InfeasibleError: it asks for resources that there never are.
            SerializationError: the class or an argument cannot be pickled.
        """
        from fray.job.actor_methods import check_constructor, methods_of
        from fray.job.actor_request import actor_options, constructors_own
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
        check_constructor(cls, args, kwargs, ActorOptions.__dataclass_fields__)
        self._check_open()
        return ActorHandle(self._create_actor(cls, args, kwargs, chosen, methods_of(cls)))

    def get_actor(self, name: str, namespace: str | None = None) -> ActorHandle:
        """Return a handle of the living actor of that name.

        Raises:
            ActorNotFoundError: there is none.
        """
        from fray.job.actor_request import not_found
        from fray.job.actors import ActorHandle

        check_actor_name(name, "get_actor: name")
        space = self.namespace if namespace is None else check_actor_name(namespace, "get_actor: namespace")
        self._check_open()
        link = self._find_actor(name, space)
        if link is None:
            raise not_found(name, space, self._named_actors())
        return ActorHandle(link)

    @overload
    def list_named_actors(self, all_namespaces: Literal[False] = False) -> list[str]: ...
    @overload
    def list_named_actors(self, all_namespaces: Literal[True]) -> list[dict[str, str]]: ...
    def list_named_actors(self, all_namespaces: bool = False) -> Any:
        """Return the names of the living actors of this context's namespace, sorted.

        With `all_namespaces` they are dicts with a ``name`` and a ``namespace``.
        """
        self._check_open()
        named = sorted(self._named_actors())
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
        self._check_open()
        self._check_actor(actor, "kill")
        self._kill_actor(actor._fray_link, no_restart)  # pyright: ignore[reportPrivateUsage]

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
        return self._put(value)

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
            return self._get(cast("ObjectRef[Any]", refs), timeout)
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
        return self._wait(refs, num_returns, timeout)

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        """Return an uninitialised numpy array; in the store where the context has one, so that `put` copies nothing.

        There the array is read-only once it was put, passed or returned. What is written through other views of it or
        pointers to it after that stays in this process and does not change the object; `put` warns of such arrays.
        """
        self._check_open()
        return self._empty(shape, dtype)

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

        Devices are GPUs and TPUs. Empty outside of tasks and actors, and in those that asked for none. With a fraction
        it is the index of the device that is shared. In-process contexts count from 0.
        """
        return {}

    # ---- life

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def close(self) -> None:
        """End the context: tasks that have not ended are cancelled, and every later use is an error. Idempotent."""
        if not self._closed:
            self._closed = True
            self._close()

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, frames: TracebackType | None
    ) -> None:
        self.close()

    # ---- on the way

    def own_name(self) -> str:
        """Return a name that no other context has."""
        if not self._own_name:
            import uuid

            self._own_name = uuid.uuid4().hex
        return self._own_name

    def session_name(self) -> str:
        """Return what tells apart where objects lie."""
        return self.own_name()

    def __reduce__(self) -> Any:
        from fray.job.arrival import arrive, note

        note(self)
        return arrive, (self.session_name(), self.own_name())

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    # ---- checks

    def _not_open(self) -> None:
        """Make the context usable, or say why it is not."""
        raise ContextClosedError(f"this {type(self).__name__} was closed; make a new one, or call fray.init() again")

    def _check_open(self) -> None:
        if self._closed:
            self._not_open()

    def _check_owned(self, ref: ObjectRef[Any], verb: str) -> None:
        if not isinstance(ref, self._ref_type) or not self._owns(ref):
            raise ForeignRefError(
                f"{verb}: {ref!r} belongs to another context than this {type(self).__name__}; "
                "get its value there and pass that"
            )

    def _check_actor(self, handle: ActorHandle, verb: str) -> None:
        if not self._owns_actor(handle._fray_link):  # pyright: ignore[reportPrivateUsage]
            raise ForeignRefError(
                f"{verb}: {handle!r} belongs to another context than this {type(self).__name__}; "
                "create the actor here, or look it up with get_actor"
            )

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
        values = self._get_many(refs, timeout)
        return tuple(values) if isinstance(refs, tuple) else values

    # ---- what a backend implements; arguments were checked, refs are its own, the context is open

    @abstractmethod
    def _submit(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], options: TaskOptions
    ) -> Any:
        """Start a task; return its ref, or the list of its refs when ``options.num_returns`` > 1.

        Refs among `args` and `kwargs` were not checked: one of another context is a ForeignRefError.
        """

    @abstractmethod
    def _put(self, value: Any) -> Any:
        """Hold a value and return its ref."""

    @abstractmethod
    def _get(self, ref: Any, timeout: float | None) -> Any:
        """Return the value of one ref, or raise its task's exception or GetTimeoutError."""

    @abstractmethod
    def _get_many(self, refs: Sequence[Any], timeout: float | None) -> list[Any]:
        """Return the values of all `refs` (at least one, repeats allowed) within one timeout."""

    @abstractmethod
    def _wait(self, refs: list[Any], num_returns: int, timeout: float | None) -> tuple[list[Any], list[Any]]:
        """Block until `num_returns` are ready or the time is over; split `refs` as `wait` says."""

    @abstractmethod
    def _cancel(self, ref: Any, force: bool) -> None:
        """Cancel the task of `ref`; no effect on an object that was put or a task that has ended."""

    def _create_actor(
        self,
        cls: type[Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        options: ActorOptions,
        methods: Mapping[str, MethodKind],
    ) -> ActorLink:
        """Start an actor, or find the one that `options` allow to get, in one step; return a link to it.

        Refs among `args` and `kwargs` were not checked. A name without a namespace is in ``self.namespace``. The names
        of an actor that has ended, or whose constructor raised, are free.

        Raises:
            NameTakenError: made by `fray.job.actor_request.name_taken`.
        """
        raise UnsupportedError(f"{type(self).__name__} has no actors")

    def _find_actor(self, name: str, namespace: str) -> ActorLink | None:
        """Return a link to the living actor of that name; one whose constructor still runs is living."""
        raise UnsupportedError(f"{type(self).__name__} has no actors")

    def _named_actors(self) -> list[tuple[str, str]]:
        """Return (namespace, name) of every living actor that has a name, in any order."""
        raise UnsupportedError(f"{type(self).__name__} has no actors")

    def _kill_actor(self, link: Any, no_restart: bool) -> None:
        """End the actor of `link`, which this context owns; see `kill`."""
        raise UnsupportedError(f"{type(self).__name__} has no actors")

    def _owns_actor(self, link: Any) -> bool:
        """Return whether `link` leads to an actor of this context."""
        raise UnsupportedError(f"{type(self).__name__} has no actors")

    def _is_waiting(self, ref: Any, cancel: bool = False) -> bool:
        """Return whether the task of `ref` has not begun, as far as is known; with `cancel` it never will then."""
        del ref, cancel
        return False

    def _watch(self) -> Watch:
        """Return a new watch over refs of this context."""
        from fray.job.watch import PollingWatch

        return PollingWatch(self)

    def _blocking(self) -> AbstractContextManager[None]:
        """Surround a wait of this thread that the context does not see, so that its place can be lent."""
        return nullcontext()

    @abstractmethod
    def _owns(self, ref: Any) -> bool:
        """Return whether `ref`, which is of `_ref_type`, belongs to this context."""

    @abstractmethod
    def _close(self) -> None:
        """Release everything; called once."""

    def _timeline_events(self) -> Iterable[Mapping[str, Any]]:
        """Return the tasks that ran, oldest first, as events of Chrome's trace format (times in microseconds)."""
        raise UnsupportedError(f"{type(self).__name__} does not remember when its tasks ran")

    def _status(self) -> dict[str, Any]:
        """Return what there is and what of it is free, as `fray status --json` shows it."""
        raise UnsupportedError(f"{type(self).__name__} has no node to ask")

    def _failures(self) -> Iterable[tuple[str, int, str]]:
        """Return (task's name, its number or 0, what it failed with) of the tasks that failed."""
        for event in self._timeline_events():
            if not event.get("args", {}).get("ok", True):
                yield event["name"], 0, "failed"

    def _empty(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        """Return an array to be filled; in ordinary memory unless a backend has a better place."""
        with needs("numpy", "numpy", "ctx.empty"):
            import numpy

        return numpy.empty(shape, dtype)


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
