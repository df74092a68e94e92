"""The pool: `multiprocessing.Pool`'s interface in front of `fray.Executor`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future
from concurrent.futures import wait as wait_futures
from itertools import islice
from multiprocessing import TimeoutError
from typing import Any

from fray.executor import Executor
from fray.ray import _session
from fray.ray._options import check_options, task_options

__all__ = ["AsyncResult", "Pool", "TimeoutError"]


def _run_chunk(fn: Callable[..., Any], chunk: list[Any], star: bool) -> list[Any]:
    return [fn(*item) if star else fn(item) for item in chunk]


class AsyncResult:
    """What the ``_async`` methods return."""

    def __init__(
        self,
        futures: list[Future[Any]],
        gather: Callable[[list[Any]], Any],
        callback: Callable[[Any], object] | None,
        error_callback: Callable[[BaseException], object] | None,
    ) -> None:
        self._futures = futures
        self._gather = gather
        self._told = threading.Event()
        if callback is not None or error_callback is not None:
            threading.Thread(target=self._tell, args=(callback, error_callback), daemon=True).start()
        else:
            self._told.set()

    def _tell(
        self, callback: Callable[[Any], object] | None, error_callback: Callable[[BaseException], object] | None
    ) -> None:
        try:
            try:
                value = self._value(None)
            except BaseException as error:
                if error_callback is not None:
                    error_callback(error)
            else:
                if callback is not None:
                    callback(value)
        finally:
            self._told.set()

    def _value(self, timeout: float | None) -> Any:
        done, rest = wait_futures(self._futures, timeout)
        if rest and not any(future.exception() for future in done):
            raise TimeoutError
        return self._gather([future.result() for future in self._futures])

    def wait(self, timeout: float | None = None) -> None:
        """Wait until all calls have ended."""
        wait_futures(self._futures, timeout)

    def get(self, timeout: float | None = None) -> Any:
        """Return the result, or raise what the first call raised."""
        value = self._value(timeout)
        self._told.wait()
        return value

    def ready(self) -> bool:
        """Return whether all calls have ended."""
        return all(future.done() for future in self._futures)

    def successful(self) -> bool:
        """Return whether none of the calls raised."""
        if not self.ready():
            raise ValueError(f"{self!r} not ready")
        return all(future.exception() is None for future in self._futures)


class Pool:
    """Runs calls as tasks.

    Args:
        processes: most calls at once; by default the CPUs of the session, and not more than those.
        initializer, initargs: called in each worker before its first call.
        maxtasksperchild: calls after which a worker ends.
        context: taken and ignored.
        ray_address: of a started node, where there is no session.
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
        del context
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
        self._processes = processes or cpus
        self._executor = Executor(
            self._processes,
            context=found,
            options=task_options(options, "Pool"),
            initializer=initializer,
            initargs=tuple(initargs or ()),
        )
        self._closed = False

    def _check_running(self) -> None:
        if self._closed:
            raise ValueError("Pool not running")

    def _start(
        self,
        fn: Callable[..., Any],
        items: Iterable[Any],
        chunksize: int | None,
        star: bool,
        callback: Callable[[Any], object] | None,
        error_callback: Callable[[BaseException], object] | None,
    ) -> AsyncResult:
        self._check_running()
        values = list(items)
        size = chunksize or max(1, -(-len(values) // (4 * self._processes)))
        chunks = [values[start : start + size] for start in range(0, len(values), size)]
        futures: list[Future[Any]] = [self._executor.submit(_run_chunk, fn, chunk, star) for chunk in chunks]
        return AsyncResult(futures, lambda parts: [item for part in parts for item in part], callback, error_callback)

    def apply(self, func: Callable[..., Any], args: Any = None, kwargs: Any = None) -> Any:
        """Call ``func(*args, **kwargs)`` and return its result."""
        return self.apply_async(func, args, kwargs).get()

    def apply_async(
        self,
        func: Callable[..., Any],
        args: Any = None,
        kwargs: Any = None,
        callback: Callable[[Any], object] | None = None,
        error_callback: Callable[[BaseException], object] | None = None,
    ) -> AsyncResult:
        """Start ``func(*args, **kwargs)``."""
        self._check_running()
        future = self._executor.submit(func, *(args or ()), **(kwargs or {}))
        return AsyncResult([future], lambda values: values[0], callback, error_callback)

    def map(self, func: Callable[[Any], Any], iterable: Iterable[Any], chunksize: int | None = None) -> list[Any]:
        """Return ``[func(item), ...]``."""
        return self.map_async(func, iterable, chunksize).get()

    def map_async(
        self,
        func: Callable[[Any], Any],
        iterable: Iterable[Any],
        chunksize: int | None = None,
        callback: Callable[[Any], object] | None = None,
        error_callback: Callable[[BaseException], object] | None = None,
    ) -> AsyncResult:
        """Start ``func(item)`` for each item."""
        return self._start(func, iterable, chunksize, False, callback, error_callback)

    def starmap(self, func: Callable[..., Any], iterable: Iterable[Any], chunksize: int | None = None) -> list[Any]:
        """Return ``[func(*item), ...]``."""
        return self.starmap_async(func, iterable, chunksize=chunksize).get()

    def starmap_async(
        self,
        func: Callable[..., Any],
        iterable: Iterable[Any],
        callback: Callable[[Any], object] | None = None,
        error_callback: Callable[[BaseException], object] | None = None,
        chunksize: int | None = None,
    ) -> AsyncResult:
        """Start ``func(*item)`` for each item."""
        return self._start(func, iterable, chunksize, True, callback, error_callback)

    def imap(self, func: Callable[[Any], Any], iterable: Iterable[Any], chunksize: int | None = 1) -> Iterator[Any]:
        """Return an iterator of the results in order."""
        return self._iterate(func, iterable, chunksize, ordered=True)

    def imap_unordered(
        self, func: Callable[[Any], Any], iterable: Iterable[Any], chunksize: int | None = 1
    ) -> Iterator[Any]:
        """Return an iterator of the results as they become ready."""
        return self._iterate(func, iterable, chunksize, ordered=False)

    def _iterate(
        self, func: Callable[[Any], Any], iterable: Iterable[Any], chunksize: int | None, ordered: bool
    ) -> Iterator[Any]:
        self._check_running()
        rest = iter(iterable)
        size = chunksize or 1

        def start() -> Future[Any] | None:
            chunk = list(islice(rest, size))
            return self._executor.submit(_run_chunk, func, chunk, False) if chunk else None

        pending = [future for future in (start() for _ in range(2 * self._processes)) if future is not None]
        return _Results(pending, start, ordered)

    def close(self) -> None:
        """Take no more calls; those that were given go on."""
        self._closed = True
        self._executor.shutdown(wait=False)

    def terminate(self) -> None:
        """Take no more calls, and cancel those that have not begun."""
        self._closed = True
        self._executor.shutdown(wait=False, cancel_futures=True)

    def join(self) -> None:
        """Wait for all calls; `close` or `terminate` comes first."""
        if not self._closed:
            raise ValueError("Pool is still running")
        self._executor.shutdown(wait=True)

    def __enter__(self) -> Pool:
        self._check_running()
        return self

    def __exit__(self, *exc: object) -> None:
        self.terminate()


class _Results:
    """The results of `imap`: chunks that run, and the next ones behind them."""

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
            chosen = self._chosen(timeout)
            self._pending.remove(chosen)
            further = self._start()
            if further is not None:
                self._pending.append(further)
            self._values = chosen.result()[::-1]
        return self._values.pop()

    def _chosen(self, timeout: float | None) -> Future[Any]:
        candidates = self._pending[:1] if self._ordered else self._pending
        done, _ = wait_futures(candidates, timeout, return_when=FIRST_COMPLETED)
        if not done:
            raise TimeoutError
        return next(future for future in candidates if future in done)
