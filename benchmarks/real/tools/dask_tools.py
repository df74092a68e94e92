"""Dask's scheduler of processes in the hands of a program."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import dask

from benchmarks.engines import CPUS
from benchmarks.real.tools import Tools


class DaskTools(Tools):
    peer = "dask"
    dask_scheduler = "processes"

    def __init__(self) -> None:
        super().__init__()
        pool = self.closing.enter_context(ProcessPoolExecutor(CPUS, mp_context=multiprocessing.get_context("spawn")))
        self.closing.enter_context(dask.config.set(pool=pool))

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        return dask.delayed(function)(*args)

    def get(self, refs: Sequence[Any]) -> list[Any]:
        return list(dask.compute(*refs, scheduler="processes"))
