"""`Tools`: the few calls of an engine that the programs use, and what each engine has for them."""

from __future__ import annotations

import multiprocessing
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import cached_property
from multiprocessing.managers import BaseManager
from multiprocessing.pool import Pool, ThreadPool
from typing import Any

from benchmarks.actors import method
from benchmarks.engines import CPUS


class Tools(ABC):
    """An engine in the hands of a program. Closed by `closing`.

    Attributes:
        peer: its name.
        joblib_backend: what `joblib.parallel_config` is told.
        dask_scheduler: what Dask's `compute` is told.
    """

    peer = ""

    def __init__(self) -> None:
        self.closing = ExitStack()

    @property
    def joblib_backend(self) -> str:
        raise NotImplementedError(f"{self.peer} is no backend of joblib")

    @property
    def dask_scheduler(self) -> Any:
        raise NotImplementedError(f"{self.peer} is no scheduler of Dask")

    @abstractmethod
    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        """Start a call and return its ref; arguments may be refs."""

    @abstractmethod
    def get(self, refs: Sequence[Any]) -> list[Any]:
        """Return the values of refs."""

    def submit_waiting(self, function: Callable[..., Any], *args: Any) -> Any:
        """Start a call that only waits, so that it is to hold no CPU."""
        return self.submit(function, *args)

    def map(self, function: Callable[..., Any], items: Iterable[Any]) -> list[Any]:
        """Return the function's value for each item."""
        return self.get([self.submit(function, item) for item in items])

    def stream(self, function: Callable[..., Any], items: Iterable[Any], ahead: int) -> Iterator[Any]:
        """Yield the function's value for each item in order, with so many calls under way."""
        refs: deque[Any] = deque()
        for item in items:
            refs.append(self.submit(function, item))
            if len(refs) > ahead:
                yield self.get([refs.popleft()])[0]
        while refs:
            yield self.get([refs.popleft()])[0]

    def put(self, value: Any) -> Any:
        """Return what a program hands to several calls in place of the value."""
        return value

    def actor(self, cls: type[Any], *args: Any) -> Any:
        """Return the handle of a new actor."""
        raise NotImplementedError(f"{self.peer} has no actors")

    def call(self, handle: Any, name: str, *args: Any) -> Any:
        """Call a method of an actor and return a ref."""
        return method(self.peer, handle, name)(*args)


class FrayTools(Tools):
    peer = "fray"

    def __init__(self, kind: str) -> None:
        import fray

        super().__init__()
        opened = fray.init(cpus=CPUS) if kind == "native" else fray.ThreadContext(max_workers=CPUS)
        self._context = self.closing.enter_context(opened)
        self._waiting = fray.TaskOptions(resources={"CPU": 0})

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        return self._context.run(function, *args)

    def get(self, refs: Sequence[Any]) -> list[Any]:
        return self._context.get(list(refs))

    def map(self, function: Callable[..., Any], items: Iterable[Any]) -> list[Any]:
        return list(self._context.map(function, items))

    def put(self, value: Any) -> Any:
        return self._context.put(value)

    def submit_waiting(self, function: Callable[..., Any], *args: Any) -> Any:
        return self._context.create_task(function, args, options=self._waiting)

    def actor(self, cls: type[Any], *args: Any) -> Any:
        return self._context.create_actor(cls, *args)

    @property
    def joblib_backend(self) -> str:
        from fray.joblib import register

        register()
        return "fray"

    @property
    def dask_scheduler(self) -> Any:
        import fray.dask

        return fray.dask.get


