"""What `fray` offers, and what importing it costs."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import subprocess
import sys

import fray
import pytest
from fray import errors

HEAVY = ("ray", "numpy", "asyncio", "cloudpickle", "multiprocessing", "concurrent.futures", "urllib", "logging", "json")
MODULE_BUDGET = 75
NEEDS_RAY = ("RayClient", "RayCluster", "RayClusterContext", "RayJobContext")
"""Imported when they are asked for, so they are not in ``__all__``."""
HAS_RAY = importlib.util.find_spec("ray") is not None


def test_all_is_sorted_and_is_what_is_public():
    assert fray.__all__ == sorted(fray.__all__)
    for name in fray.__all__:
        assert getattr(fray, name) is not None
    public = {name for name, value in vars(fray).items() if not name.startswith("_") and not inspect.ismodule(value)}
    public -= {"TYPE_CHECKING", "Any", "annotations", "lazy_attribute", *NEEDS_RAY, "Client"}
    assert public | {"__version__"} == set(fray.__all__)


def test_every_error_is_public_and_in_the_tree():
    drawn = errors.__doc__ or ""
    for name in errors.__all__:
        assert name in drawn
        assert getattr(fray, name) is getattr(errors, name)
        assert name == "RemoteTraceback" or issubclass(getattr(errors, name), errors.FrayError)


@pytest.mark.parametrize(
    ("name", "also"),
    [
        ("TaskTimeoutError", TimeoutError),
        ("GetTimeoutError", TimeoutError),
        ("DeadlockError", RuntimeError),
        ("InfeasibleError", ValueError),
        ("SerializationError", TypeError),
        ("ContextClosedError", RuntimeError),
        ("ForeignRefError", ValueError),
        ("SettingsError", ValueError),
        ("ActorNotFoundError", ValueError),
        ("NameTakenError", ValueError),
        ("AlreadyInitializedError", RuntimeError),
        ("UnsupportedError", NotImplementedError),
    ],
)
def test_errors_are_also_builtin_ones(name: str, also: type[Exception]):
    assert issubclass(getattr(errors, name), also)


def test_import_brings_few_modules_and_no_heavy_one():
    code = "import sys; before = set(sys.modules); import fray; print(*sorted(set(sys.modules) - before))"
    brought = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not [name for name in brought if name.split(".")[0] in HEAVY or name in HEAVY]
    assert len(brought) <= MODULE_BUDGET, brought


def test_node_can_be_started_before_what_it_does_not_need_is_imported():
    code = (
        "import sys, fray; from fray.backend.native import begin; "
        "print(*(name for name in sys.argv[1:] if name in sys.modules))"
    )
    later = ("fray.types", "fray.job.context", "fray.backend.native.context", "fray.backend.native.engine")
    command = [sys.executable, "-c", code, *later, "cloudpickle", "dataclasses", "inspect"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == []


def test_modules_of_values_are_found_without_an_import_of_their_own():
    code = "import fray; print(fray.types.TaskOptions is fray.TaskOptions, fray.JobContext, fray.ObjectRef)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.startswith("True <class 'fray.job.context.JobContext'>")


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("fray", ("get_job_context", "set_job_context", "TaskOptions", "ActorOptions", "Lifetime", "RuntimeEnv")),
        ("fray", ("LocalJobContext",)),
        ("fray.types", ("EntryPoint", "TaskOptions", "RuntimeEnv")),
        ("fray.job", ("JobContext", "SyncContext", "ThreadContext", "GeneratorFuture", "create_job_ctx")),
        ("fray.job", ("ActorHandle", "ActorMethod", "SimpleActor", "ThreadActorHandle", "ThreadActorMethod")),
        ("fray.job", ("ActorContext", "current_actor")),
        ("fray.job", ("fray_default_job_ctx", "get_default_job_ctx")),
        ("fray.job.context", ("JobContext", "SyncContext", "ThreadContext", "create_job_ctx", "get_default_job_ctx")),
        ("fray.backend.in_memory", ("LocalJobContext",)),
        ("fray", ("JobRequest", "ResourceConfig", "EnvironmentConfig", "Entrypoint", "JobId", "JobInfo", "JobStatus")),
        ("fray.types", ("JobRequest", "ResourceConfig", "Entrypoint", "create_environment", "get_tpu_topology")),
        (
            "fray.cluster",
            ("JobRequest", "CpuConfig", "GpuConfig", "TpuConfig", "DeviceKind", "FlopDtype", "TaskStatus"),
        ),
        ("fray.cluster.base", ("JobRequest", "ResourceConfig", "TpuTopologyInfo", "TpuType", "ClusterContext")),
        ("fray.cluster.device_flops", ("device_flops", "device_flops_for_jax_device")),
        ("fray.queue", ("MemoryQueue", "FileQueue", "HttpQueue", "HttpQueueServer", "Lease", "Queue")),
        ("fray.v2", ("JobRequest", "ResourceConfig", "BinaryEntrypoint", "CallableEntrypoint", "ActorContext")),
        ("fray.v2.types", ("JobRequest", "ResourceConfig", "create_environment", "DeviceConfig")),
        ("fray", (*NEEDS_RAY, "Client")),
        ("fray.job", ("ContextConfig", "RayContext")),
        ("fray.job.context", ("ContextConfig", "RayContext", "_job_context")),
        ("fray.context", ("JobContext", "create_job_ctx")),
        ("fray.v2.client", ("JobHandle", "JobFailed", "current_client", "set_current_client", "wait_all")),
        ("fray.v2.actor", ("ActorHandle", "ActorMethod", "current_actor")),
        ("fray.v2.local", ("LocalClient", "LocalActorHandle")),
        ("fray.v2.local_backend", ("LocalClient",)),
        ("fray.v2.ray", ()),
        ("fray.v2.ray.fn_thunk", ("create_thunk_entrypoint", "main")),
        ("fray.v2.device_flops", ("device_flops", "jax_device_kind_to_fray_device_type")),
    ],
)
def test_old_paths_import(module: str, names: tuple[str, ...]):
    if not HAS_RAY and {"RayContext", *NEEDS_RAY} & set(names):
        pytest.skip("Ray is not installed for this Python")
    for name in names:
        assert getattr(importlib.import_module(module), name) is not None


@pytest.mark.parametrize("package", ["fray.v2.ray", "fray.v2.ray_backend"])
@pytest.mark.parametrize(
    ("module", "real", "names"),
    [
        ("backend", "fray.backend.ray.cluster", ("build_runtime_env", "RayClient")),
        ("deps", "fray.backend.ray.environment", ("build_python_path", "build_runtime_env_for_packages")),
        ("context", "fray.backend.ray.ray_job", ("RayBackendContext", "is_ray_initialized")),
        ("fn_thunk", "fray.fn_thunk", ("create_thunk_entrypoint",)),
        ("tpu", "fray.backend.ray.tpu", ("run_on_pod", "run_on_pod_ray")),
        ("resources", "fray.backend.ray.resources", ("as_remote_kwargs", "accelerator_descriptor")),
        ("auth", "fray.backend.ray.auth", ("maybe_fetch_local_ray_token", "ray_auth_secret")),
    ],
)
def test_old_paths_of_the_ray_backend_are_its_modules(package: str, module: str, real: str, names: tuple[str, ...]):
    """The same modules, so that what a program patches under one name is patched under the other."""
    if not HAS_RAY and module in ("context", "tpu"):
        pytest.skip("Ray is not installed for this Python")
    old = importlib.import_module(f"{package}.{module}")
    assert old is importlib.import_module(real)
    assert all(hasattr(old, name) for name in names)
    assert getattr(importlib.import_module(package), module) is old


@pytest.mark.parametrize("module", ["fray.types", "fray.cluster", "fray.cluster.base", "fray.v2", "fray.v2.types"])
def test_old_paths_lead_to_the_same_classes(module: str):
    assert importlib.import_module(module).JobRequest is importlib.import_module("fray.cluster.request").JobRequest


@pytest.mark.parametrize("module", ["fray.types", "fray.cluster", "fray.device_flops", "fray.v2.types"])
def test_every_listed_name_can_be_imported(module: str):
    namespace: dict[str, object] = {}
    exec(f"from {module} import *", namespace)
    assert {"TpuType", "device_flops"} & set(namespace)


def test_what_this_build_lacks_is_no_attribute():
    with pytest.raises(AttributeError, match="nonsense"):
        fray.nonsense  # noqa: B018
