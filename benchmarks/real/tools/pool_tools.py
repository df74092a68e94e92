"""`multiprocessing.Pool` in the hands of a program."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from multiprocessing.managers import BaseManager
from multiprocessing.pool import ApplyResult, Pool, ThreadPool
from typing import Any

from benchmarks.real.tools import Tools


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


def _value(ref: Any) -> Any:
    """Return the value of what may be the result of a call."""
    return ref.get() if isinstance(ref, ApplyResult) else ref
