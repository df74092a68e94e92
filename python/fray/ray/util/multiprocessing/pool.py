"""The pool of the standard library, whose calls go to a `fray.Executor` in place of processes of its own."""

# pyright: basic, reportPrivateUsage=false, reportIncompatibleMethodOverride=false
# The standard library brings no types for the parts of a pool.

from __future__ import annotations

import multiprocessing.pool
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from functools import partial
from itertools import islice
from multiprocessing import TimeoutError
from typing import Any

from fray.executor import Executor
from fray.ray import _session
from fray.ray._options import check_options, task_options

__all__ = ["AsyncResult", "Pool", "TimeoutError"]

AsyncResult = multiprocessing.pool.AsyncResult
_RUN, _CLOSE, _TERMINATE = multiprocessing.pool.RUN, multiprocessing.pool.CLOSE, multiprocessing.pool.TERMINATE


def _run_chunk(func: Callable[[Any], Any], chunk: tuple[Any, ...]) -> list[Any]:
    return [func(item) for item in chunk]


class Pool(multiprocessing.pool.Pool):
    """Runs calls as tasks.

    Args:
        processes: the most calls that run at once; by default the number of CPUs, which is also the most.
        initializer, initargs: a function that each worker calls before its first call, and its arguments.
        maxtasksperchild: the number of calls after which a worker ends.
        context: ignored.
        ray_address: the address of a started node, where there is no session.
        ray_remote_args: options of the calls, as `ray.remote` takes them.
    """

    def __init__(
        self,
        processes: int | None = None,
        initializer: Callable[..., object] | None = None,
        initargs: Iterable[Any] | None = None,
        maxtasksperchild: int | None = None,
        context: Any = None,
        ray_address: str | None = None,
        ray_remote_args: dict[str, Any] | None = None,
    ) -> None:
        # The constructor of the base class is not called: it starts processes and threads.
        self._state = _CLOSE
        if not _session.is_initialized():
            _session.init(address=ray_address)
        found = _session.context()
        cpus = int(found.engine.status()["resources"]["total"].get("CPU", 1))
        if processes is not None and processes <= 0:
            raise ValueError("Processes in the pool must be >0.")
        if processes is not None and processes > cpus:
            raise ValueError(
                f"Tried to start a pool with {processes} processes on an existing ray cluster, but there "
                f"are only {cpus} CPUs in the ray cluster."
            )
        options = dict(ray_remote_args or {})
        check_options(options, for_actors=False)
        if maxtasksperchild:
            options["max_calls"] = maxtasksperchild
        self._pool = range(processes or cpus)  # its length is the size of the pool
        self._cache: dict[int, Any] = {}
        self._executor = Executor(
            len(self._pool),
            context=found,
            options=task_options(options, "Pool"),
            initializer=initializer,
            initargs=tuple(initargs or ()),
        )
        self._taskqueue = _Calls(self._executor, self._cache)
        self._state = _RUN

    def __del__(self) -> None:
        pass  # the base class warns of pools that were not closed

    def apply(self, func: Callable[..., Any], args: Any = None, kwargs: Any = None) -> Any:
        return self.apply_async(func, args, kwargs).get()

    def apply_async(
        self,
        func: Callable[..., Any],
        args: Any = None,
        kwargs: Any = None,
        callback: Any = None,
        error_callback: Any = None,
    ) -> Any:
        return super().apply_async(func, args or (), kwargs or {}, callback, error_callback)

    def starmap_async(
        self, func: Any, iterable: Any, callback: Any = None, error_callback: Any = None, chunksize: int | None = None
    ) -> Any:
        return super().starmap_async(func, iterable, chunksize, callback, error_callback)

    def imap(self, func: Callable[[Any], Any], iterable: Iterable[Any], chunksize: int | None = 1) -> Any:
        return self._iterate(func, iterable, chunksize or 1, ordered=True)

    def imap_unordered(self, func: Callable[[Any], Any], iterable: Iterable[Any], chunksize: int | None = 1) -> Any:
        return self._iterate(func, iterable, chunksize or 1, ordered=False)

    def _iterate(self, func: Callable[[Any], Any], iterable: Iterable[Any], size: int, ordered: bool) -> Any:
        if self._state != _RUN:
            raise ValueError("Pool not running")
        rest = iter(iterable)

        def start() -> Future[Any] | None:
            chunk = tuple(islice(rest, size))
            return self._executor.submit(_run_chunk, func, chunk) if chunk else None

        return _Results([future for future in (start() for _ in range(2 * len(self._pool))) if future], start, ordered)

    def close(self) -> None:
        """Take no more calls; the calls that were given go on."""
        if self._state == _RUN:
            self._state = _CLOSE
            self._executor.shutdown(wait=False)

    def terminate(self) -> None:
        """Take no more calls, and cancel those that have not begun."""
        self._state = _TERMINATE
        self._executor.shutdown(wait=False, cancel_futures=True)

    def join(self) -> None:
        """Wait for all calls; `close` or `terminate` comes first."""
        if self._state == _RUN:
            raise ValueError("Pool is still running")
        self._executor.shutdown(wait=True)


class _Calls:
    """The queue that the base class puts its calls into; it submits them to the executor."""

    def __init__(self, executor: Executor, results: dict[int, Any]) -> None:
        self._executor = executor
        self._results = results

    def put(self, work: tuple[Iterable[Any], object]) -> None:
        for job, index, func, args, kwargs in work[0]:
            future = self._executor.submit(func, *args, **kwargs)
            future.add_done_callback(partial(self._end, job, index))

    def _end(self, job: int, index: int, future: Future[Any]) -> None:
        result = self._results.get(job)
        if result is not None:
            error = CancelledError() if future.cancelled() else future.exception()
            result._set(index, (True, future.result()) if error is None else (False, error))


class _Results:
    """The iterator of `imap`, which submits a further chunk of calls whenever the results of one are taken."""

    def __init__(self, pending: list[Future[Any]], start: Callable[[], Future[Any] | None], ordered: bool) -> None:
        self._pending = pending
        self._start = start
        self._ordered = ordered
        self._values: list[Any] = []

    def __iter__(self) -> _Results:
        return self

    def __next__(self) -> Any:
        return self.next()

    def next(self, timeout: float | None = None) -> Any:
        """Return the next result."""
        while not self._values:
            if not self._pending:
                raise StopIteration
            candidates = self._pending[:1] if self._ordered else self._pending
            done, _ = wait(candidates, timeout, return_when=FIRST_COMPLETED)
            if not done:
                raise TimeoutError
            chosen = next(future for future in candidates if future in done)
            self._pending.remove(chosen)
            further = self._start()
            if further is not None:
                self._pending.append(further)
            self._values = chosen.result()[::-1]
        return self._values.pop()
