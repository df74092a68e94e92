"""`Tools`: the few calls of an engine that the programs use.

Each engine has a module here, which only its own programs import: workers import the module of a program, and would pay
for what other engines need.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from importlib import import_module
from typing import Any

from benchmarks.actors import method
from benchmarks.engines import CPUS


class Tools(ABC):
    """An engine in the hands of a program. Closed by `closing`.

    Attributes:
        peer: its name.
        kind: of Fray's contexts, as `open_tools` takes it.
        joblib_backend: what `joblib.parallel_config` is told.
        dask_scheduler: what Dask's `compute` is told.
    """

    peer = ""
    kind = "native"

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


def open_tools(peer: str, fray_context: str, ray_address: str | None, waiters: int = CPUS) -> Tools:
    """Start an engine.

    Args:
        peer: its name.
        fray_context: "native" or "thread".
        ray_address: of the Ray to connect to.
        waiters: processes of an engine that has no tasks without a CPU.
    """
    place, *arguments = {
        "fray": ("fray_tools.FrayTools", fray_context),
        "pool": ("pool_tools.PoolTools", waiters),
        "joblib": ("loky_tools.LokyTools", waiters),
        "dask": ("dask_tools.DaskTools",),
        "ray": ("ray_tools.RayTools", ray_address),
    }[peer]
    module, _, name = place.partition(".")
    return getattr(import_module(f"{__name__}.{module}"), name)(*arguments)
