"""`Executor`: the interface of `concurrent.futures` to a `CallPool`."""

from __future__ import annotations

import itertools
import os
import time
import uuid
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from typing import Any, TypeVar

from fray._failures import unpack_exception
from fray.executor.calls import MappedFunction, call_chunk
from fray.executor.future import TaskFuture, checked_seconds
from fray.executor.pool import CallPool
from fray.job.context import JobContext
from fray.job.current import get_job_context
from fray.job.factory import worker_context
from fray.types import TaskOptions

__all__ = ["Executor"]

T = TypeVar("T")

_DEFAULTS = TaskOptions(max_retries=0)


class Executor(futures.Executor):
    """A `concurrent.futures.Executor` whose calls are tasks of a context.

    The calls of an executor that is made inside a task of the native engine hold no CPU: they use that of the task,
    which waits for them. In a task of a `ThreadContext`, wait with `result`, not with `concurrent.futures.wait`, which
    the context does not see. In a child of `os.fork` an executor begins anew, without the calls of its parent.

    Args:
        max_workers: most calls that run at the same time; by default what the context runs.
        context: where the calls run; by default the current context. It is not closed by `shutdown`.
        options: of every call. By default no call runs twice: when a worker dies, its unfinished calls fail with
            WorkerDiedError, and the others go on.
        initializer: called once in each worker process before its first call.
        initargs: arguments of the initializer.

    Raises:
        ValueError: `max_workers` is below 1, or ``options.num_returns`` is not 1.
        TypeError: an argument of another type.
    """

    def __init__(
        self,
        max_workers: int | None = None,
        *,
        context: JobContext | None = None,
        options: TaskOptions | None = None,
        initializer: Callable[..., object] | None = None,
        initargs: tuple[Any, ...] = (),
    ) -> None:
        if max_workers is not None:
            _check_count(max_workers, "max_workers")
        if options is not None and not isinstance(options, TaskOptions):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"Executor: options must be a TaskOptions(...) or None, got {type(options).__name__}")
        if options is not None and options.num_returns != 1:
            raise ValueError(f"Executor: a future has one result; num_returns must be 1, got {options.num_returns}")
        if initializer is not None and not callable(initializer):
            raise TypeError(f"Executor: initializer must be a function or None, got {initializer!r}")
        if not isinstance(initargs, (tuple, list)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"Executor: initargs must be a tuple such as (x,), got {initargs!r}")
        chosen = get_job_context() if context is None else context
        if not isinstance(chosen, JobContext):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"Executor: context must be a context of Fray or None, got {type(chosen).__name__}")
        parallelism = chosen.engine.parallelism
        limit = max_workers
        settled = options or _DEFAULTS
        if not settled.resources and max_workers is not None and max_workers >= parallelism:
            limit = None  # the context's own limit is as low
        if chosen is worker_context():
            settled = _without_cpu(settled)
            limit = max_workers or parallelism
        self._pool = CallPool(chosen, settled, limit, _pack_initializer(initializer, initargs))
        self._end = weakref.finalize(self, self._pool.close)
        self._end.atexit = False  # see CallPool

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> TaskFuture[T]:
        """Start ``fn(*args, **kwargs)`` and return its future.

        Raises:
            RuntimeError: after `shutdown`.
            BrokenExecutor: the initializer has failed, or the context is gone.
        """
        return self._pool.submit(fn, args, kwargs)

    def map(
        self,
        fn: Callable[..., T],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
        buffersize: int | None = None,
    ) -> Iterator[T]:
        """Return an iterator of ``fn(*items)``, in order. Calls start now; the rest is cancelled when one raises.

        Args:
            fn: called with one item of each iterable. Workers may get it, and what it refers to, as they are when the
                first call is sent.
            iterables: taken from until the shortest ends, at once unless `buffersize` is given.
            timeout: seconds from now within which each result must be there.
            chunksize: items for one task.
            buffersize: the most chunks whose results were not taken; for endless iterables.

        Raises:
            TimeoutError: when a result is not there in time.
        """
        _check_count(chunksize, "map: chunksize")
        if buffersize is not None:
            _check_count(buffersize, "map: buffersize")
        timeout = checked_seconds(timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        items = zip(*iterables, strict=False)
        if chunksize == 1:
            mapped = MappedFunction(fn)
            calls = (self._pool.submit(mapped, arguments, {}) for arguments in items)
        else:
            mapped = MappedFunction(fn, call_chunk)
            calls = (self._pool.submit(mapped, (chunk,), {}) for chunk in _chunks(items, chunksize))
        started: deque[TaskFuture[Any]] = deque()
        try:
            started.extend(calls if buffersize is None else itertools.islice(calls, buffersize))
        except BaseException:  # of an iterable, or Ctrl-C: nobody gets these futures
            _cancel(started)
            raise
        return _results(started, calls, deadline, chunksize > 1)

    def interrupt(self) -> None:
        """Cancel all calls, also those that run: a TaskCancelledError is raised in them. Takes calls as before."""
        self._pool.interrupt()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls.

        Args:
            wait: return when all calls have ended.
            cancel_futures: cancel the calls that have not begun.
        """
        self._pool.close(cancel_futures)
        if wait:
            self._pool.join()

    def __reduce__(self) -> Any:
        raise TypeError(
            "a fray.Executor cannot be pickled, so it is no argument, result or captured variable of a task; pass its "
            "context, and make a fray.Executor(context=...) where it arrives"
        )


def _results(
    started: deque[TaskFuture[Any]], more: Iterator[TaskFuture[Any]], deadline: float | None, chunked: bool
) -> Iterator[Any]:
    try:
        while started:
            # No variable here holds a yielded result, so that it is freed as soon as its receiver drops it.
            if not chunked:
                yield _next_result(started, more, deadline)
                continue
            values, failure = _next_result(started, more, deadline)
            values.reverse()
            while values:
                yield values.pop()
            if failure is not None:
                raise unpack_exception(failure)
    finally:
        _cancel(started)


def _cancel(started: deque[TaskFuture[Any]]) -> None:
    while started:
        started.pop().cancel()


def _next_result(started: deque[TaskFuture[Any]], more: Iterator[TaskFuture[Any]], deadline: float | None) -> Any:
    value: Any = started[0].result(None if deadline is None else deadline - time.monotonic())
    started.popleft()
    started.extend(itertools.islice(more, 1))
    return value


def _chunks(items: Iterator[tuple[Any, ...]], size: int) -> Iterator[list[tuple[Any, ...]]]:
    while chunk := list(itertools.islice(items, size)):
        yield chunk


def _pack_initializer(
    initializer: Callable[..., object] | None, arguments: tuple[Any, ...]
) -> tuple[str, bytes] | None:
    if initializer is None:
        return None
    from fray._by_value import dumps

    payload = dumps((initializer, arguments))
    return f"{os.getpid()}.{uuid.uuid4().hex}", payload


def _without_cpu(options: TaskOptions) -> TaskOptions:
    from dataclasses import replace

    return replace(options, resources={"CPU": 0, **options.resources})


def _check_count(value: object, what: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"Executor: {what} must be a whole number of at least 1, got {value!r}")
    if value < 1:
        raise ValueError(f"Executor: {what} must be greater than 0, got {value}")
