"""Fray in the hands of a program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import fray

from benchmarks.engines import CPUS
from benchmarks.real.tools import Tools


class FrayTools(Tools):
    peer = "fray"

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        if kind == "thread":
            opened: fray.JobContext = fray.ThreadContext(max_workers=CPUS)
        else:
            opened = fray.init(cpus=CPUS)
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
