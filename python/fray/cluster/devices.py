"""The device that each replica of a job computes on: a CPU, GPUs or the chips of a TPU machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from fray._checks import check_count, check_text
from fray.cluster.tpu_topology import TpuType, get_tpu_topology
from fray.device_flops import FlopDtype, device_flops

__all__ = ["CpuConfig", "DeviceConfig", "DeviceKind", "GpuConfig", "GpuType", "TpuConfig"]

DeviceKind = Literal["cpu", "gpu", "tpu"]

# fmt: off
GpuType = Literal[
    "A10", "A100", "A100-40G", "A100-80G", "A10G", "A40", "A6000", "B100", "GB10", "H100", "H100-PCIE", "H200",
    "L4", "L40S", "T4", "V100", "V100-SXM", "V100S", "auto",
]
# fmt: on
"""Kinds of GPUs; ``auto`` is any."""

_GPU_TYPES: Final = {name.lower(): name for name in get_args(GpuType)}
_VMEM_LIMIT_KIB: Final = {"v5litepod": 50000, "v5p": 50000, "v6e": 98304}


@dataclass(frozen=True, slots=True)
class CpuConfig:
    """No accelerator."""

    kind: Literal["cpu"] = "cpu"
    variant: Literal["cpu"] = "cpu"

    def __post_init__(self) -> None:
        _check_kind(self.kind, "cpu", "CpuConfig")
        if self.variant != "cpu":
            raise ValueError(f"CpuConfig: variant must be 'cpu', got {self.variant!r}")

    def chip_count(self) -> int:
        """Return 0: a CPU is no accelerator."""
        return 0

    def device_flops(self, dtype: FlopDtype = "bf16") -> float:
        """Raise NotImplementedError: the rate of an unnamed CPU is not known."""
        raise NotImplementedError(f"the {dtype} rate of CPUs is not known; GPUs and TPUs have one")

    def total_flops(self, dtype: FlopDtype = "bf16") -> float:
        """Raise NotImplementedError, as `device_flops` does."""
        return self.device_flops(dtype)

    def default_env_vars(self) -> dict[str, str]:
        """Return variables that a job on this device gets where it does not set them itself."""
        return {"JAX_PLATFORMS": "cpu"}


@dataclass(frozen=True, slots=True)
class GpuConfig:
    """GPUs of one kind.

    Args:
        variant: kind of GPU, such as ``"H100"``; ``"auto"`` for any. Upper and lower case are the same.
        count: GPUs of each replica.
    """

    variant: GpuType | str
    kind: Literal["gpu"] = "gpu"
    count: int = 1

    def __post_init__(self) -> None:
        check_text(self.variant, "GpuConfig: variant")
        name = _GPU_TYPES.get(self.variant.lower())
        if name is None:
            raise ValueError(f"Unknown GPU type: {self.variant}. Known are {', '.join(_GPU_TYPES.values())}")
        object.__setattr__(self, "variant", name)
        _check_kind(self.kind, "gpu", "GpuConfig")
        check_count(self.count, 1, "GpuConfig: count")

    def chip_count(self) -> int:
        """Return the GPUs of each replica."""
        return self.count

    def device_flops(self, dtype: FlopDtype = "bf16") -> float:
        """Return the operations a second of one GPU; ValueError if it has no such number format."""
        return _known_rate(self.variant, dtype)

    def total_flops(self, dtype: FlopDtype = "bf16") -> float:
        """Return the operations a second of each replica."""
        return self.device_flops(dtype) * self.count

    def default_env_vars(self) -> dict[str, str]:
        """Return variables that a job on this device gets where it does not set them itself."""
        return {"JAX_PLATFORMS": ""}


@dataclass(frozen=True, slots=True)
class TpuConfig:
    """A TPU slice; each replica has one of its machines.

    Args:
        variant: name of the slice, such as ``"v4-16"``.
        topology: arrangement of the chips, such as ``"2x2x4"``, where the cloud offers several.
    """

    variant: TpuType | str
    kind: Literal["tpu"] = "tpu"
    topology: str | None = None

    def __post_init__(self) -> None:
        check_text(self.variant, "TpuConfig: variant")
        get_tpu_topology(self.variant)
        _check_kind(self.kind, "tpu", "TpuConfig")
        if self.topology is not None:
            check_text(self.topology, "TpuConfig: topology")

    def chip_count(self) -> int:
        """Return the chips of each replica, that is, of one machine of the slice."""
        return get_tpu_topology(self.variant).chips_per_vm

    def vm_count(self) -> int:
        """Return the machines of the slice."""
        return get_tpu_topology(self.variant).vm_count

    def device_flops(self, dtype: FlopDtype = "bf16") -> float:
        """Return the operations a second of one chip; ValueError if it has no such number format."""
        return _known_rate(self.variant, dtype)

    def total_flops(self, dtype: FlopDtype = "bf16") -> float:
        """Return the operations a second of each replica."""
        return self.device_flops(dtype) * self.chip_count()

    def default_env_vars(self) -> dict[str, str]:
        """Return variables that a job on this device gets where it does not set them itself."""
        limit = _VMEM_LIMIT_KIB.get(self.variant.partition("-")[0])
        flags = {"LIBTPU_INIT_ARGS": f"--xla_tpu_scoped_vmem_limit_kib={limit}"} if limit else {}
        return {"JAX_PLATFORMS": "", **flags}


DeviceConfig: TypeAlias = CpuConfig | GpuConfig | TpuConfig


def _check_kind(kind: object, expected: DeviceKind, owner: str) -> None:
    if kind != expected:
        raise ValueError(f"{owner}: kind must be {expected!r}, got {kind!r}; leave it out")


def _known_rate(variant: str, dtype: FlopDtype) -> float:
    rate = device_flops(variant, dtype)
    if rate is None:
        raise ValueError(f"the {dtype} rate of {variant} is not known; `fray.device_flops.DEVICE_FLOPS` has all")
    return rate