class PoolTools(Tools):
    """`multiprocessing.Pool`, and its managers in place of actors."""

    peer = "pool"
    joblib_backend = "multiprocessing"

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size

    @cached_property
    def _pool(self) -> Pool:
        pool = multiprocessing.get_context("fork").Pool(self._size)
        self.closing.callback(pool.join)
        self.closing.callback(pool.terminate)
        return pool

    @cached_property
    def _threads(self) -> ThreadPool:
        return self.closing.enter_context(ThreadPool(16))

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        return self._pool.apply_async(function, [_value(arg) for arg in args])

    def get(self, refs: Sequence[Any]) -> list[Any]:
        return [_value(ref) for ref in refs]

    def map(self, function: Callable[..., Any], items: Iterable[Any]) -> list[Any]:
        return self._pool.map(function, items)

    def actor(self, cls: type[Any], *args: Any) -> Any:
        class Manager(BaseManager):
            pass

        Manager.register("make", cls)
        manager = Manager(ctx=multiprocessing.get_context("fork"))
        manager.start()
        self.closing.callback(manager.shutdown)
        return manager.make(*args)  # type: ignore[attr-defined]

    def call(self, handle: Any, name: str, *args: Any) -> Any:
        """The proxy waits for its answer, so a thread does; each thread has a connection of its own."""
        return self._threads.apply_async(getattr(handle, name), [_value(arg) for arg in args])


class LokyTools(Tools):
    peer = "joblib"
    joblib_backend = "loky"

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size

    @cached_property
    def _executor(self) -> Any:
        from joblib.executor import get_memmapping_executor

        executor = get_memmapping_executor(self._size)
        self.closing.callback(executor.shutdown)
        return executor

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        return self._executor.submit(function, *[_value(arg) for arg in args])

    def get(self, refs: Sequence[Any]) -> list[Any]:
        return [_value(ref) for ref in refs]

    def map(self, function: Callable[..., Any], items: Iterable[Any]) -> list[Any]:
        """Call joblib, as programs do: the executor alone hands on old arrays, though they have changed since."""
        from joblib import Parallel, delayed

        return Parallel(n_jobs=self._size, backend="loky")(delayed(function)(item) for item in items)


class DaskTools(Tools):
    """Dask's scheduler of processes."""

    peer = "dask"
    dask_scheduler = "processes"

    def __init__(self) -> None:
        from concurrent.futures import ProcessPoolExecutor

        import dask

        super().__init__()
        pool = self.closing.enter_context(ProcessPoolExecutor(CPUS, mp_context=multiprocessing.get_context("spawn")))
        self.closing.enter_context(dask.config.set(pool=pool))

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        from dask import delayed

        return delayed(function)(*args)

    def get(self, refs: Sequence[Any]) -> list[Any]:
        import dask

        return list(dask.compute(*refs, scheduler="processes"))


class RayTools(Tools):
    peer = "ray"

    def __init__(self, address: str | None) -> None:
        import ray
        from benchmarks.engines.ray_engine import connection

        super().__init__()
        self.closing.enter_context(connection(address))
        self._remote: dict[Any, Any] = {}
        self._ray = ray

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        if function not in self._remote:
            self._remote[function] = self._ray.remote(function)
        return self._remote[function].remote(*args)

    def submit_waiting(self, function: Callable[..., Any], *args: Any) -> Any:
        return self._ray.remote(num_cpus=0)(function).remote(*args)

    def get(self, refs: Sequence[Any]) -> list[Any]:
        return self._ray.get(list(refs))

    def put(self, value: Any) -> Any:
        return self._ray.put(value)

    def actor(self, cls: type[Any], *args: Any) -> Any:
        return self._ray.remote(num_cpus=0)(cls).remote(*args)

    @property
    def joblib_backend(self) -> str:
        from ray.util.joblib import register_ray

        register_ray()
        return "ray"

    @property
    def dask_scheduler(self) -> Any:
        from ray.util.dask import ray_dask_get

        return ray_dask_get


def open_tools(peer: str, fray_context: str, ray_address: str | None, waiters: int = CPUS) -> Tools:
    """Start an engine.

    Args:
        peer: its name.
        fray_context: "native" or "thread".
        ray_address: of the Ray to connect to.
        waiters: processes of an engine that has no tasks without a CPU.
    """
    makers: dict[str, Callable[[], Tools]] = {
        "fray": lambda: FrayTools(fray_context),
        "pool": lambda: PoolTools(waiters),
        "joblib": lambda: LokyTools(waiters),
        "dask": DaskTools,
        "ray": lambda: RayTools(ray_address),
    }
    return makers[peer]()


def _value(ref: Any) -> Any:
    """Return the value of what may be a future."""
    if hasattr(ref, "result"):
        return ref.result()
    return ref.get() if type(ref).__module__ == "multiprocessing.pool" else ref
