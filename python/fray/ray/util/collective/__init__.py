"""`ray.util.collective`: refused by name."""

__all__: list[str] = []

raise ModuleNotFoundError(
    "ray.util.collective is not part of fray.ray: on one machine pass arrays as refs, which are shared memory, or use "
    "torch.distributed between the actors",
    name="ray.util.collective",
)
