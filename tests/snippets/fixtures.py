"""What the snippets find around them, by the names that snippets.toml gives."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fray
import pytest
from fray import Entrypoint, JobRequest, JobStatus, RuntimeEnv, create_environment

WAIT_SECONDS = 90


class StatusActor:
    def __init__(self, cache_size: int = 10_000):
        self.data: dict[str, object] = {}

    def get_value(self, key: str) -> object:
        return self.data.get(key)


def work(value: Any) -> Any:
    return value


class Recorder:
    """The jobs of a cluster that nobody has: remembers what was asked."""

    def __init__(self) -> None:
        self.orders: list[Any] = []

    def submit(self, order: Any) -> str:
        self.orders.append(order)
        return order.submission_id


def ray_module() -> Any:
    import ray

    return ray


def cluster_context(jobs: Any = None, **keywords: Any) -> Any:
    from fray.backend.ray.cluster import RayClusterContext

    context = RayClusterContext(dashboard_address="http://ray:8265" if jobs else None)
    if jobs is not None:
        context._cluster._jobs = jobs
    return context


class Clock:
    """``time`` whose sleep ends when the newest job is where the snippet expects it to be."""

    time_ns = staticmethod(time.time_ns)

    def __init__(self) -> None:
        self._cluster = cluster_context()

    def sleep(self, seconds: float) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        wanted = {2: ("RUNNING",)}.get(int(seconds), ("SUCCEEDED", "FAILED", "STOPPED"))
        while time.monotonic() < deadline:
            job = max(self._cluster.list_jobs(), key=lambda job: job["id"] if job["id"].startswith("fray-") else "")
            if job["status"] in wanted:
                return
            time.sleep(0.1)


def fixtures(ctx: fray.JobContext, folder: Path) -> dict[str, Callable[[], dict[str, Any]]]:
    """Return what makes each fixture: names and values of a snippet's globals."""
    recorder = Recorder()

    def environment_names() -> dict[str, Any]:
        return {"JobRequest": JobRequest, "create_environment": create_environment}

    def project() -> dict[str, Any]:
        (folder / "pyproject.toml").write_text(
            '[project]\nname = "p"\nversion = "0"\nrequires-python = ">=3.11"\n'
            "[project.optional-dependencies]\ntpu = []\n"
            "[tool.uv]\npackage = false\n"
        )
        return {}

    def own_self() -> dict[str, Any]:
        from fray.backend.ray.cluster import RayClient

        return {"self": RayClient(local=True)}

    def build() -> dict[str, Any]:
        from fray.backend.ray.environment import build_runtime_env

        return {"build_runtime_env": build_runtime_env}

    def ray_client() -> dict[str, Any]:
        from fray.backend.ray.cluster import RayClient

        return {"RayClient": RayClient}

    request = JobRequest("r", Entrypoint.from_callable(print))
    finished = SimpleNamespace(launch=lambda request: "id", wait=lambda job, raise_on_failure: JobStatus.SUCCEEDED)
    return {
        "os": lambda: {"os": os},
        "ray": lambda: {"ray": ray_module()},
        "pytest": lambda: {"pytest": pytest},
        "time": lambda: {"time": Clock()},
        "subprocess": lambda: {"subprocess": subprocess},
        "threading": lambda: {"threading": threading},
        "Path": lambda: {"Path": Path},
        "ABC": lambda: {"ABC": ABC},
        "Any": lambda: {"Any": Any},
        "abstractmethod": lambda: {"abstractmethod": abstractmethod},
        "Callable": lambda: {"Callable": Callable},
        "JobContext": lambda: {"JobContext": fray.JobContext},
        "ClusterContext": lambda: {"ClusterContext": fray.ClusterContext},
        "RuntimeEnv": lambda: {"RuntimeEnv": RuntimeEnv},
        "JobRequest": environment_names,
        "create_environment": environment_names,
        "Entrypoint": lambda: {"Entrypoint": Entrypoint},
        "EnvironmentConfig": lambda: {"EnvironmentConfig": fray.EnvironmentConfig},
        "get_job_context": lambda: {"get_job_context": fray.get_job_context},
        "request": lambda: {"request": request},
        "self": lambda: {"self": SimpleNamespace(ctx=ctx)},
        "client self": own_self,
        "build_runtime_env": build,
        "RayClient": ray_client,
        "set_current_client": lambda: {"set_current_client": getattr(fray, "set_current_client", work)},
        "LocalClusterContext": lambda: {"LocalClusterContext": local_cluster_context()},
        "RayClusterContext": lambda: {"RayClusterContext": cluster_context},
        "recording RayClusterContext": lambda: {
            "RayClusterContext": lambda dashboard_address: cluster_context(recorder)
        },
        "cluster": lambda: {"cluster": cluster_context(recorder)},
        "variables": lambda: {"env": {"FOO": "bar"}},
        "env": lambda: {"env": RuntimeEnv()},
        "a folder": dict,
        "pretended TPU": dict,
        "own process": dict,
        "a project": project,
        "current_cluster": lambda: {"current_cluster": lambda: finished},
        "train_lm": lambda: {"train_lm": SimpleNamespace(main=work)},
        "config": lambda: {"config": SimpleNamespace(resources=fray.ResourceConfig())},
        "ctx": lambda: {"ctx": ctx},
        "recording ctx": lambda: {"ctx": SimpleNamespace(create_task=lambda fn, args, options: options)},
        "StatusActor": lambda: {"StatusActor": StatusActor},
        "schedule_on_head_node_strategy": lambda: {"schedule_on_head_node_strategy": lambda: None},
        "is_local_ray_cluster": lambda: {"is_local_ray_cluster": lambda: True},
        "process": lambda: {"process": work},
        "data": lambda: {"data": "data"},
        "task": lambda: {"task": work},
        "some_task": lambda: {"some_task": work},
        "remote some_task": lambda: {"some_task": ray_module().remote(work)},
        "remote task": lambda: {"task": ray_module().remote(work)},
        "items": lambda: {"items": [1, 2, 3, 4]},
        "args": lambda: {"args": 5},
        "my_function": lambda: {"my_function": work},
        "expected": lambda: {"expected": 5},
        "input_path": lambda: {"input_path": "in"},
        "output_path": lambda: {"output_path": "out"},
        "result": lambda: {"result": "done"},
        "step": lambda: {"step": SimpleNamespace(fn=work, name="step")},
        "get_fn_name": lambda: {"get_fn_name": lambda fn, short: fn.__name__},
        "runtime_env": lambda: {"runtime_env": {"env_vars": {}}},
        "pip_packages": lambda: {"pip_packages": []},
    }


def local_cluster_context() -> type[Any]:
    """Return the class where this build has it, else one that does what the document says."""
    from fray.backend import in_memory

    return getattr(in_memory, "LocalClusterContext", None) or _Refusing


class _Refusing(fray.ClusterContext):
    def create_job(self, entrypoint: str, env: RuntimeEnv) -> str:
        raise NotImplementedError("In-memory backend doesn't support create_job with string entrypoints.")

    def list_jobs(self) -> list[Any]:
        return []

    def delete_job(self, job_id: str) -> None: ...
