"""`ResourceSpec`: what each task of an Iris job needs, made from a `ResourceConfig`."""

from __future__ import annotations

from dataclasses import dataclass, field

from fray.cluster.devices import GpuConfig, TpuConfig
from fray.cluster.resources import ResourceConfig
from fray.cluster.tpu_topology import get_tpu_topology

__all__ = ["Constraint", "ResourceSpec", "spec_of"]


@dataclass(frozen=True, slots=True)
class Constraint:
    """A condition on machines: the attribute `key` must be one of `values`, which are lower-case texts."""

    key: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResourceSpec:
    """What each task of an Iris job needs.

    Args:
        cpu_millicores: thousandths of a processor.
        memory_bytes: bytes of memory.
        disk_bytes: bytes of disk, 0 for none.
        device: ``cpu``, ``gpu`` or ``tpu``.
        variant: of the device, in lower case; empty for any.
        count: GPUs of a task, or chips on one machine of a TPU.
        topology: how the chips of a TPU are arranged.
        replicas: number of tasks of the job.
        constraints: conditions that a machine must meet.
        task_image: container image of the tasks.
    """

    cpu_millicores: int
    memory_bytes: int
    disk_bytes: int
    device: str = "cpu"
    variant: str = ""
    count: int = 0
    topology: str = ""
    replicas: int = 1
    constraints: tuple[Constraint, ...] = field(default_factory=tuple)
    task_image: str = ""


def spec_of(resources: ResourceConfig, replicas: int | None = None) -> ResourceSpec:
    """Return the spec of a job with these resources."""
    device = resources.device
    kind, variant, count, topology = "cpu", "", 0, ""
    replicas = resources.replicas if replicas is None else replicas
    if isinstance(device, GpuConfig):
        kind, count = "gpu", device.count
        variant = "" if device.variant == "auto" else device.variant.lower()
    elif isinstance(device, TpuConfig):
        kind, variant, topology = "tpu", device.variant.lower(), device.topology or ""
        count = get_tpu_topology(device.variant).chips_per_vm
    return ResourceSpec(
        cpu_millicores=round(resources.cpu * 1000),
        memory_bytes=resources.ram_bytes(),
        disk_bytes=resources.disk_bytes(),
        device=kind,
        variant=variant,
        count=count,
        topology=topology,
        replicas=replicas,
        constraints=tuple(_constraints(resources, variant)),
        task_image=resources.image or "",
    )


def _constraints(resources: ResourceConfig, variant: str) -> list[Constraint]:
    constraints: list[Constraint] = []
    if not resources.preemptible:
        constraints.append(Constraint("preemptible", ("false",)))
    if resources.regions:
        constraints.append(Constraint("region", tuple(resources.regions)))
    if resources.zone is not None:
        constraints.append(Constraint("zone", (resources.zone,)))
    if resources.device_alternatives:
        others = tuple(name.lower() for name in resources.device_alternatives)
        constraints.append(Constraint("device-variant", (variant, *others)))
    return constraints
