"""Joblib on Fray, and with it scikit-learn.

::

    import fray.joblib, joblib

    fray.joblib.register()
    with joblib.parallel_config("fray"):
        search.fit(X, y)

Large arrays and frames among the arguments, and large arrays inside of other arguments, go to the object store once a
call, and workers see them without a copy, read-only. A `Parallel` inside a task runs on Fray as well, one level deep:
its batches need CPUs like other tasks, among them that of the task that waits for them.
"""

# pyright: basic, reportMissingTypeStubs=false
# joblib brings no types.

from __future__ import annotations

import weakref
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from operator import itemgetter
from threading import Condition
from types import BuiltinFunctionType, FunctionType
from typing import Any

from fray._apart import LARGE_BYTES, pack, unpack
from fray._extras import needs
from fray._functions import is_importable, is_partial_by_value
from fray.executor import Executor
from fray.executor.calls import MappedFunction
from fray.job.context import JobContext
from fray.job.current import get_job_context
from fray.job.factory import worker_context
from fray.types import RuntimeEnv, TaskOptions

with needs("joblib", "joblib", "fray.joblib"):
    from joblib.parallel import (
        AutoBatchingMixin,
        FallbackToBackend,
        ParallelBackendBase,
        SequentialBackend,
        ThreadingBackend,
        parallel_config,
        register_parallel_backend,
    )

__all__ = ["FrayBackend", "register"]

_DEEPEST = 1
_SCALARS = frozenset((bool, int, float, complex, str, bytes, type(None)))
_CONTAINERS = frozenset((tuple, list, dict, set, frozenset))
_SMALL_KINDS = _SCALARS | _CONTAINERS
"""Types of arguments that travel in the call itself, so that their size is not looked at."""
_MOST_LOOKS = 1000
"""Items of a container that are looked at."""
_PLAIN = frozenset((FunctionType, BuiltinFunctionType, type, type(None)))
"""Types of what is called that hold no arrays, other than methods and partial functions. None: see `_call_carried`."""
_FUNCTION, _ARGS, _KWARGS = itemgetter(0), itemgetter(1), itemgetter(2)


def register(make_default: bool = False) -> None:
    """Make ``joblib.parallel_config("fray")`` known to joblib; with `make_default` every `Parallel` uses it."""
    register_parallel_backend("fray", FrayBackend, make_default=make_default)


