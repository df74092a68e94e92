"""`ray.experimental`: progress bars, and the names around tensors that actors hand to each other.

Such tensors pass the store, which is shared memory, whichever transport a method names: none is ever asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fray.ray._others import nothing

# fmt: off
__all__ = [
    "CommunicatorHandle", "CommunicatorMetadata", "TensorTransportManager", "TensorTransportMetadata",
    "create_collective_group", "destroy_collective_group", "register_tensor_transport", "wait_tensor_freed",
]
# fmt: on


@dataclass
class TensorTransportMetadata:
    """What a transport of the program's own knows about tensors."""

    tensor_meta: Any
    tensor_device: Any = None


class CommunicatorMetadata:
    """What a transport of the program's own knows about two actors."""


class TensorTransportManager:
    """A transport of the program's own."""


@dataclass
class CommunicatorHandle:
    """A group of actors that hand tensors to each other."""

    actors: list[Any]
    backend: str
    name: str | None


def create_collective_group(actors: list[Any], backend: str, name: str | None = None) -> CommunicatorHandle:
    """Return a group, which costs nothing."""
    return CommunicatorHandle(list(actors), backend, name)


destroy_collective_group = register_tensor_transport = wait_tensor_freed = nothing
