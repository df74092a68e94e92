"""Jobs: whole programs, what they need and how they are doing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fray._lazy import lazy_attribute

if TYPE_CHECKING:
    from fray.cluster.context import ClusterContext
    from fray.cluster.devices import CpuConfig, DeviceConfig, DeviceKind, GpuConfig, GpuType, TpuConfig
    from fray.cluster.entrypoint import BinaryEntrypoint, CallableEntrypoint, Entrypoint
    from fray.cluster.environment import EnvironmentConfig, create_environment
    from fray.cluster.request import JobRequest
    from fray.cluster.resources import ResourceConfig
    from fray.cluster.status import JobId, JobInfo, JobStatus, TaskStatus
    from fray.cluster.tpu_topology import TpuTopologyInfo, TpuType, get_tpu_topology
    from fray.device_flops import FlopDtype

_MODULES = {
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
    "ClusterContext",
    "CpuConfig",
    "DeviceConfig",
    "DeviceKind",
    "Entrypoint",
    "EnvironmentConfig",
    "FlopDtype",
    "GpuConfig",
    "GpuType",
    "JobId",
    "JobInfo",
    "JobRequest",
    "JobStatus",
    "ResourceConfig",
    "TaskStatus",
    "TpuConfig",
    "TpuTopologyInfo",
    "TpuType",
    "create_environment",
    "get_tpu_topology",
]

_LAZY = {name: (module, name) for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    return lazy_attribute(__name__, name, _LAZY)