class FrayBackend(AutoBatchingMixin, ParallelBackendBase):
    """Runs the batches of `joblib.Parallel` as tasks.

    Args:
        context: where they run; by default the current context at the time of the call.
        options: of every batch.
        nesting_level, inner_max_num_threads: given by joblib.
    """

    supports_retrieve_callback = True  # also means: generators and timeouts
    supports_inner_max_num_threads = True
    default_n_jobs = -1
    MAX_IDEAL_BATCH_DURATION = 1.0

    def __init__(
        self,
        context: JobContext | None = None,
        options: TaskOptions | None = None,
        nesting_level: int | None = None,
        inner_max_num_threads: int | None = None,
    ) -> None:
        super().__init__(nesting_level=nesting_level, inner_max_num_threads=inner_max_num_threads)
        self._chosen = context
        self._options = options or TaskOptions()
        self._executor: Executor | None = None
        self._shared = _Shared(None)
        self._batches = _Batches(None)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel without the context: in a task, the current context is the right one."""
        return FrayBackend, (None, self._options, self.nesting_level, self.inner_max_num_threads)

    @property
    def _context(self) -> JobContext:
        return self._chosen or get_job_context()

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        """Return how many batches may run at the same time."""
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        if n_jobs is None:
            n_jobs = self.default_n_jobs
        if n_jobs > 0:
            return n_jobs
        return max(self._context.engine.parallelism + 1 + n_jobs, 1)

    def configure(self, n_jobs: int = 1, parallel: Any = None, prefer: str | None = None, **unused: Any) -> int:
        """Prepare a call of Parallel; a nested call that prefers threads runs on threads of joblib."""
        if self._executor is not None and parallel is not self.parallel:
            # A `parallel_config` has one backend for all its calls, and an earlier one has not ended: its results are
            # still being taken, perhaps as the items of this one.
            raise FallbackToBackend(self._another())
        n_jobs = self.effective_n_jobs(n_jobs)
        if n_jobs == 1:
            raise FallbackToBackend(SequentialBackend(nesting_level=self.nesting_level))
        if self.nesting_level and prefer == "threads":
            raise FallbackToBackend(ThreadingBackend(nesting_level=self.nesting_level))
        self.parallel = parallel
        self.MIN_IDEAL_BATCH_DURATION = _shortest_batch(n_jobs)
        context = self._context
        self._executor = Executor(n_jobs, context=context, options=self._settled_options())
        self._shared = _Shared(context)
        return n_jobs

    def start_call(self) -> None:
        """Begin a call of Parallel."""
        self._batches = _Batches(self.parallel)

    def submit(self, func: Any, callback: Callable[[Any], object] | None = None) -> Future[Any]:
        """Start a batch."""
        assert self._executor is not None
        calls = func.items
        if type(calls[0][0]) is partial:
            calls = [_without_partial(*call) for call in calls]
        function = _common_function(calls)
        if function is not None:
            calls = [(None, *arguments) for _, *arguments in calls]
        items, values = self._shared.split(calls)
        # A function of the main script is sent once, and again when it has changed, in place of with each batch.
        called: Any = _call_batch if function is None else MappedFunction(function, _call_carried)
        future = self._executor.submit(called, items, func._backend, func._n_jobs, *values)
        batches = self._batches
        batches.begin()
        if callback is not None:
            future.add_done_callback(callback)  # it submits the next batch
        future.add_done_callback(batches.end)
        return future

    @contextmanager
    def retrieval_context(self) -> Generator[None, None, None]:
        """Surround the taking of results, for which joblib looks every 10 ms: where all are needed, wait for them."""
        parallel = self.parallel
        if not parallel.return_generator and parallel.timeout is None:
            with self._context.engine.blocking():
                self._batches.wait()
        yield

    def retrieve_result_callback(self, out: Future[Any]) -> Any:
        """Return the results of a batch, or raise what it raised."""
        return out.result()

    def stop_call(self) -> None:
        """Drop the refs to the large arguments of this call."""
        self._shared = _Shared(self._shared.context)

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Cancel the batches that run and those that wait."""
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.interrupt()
            executor.shutdown(wait=False)
        if ensure_ready:
            self.configure(n_jobs=self.parallel.n_jobs, parallel=self.parallel)

    def terminate(self) -> None:
        """Release the executor after the last call."""
        executor, self._executor = self._executor, None
        self._shared = _Shared(None)
        if executor is not None:
            executor.shutdown(wait=False, cancel_futures=True)
        self.reset_batch_stats()

    def get_nested_backend(self) -> tuple[ParallelBackendBase, int | None]:
        """Return what a Parallel inside a task uses: parallel only where it says so itself."""
        level = (self.nesting_level or 0) + 1
        if level > _DEEPEST:
            return SequentialBackend(nesting_level=level), None
        return FrayBackend(None, self._options, level), 1

    def _another(self) -> FrayBackend:
        """Return a backend of the same settings, which no call uses."""
        return FrayBackend(self._chosen, self._options, self.nesting_level, self.inner_max_num_threads)

    def _settled_options(self) -> TaskOptions:
        options = self._options
        if self._context is worker_context():
            # An executor's calls in a task hold no CPU. But while joblib waits for them the task lends its own, and
            # more tasks would run than there are CPUs.
            options = replace(options, resources={"CPU": 1, **options.resources})
        if self.inner_max_num_threads is None:
            return options
        before = options.runtime_env or RuntimeEnv()
        limits = dict.fromkeys(self.MAX_NUM_THREADS_VARS, str(self.inner_max_num_threads))
        return replace(options, runtime_env=replace(before, env={**before.env, **limits}))


def _shortest_batch(n_jobs: int) -> float:
    """Return the seconds below which joblib makes batches larger.

    Batches are to be short, because at the end of a call the other workers wait for the last one. But each takes 0.3 ms
    of the process that starts it: with up to 33 workers all of them together take a tenth of a core at most.
    """
    return min(max(0.003 * n_jobs, 0.02), 0.1)


class _Batches:
    """Counts the batches of a call of Parallel that have not ended, so that a thread can wait for them.

    Args:
        parallel: of which it is a call.
    """

    def __init__(self, parallel: Any) -> None:
        self._parallel = parallel
        self._changed = Condition()
        self._count = 0

    def begin(self) -> None:
        with self._changed:
            self._count += 1

    def end(self, future: Future[Any]) -> None:
        """Count a batch that has ended and whose callback has run."""
        del future
        with self._changed:
            self._count -= 1
            if self._are_over():
                self._changed.notify_all()

    def wait(self) -> None:
        """Return when all batches have ended, or when one of them or the taking of its items has failed."""
        with self._changed:
            self._changed.wait_for(self._are_over)

    def _are_over(self) -> bool:
        return not self._count or self._parallel._aborting


@dataclass(frozen=True, slots=True)
class _Place:
    """Stands in a call for a large argument, whose value is an argument of the task."""

    number: int


