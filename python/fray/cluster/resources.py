"""What each replica of a job needs: processors, memory, disk, a device, and where it may run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypedDict, Unpack

from fray._checked_keywords import CheckedKeywords
from fray._checks import check_amount, check_count, check_flag, check_text, text_list
from fray._units import parse_bytes
from fray.cluster.devices import CpuConfig, DeviceConfig, GpuConfig, GpuType, TpuConfig
from fray.cluster.tpu_topology import TpuTopologyInfo, TpuType, get_tpu_topology
from fray.device_flops import FlopDtype

__all__ = ["ResourceConfig", "ResourceOptions"]

_CPU_FLOPS = 100e9
"""An estimate for a machine without accelerators, for programs that divide by this rate."""


class ResourceOptions(TypedDict, total=False):
    """Fields of `ResourceConfig` that `with_cpu`, `with_gpu` and `with_tpu` take as keywords."""

    cpu: float
    ram: str
    disk: str
    preemptible: bool
    regions: Sequence[str] | None
    zone: str | None
    image: str | None


_NO_RAM = "4g"
"""The default of `ram`, which counts as no request for memory."""


@dataclass(frozen=True, slots=True)
class ResourceConfig(CheckedKeywords):
    """What each replica of a job needs, and how many replicas there are.

    `with_cpu`, `with_gpu` and `with_tpu` make one for a device.

    Args:
        cpu: processors; fractions are allowed.
        ram: memory, such as ``"4g"`` or ``"512MiB"``; all units are powers of two. A bare number is bytes.
        disk: disk space, in the same form; ``"0"`` asks for none.
        device: `CpuConfig`, `GpuConfig` or `TpuConfig`.
        preemptible: may run on machines that the cloud can take back.
        regions: names of the regions where it may run; None for all.
        zone: name of the one zone where it may run; None for all.
        replicas: equal processes; on a TPU one for each machine of its slices.
        device_alternatives: other acceptable TPU types (with as many machines, of as many chips) or kinds of GPU.
        image: container image that the replicas run in.
    """

    KEYWORD_HINTS: ClassVar[Mapping[str, str]] = {
        "cpus": "cpu=n",
        "num_cpus": "cpu=n",
        "memory": "ram='4g'",
        "gpu": "ResourceConfig.with_gpu(...)",
        "num_gpus": "ResourceConfig.with_gpu(..., count=n)",
        "tpu": "ResourceConfig.with_tpu(...)",
        "region": "regions=[...]",
        "count": "replicas=n",
        "docker_image": "image='...'",
    }

    cpu: float = 1
    ram: str = _NO_RAM
    disk: str = "16g"
    device: DeviceConfig = field(default_factory=CpuConfig)
    preemptible: bool = True
    regions: Sequence[str] | None = None
    zone: str | None = None
    replicas: int = 1
    device_alternatives: Sequence[str] | None = None
    image: str | None = None

    def __post_init__(self) -> None:
        check_amount(self.cpu, "ResourceConfig: cpu")
        _size(self.ram, "ResourceConfig: ram")
        _size(self.disk, "ResourceConfig: disk")
        if not isinstance(self.device, DeviceConfig):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                "ResourceConfig: device must be a CpuConfig(...), GpuConfig(...) or TpuConfig(...), "
                f"got {self.device!r}; ResourceConfig.with_gpu and with_tpu make them from text"
            )
        check_flag(self.preemptible, "ResourceConfig: preemptible")
        if self.regions is not None:
            regions = text_list(self.regions, "ResourceConfig: regions")
            for region in regions:
                check_text(region, "ResourceConfig: a region")
            object.__setattr__(self, "regions", regions)
        if self.zone is not None:
            check_text(self.zone, "ResourceConfig: zone")
        check_count(self.replicas, 1, "ResourceConfig: replicas")
        if self.device_alternatives is not None:
            alternatives = text_list(self.device_alternatives, "ResourceConfig: device_alternatives")
            _check_alternatives(self.device, alternatives)
            object.__setattr__(self, "device_alternatives", alternatives or None)
        if self.image is not None:
            check_text(self.image, "ResourceConfig: image")

    @staticmethod
    def with_cpu(*, replicas: int = 1, **options: Unpack[ResourceOptions]) -> ResourceConfig:
        """Return resources without an accelerator."""
        return ResourceConfig(device=CpuConfig(), replicas=replicas, **options)

    @staticmethod
    def with_gpu(
        gpu_type: GpuType | str = "auto", count: int = 1, *, replicas: int = 1, **options: Unpack[ResourceOptions]
    ) -> ResourceConfig:
        """Return resources with `count` GPUs of one kind for each replica."""
        return ResourceConfig(device=GpuConfig(gpu_type, count=count), replicas=replicas, **options)

    @staticmethod
    def with_tpu(
        tpu_type: TpuType | str | Sequence[TpuType | str], slice_count: int = 1, **options: Unpack[ResourceOptions]
    ) -> ResourceConfig:
        """Return resources with TPU slices: a replica on each machine of each slice.

        Unless given, each replica has 32 processors, 128 GiB of memory and 50 GiB of disk.

        Args:
            tpu_type: name of a slice, or several acceptable ones, the preferred one first.
            slice_count: slices, all of the same type.
            **options: other fields of `ResourceConfig`.
        """
        if "replicas" in options:
            raise TypeError(
                "ResourceConfig.with_tpu: replicas cannot be given: it is slice_count times the machines of a slice"
            )
        first, *alternatives = _tpu_types(tpu_type)
        check_count(slice_count, 1, "ResourceConfig.with_tpu: slice_count")
        options.setdefault("cpu", 32)
        options.setdefault("ram", "128g")
        options.setdefault("disk", "50g")
        return ResourceConfig(
            device=TpuConfig(first),
            replicas=slice_count * get_tpu_topology(first).vm_count,
            device_alternatives=alternatives or None,
            **options,
        )

    def chip_count(self) -> int:
        """Return the accelerators of all replicas together; 0 for CPUs."""
        return self.device.chip_count() * self.replicas

    def device_flops(self, dtype: FlopDtype = "bf16") -> float:
        """Return the operations a second of one accelerator; NotImplementedError for CPUs."""
        return self.device.device_flops(dtype)

    def total_flops(self, dtype: FlopDtype = "bf16") -> float:
        """Return the operations a second of all accelerators; for CPUs 100e9, an estimate to divide by."""
        if isinstance(self.device, CpuConfig):
            return _CPU_FLOPS
        return self.device_flops(dtype) * self.chip_count()

    def ram_bytes(self) -> int:
        """Return the memory of each replica, in bytes."""
        return _size(self.ram, "ResourceConfig: ram")

    def asked_ram_bytes(self) -> int:
        """Return the memory that the user asked for, in bytes for each replica; 0 where `ram` has its default."""
        return 0 if self.ram == _NO_RAM else self.ram_bytes()

    def disk_bytes(self) -> int:
        """Return the disk space of each replica, in bytes."""
        return _size(self.disk, "ResourceConfig: disk")


def _size(text: object, what: str) -> int:
    if not isinstance(text, str):
        raise TypeError(f"{what} must be text such as '4g', got {text!r}")
    return 0 if text.strip() == "0" else parse_bytes(text, what, binary=True)


def _tpu_types(tpu_type: object) -> list[str]:
    names = [tpu_type] if isinstance(tpu_type, str) else text_list(tpu_type, "ResourceConfig.with_tpu: tpu_type")
    if not names or not all(names):
        raise ValueError("tpu_type must be non-empty")
    return names


def _check_alternatives(device: DeviceConfig, alternatives: list[str]) -> None:
    if isinstance(device, TpuConfig):
        for name in alternatives:
            _check_alike(get_tpu_topology(device.variant), get_tpu_topology(name))
    elif isinstance(device, GpuConfig):
        for name in alternatives:
            GpuConfig(name)
    elif alternatives:
        raise ValueError(f"ResourceConfig: a CPU has no device_alternatives, got {alternatives!r}")


def _check_alike(first: TpuTopologyInfo, other: TpuTopologyInfo) -> None:
    if (first.vm_count, first.chips_per_vm) != (other.vm_count, other.chips_per_vm):
        raise ValueError(
            "TPU types that stand in for each other must have the same vm_count and chips_per_vm: "
            f"{first.name} has {first.vm_count} and {first.chips_per_vm}, "
            f"{other.name} has {other.vm_count} and {other.chips_per_vm}"
        )
