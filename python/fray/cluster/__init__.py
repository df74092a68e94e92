"""Jobs: whole programs, what they need and how they are doing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fray._lazy import lazy_attribute

if TYPE_CHECKING:
    from fray.backend.native.cluster import LocalClient, LocalCluster
    from fray.cluster.cluster import Cluster
    from fray.cluster.context import ClusterContext
    from fray.cluster.current import (
        create_cluster,
        current_client,
        current_cluster,
        set_current_client,
        set_current_cluster,
    )
    from fray.cluster.devices import CpuConfig, DeviceConfig, DeviceKind, GpuConfig, GpuType, TpuConfig
    from fray.cluster.entrypoint import BinaryEntrypoint, CallableEntrypoint, Entrypoint
    from fray.cluster.environment import EnvironmentConfig, create_environment
    from fray.cluster.handle import JobHandle, wait_all
    from fray.cluster.request import JobRequest
    from fray.cluster.resources import ResourceConfig
    from fray.cluster.status import JobId, JobInfo, JobStatus, TaskStatus
    from fray.cluster.tpu_topology import TpuTopologyInfo, TpuType, get_tpu_topology
    from fray.device_flops import FlopDtype
    from fray.errors import JobExistsError as JobAlreadyExists
    from fray.errors import JobFailedError as JobFailed

_MODULES = {
    "fray.backend.native.cluster": ("LocalClient", "LocalCluster"),
    "fray.cluster.cluster": ("Cluster",),
    "fray.cluster.current": (
        "create_cluster",
        "current_client",
        "current_cluster",
        "set_current_client",
        "set_current_cluster",
    ),
    "fray.cluster.handle": ("JobHandle", "wait_all"),
    "fray.cluster.context": ("ClusterContext",),
    "fray.cluster.devices": ("CpuConfig", "DeviceConfig", "DeviceKind", "GpuConfig", "GpuType", "TpuConfig"),
    "fray.cluster.entrypoint": ("BinaryEntrypoint", "CallableEntrypoint", "Entrypoint"),
    "fray.cluster.environment": ("EnvironmentConfig", "create_environment"),
    "fray.cluster.request": ("JobRequest",),
    "fray.cluster.resources": ("ResourceConfig",),
    "fray.cluster.status": ("JobId", "JobInfo", "JobStatus", "TaskStatus"),
    "fray.cluster.tpu_topology": ("TpuTopologyInfo", "TpuType", "get_tpu_topology"),
    "fray.device_flops": ("FlopDtype",),
}

__all__ = [
    "BinaryEntrypoint",
    "CallableEntrypoint",
    "Cluster",
    "ClusterContext",
    "CpuConfig",
    "DeviceConfig",
    "DeviceKind",
    "Entrypoint",
    "EnvironmentConfig",
    "FlopDtype",
    "GpuConfig",
    "GpuType",
    "JobAlreadyExists",
    "JobFailed",
    "JobHandle",
    "JobId",
    "JobInfo",
    "JobRequest",
    "JobStatus",
    "LocalClient",
    "LocalCluster",
    "ResourceConfig",
    "TaskStatus",
    "TpuConfig",
    "TpuTopologyInfo",
    "TpuType",
    "create_cluster",
    "create_environment",
    "current_client",
    "current_cluster",
    "get_tpu_topology",
    "set_current_client",
    "set_current_cluster",
    "wait_all",
]

_LAZY = {name: (module, name) for module, names in _MODULES.items() for name in names}
_LAZY["JobAlreadyExists"] = ("fray.errors", "JobExistsError")
_LAZY["JobFailed"] = ("fray.errors", "JobFailedError")


def __getattr__(name: str) -> Any:
    return lazy_attribute(__name__, name, _LAZY)
