"""A `ResourceConfig` as the keywords of ``ray.remote``, for programs that use Ray beside Fray."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fray.cluster import CpuConfig, GpuConfig, ResourceConfig, TpuConfig

__all__ = ["accelerator_descriptor", "as_remote_kwargs", "get_scheduling_strategy"]

_CPUS_OF_A_TPU_HOST = 8


def as_remote_kwargs(config: ResourceConfig, env_vars: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the keywords of ``ray.remote`` for the device, with variables of the task's environment."""
    device = config.device
    if isinstance(device, GpuConfig):
        keywords: dict[str, Any] = {"num_gpus": device.count}
        if device.variant != "auto":
            keywords["accelerator_type"] = device.variant
    else:
        keywords = {"num_cpus": _CPUS_OF_A_TPU_HOST if isinstance(device, TpuConfig) else 1}
    if env_vars:
        keywords["runtime_env"] = {"env_vars": dict(env_vars)}
    return keywords


def get_scheduling_strategy(config: ResourceConfig) -> Any:
    """Return a strategy that reserves the slice of a TPU, with all its chips, on Ray; None for other devices."""
    if not isinstance(config.device, TpuConfig):
        return None
    from ray.util import placement_group
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    bundles: list[dict[str, float]] = [{"TPU": 1, "CPU": 1}] * config.chip_count()
    group = placement_group([*bundles, {f"TPU-{config.device.variant}-head": 1}], strategy="STRICT_PACK")
    return PlacementGroupSchedulingStrategy(group, placement_group_capture_child_tasks=True)


def accelerator_descriptor(config: ResourceConfig) -> str | None:
    """Return the kind of the accelerator, such as ``"v4-8"`` or ``"H100"``; None where there is none."""
    return None if isinstance(config.device, CpuConfig) else config.device.variant
