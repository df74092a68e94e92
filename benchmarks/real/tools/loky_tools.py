"""joblib with its own processes (loky) in the hands of a program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from functools import cached_property
from typing import Any

from joblib import Parallel, delayed
from joblib.executor import get_memmapping_executor

from benchmarks.real.tools import Tools


class LokyTools(Tools):
    peer = "joblib"
    joblib_backend = "loky"

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size

    @cached_property
    def _executor(self) -> Any:
        executor = get_memmapping_executor(self._size)
        self.closing.callback(executor.shutdown)
        return executor

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        return self._executor.submit(function, *[_value(arg) for arg in args])

    def get(self, refs: Sequence[Any]) -> list[Any]:
        return [_value(ref) for ref in refs]

    def map(self, function: Callable[..., Any], items: Iterable[Any]) -> list[Any]:
        """Call joblib, as programs do: the executor alone hands on old arrays, though they have changed since."""
        return Parallel(n_jobs=self._size, backend="loky")(delayed(function)(item) for item in items)


def _value(ref: Any) -> Any:
    """Return the value of what may be a future."""
    return ref.result() if isinstance(ref, Future) else ref