class _Shared:
    """The large arguments of one call, each put once. As with joblib's memmaps, later changes are not seen."""

    def __init__(self, context: JobContext | None) -> None:
        self.context = context
        self._refs: dict[int, tuple[weakref.ref[Any], Any]] = {}

    def split(self, items: list[tuple[Any, Any, Any]]) -> tuple[list[tuple[Any, Any, Any]] | bytes, list[Any]]:
        """Return the calls with places in them, pickled where arrays may be inside of arguments, and the refs."""
        plain = set(map(type, map(_FUNCTION, items))) <= _PLAIN
        kinds = set(map(type, _arguments(items)))
        if plain and _are_small(kinds, items):
            return items, []
        values: list[Any] = []
        nested = not plain

        def number_of(value: Any) -> int:
            ref = self._put(value)
            if ref not in values:
                values.append(ref)
            return values.index(ref)

        def place(value: Any) -> Any:
            nonlocal nested
            size = _size(value)
            if size >= LARGE_BYTES:
                return _Place(number_of(value))
            nested = nested or (size == 0 and not _is_small(value))
            return value

        if kinds <= _SMALL_KINDS:  # there is nothing to place: what is large can only be inside
            return pack(items, number_of) or items, values
        calls = [
            (function, tuple(place(value) for value in args), {name: place(value) for name, value in kwargs.items()})
            for function, args, kwargs in items
        ]
        return (pack(calls, number_of) if nested else None) or calls, values

    def _put(self, value: Any) -> Any:
        assert self.context is not None
        known = self._refs.get(id(value))
        if known is not None and known[0]() is value:
            return known[1]
        ref = self.context.put(value)
        self._refs[id(value)] = (weakref.ref(value, partial(_forget, weakref.ref(self), id(value))), ref)
        return ref


def _forget(shared: Callable[[], _Shared | None], name: int, gone: object) -> None:
    """Drop the ref of a value that is gone; without a circle, for the objects are to go with the call, not later."""
    del gone
    found = shared()
    if found is not None:
        found._refs.pop(name, None)


def _are_small(kinds: set[type[Any]], items: list[tuple[Any, Any, Any]]) -> bool:
    """Return whether all arguments of the calls, of these `kinds`, travel in the call itself, with all in them."""
    return kinds <= _SMALL_KINDS and (kinds.isdisjoint(_CONTAINERS) or all(map(_is_small, _arguments(items))))


def _arguments(items: list[tuple[Any, Any, Any]]) -> Iterator[Any]:
    by_name = (kwargs.values() for kwargs in filter(None, map(_KWARGS, items)))
    return chain(chain.from_iterable(map(_ARGS, items)), chain.from_iterable(by_name))


def _is_small(value: Any) -> bool:
    kind = type(value)
    if kind not in _CONTAINERS:
        return kind in _SCALARS
    return set(map(type, islice(value.values() if kind is dict else value, _MOST_LOOKS))) <= _SCALARS


def _size(value: Any) -> int:
    """Return the bytes of an array, a sparse matrix or a frame; 0 for a value that travels in the call itself."""
    kind = type(value)
    try:
        if hasattr(kind, "memory_usage"):  # pandas
            return int(value.memory_usage(deep=False).sum()) if hasattr(kind, "columns") else int(value.nbytes)
        if hasattr(kind, "nnz"):  # scipy.sparse
            return int(value.data.nbytes)
        size = value.nbytes if hasattr(kind, "nbytes") else 0
        weakref.ref(value)
        return size if isinstance(size, int) else 0
    except Exception:
        return 0


def _without_partial(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Return the same call without a partial object, if that is of a function that workers cannot import."""
    if is_partial_by_value(function):
        return function.func, (*function.args, *args), {**function.keywords, **kwargs}
    return function, args, kwargs


def _common_function(items: list[tuple[Any, Any, Any]]) -> FunctionType | None:
    """Return the function of all calls, if it is one that workers cannot import."""
    first = items[0][0]
    is_one = type(first) is FunctionType and all(function is first for function in map(_FUNCTION, items))
    return first if is_one and not is_importable(first) else None


def _call_carried(
    function: Any, items: list[tuple[Any, Any, Any]] | bytes, backend: Any, n_jobs: int | None, *values: Any
) -> list[Any]:
    """Make calls that have None in the place of `function`."""
    calls = items if isinstance(items, list) else unpack(items, values)
    return _call_batch([(function, *arguments) for _, *arguments in calls], backend, n_jobs, *values)


def _call_batch(items: list[tuple[Any, Any, Any]] | bytes, backend: Any, n_jobs: int | None, *values: Any) -> list[Any]:
    calls = items if isinstance(items, list) else unpack(items, values)
    if not values:
        with parallel_config(backend=backend, n_jobs=n_jobs):
            return [function(*args, **kwargs) for function, args, kwargs in calls]

    def find(value: Any) -> Any:
        return values[value.number] if type(value) is _Place else value

    with parallel_config(backend=backend, n_jobs=n_jobs):
        return [
            function(*(find(value) for value in args), **{name: find(value) for name, value in kwargs.items()})
            for function, args, kwargs in calls
        ]
