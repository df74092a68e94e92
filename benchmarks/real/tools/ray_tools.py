"""Ray in the hands of a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ray
from benchmarks.engines.ray_engine import connection
from benchmarks.real.tools import Tools


class RayTools(Tools):
    peer = "ray"

    def __init__(self, address: str | None) -> None:
        super().__init__()
        self.closing.enter_context(connection(address))
        self._remote: dict[Any, Any] = {}

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        if function not in self._remote:
            self._remote[function] = ray.remote(function)
        return self._remote[function].remote(*args)

    def submit_waiting(self, function: Callable[..., Any], *args: Any) -> Any:
        return ray.remote(num_cpus=0)(function).remote(*args)

    def get(self, refs: Sequence[Any]) -> list[Any]:
        return ray.get(list(refs))

    def put(self, value: Any) -> Any:
        return ray.put(value)

    def actor(self, cls: type[Any], *args: Any) -> Any:
        return ray.remote(num_cpus=0)(cls).remote(*args)

    @property
    def joblib_backend(self) -> str:
        from ray.util.joblib import register_ray

        register_ray()
        return "ray"

    @property
    def dask_scheduler(self) -> Any:
        from ray.util.dask import ray_dask_get

        return ray_dask_get
