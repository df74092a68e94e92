"""Ids, which programs print, compare and use as keys; the ids of refs and actors are made of the engine's ids."""

from __future__ import annotations

import hashlib
import os
from typing import ClassVar, Self

# fmt: off
__all__ = [
    "ActorClassID", "ActorID", "BaseID", "ClusterID", "FunctionID", "JobID", "NodeID", "PlacementGroupID", "TaskID",
    "UniqueID", "WorkerID", "digest", "the_job",
]
# fmt: on


def digest(text: str, size: int) -> bytes:
    """Return `size` bytes that stand for `text`, the same in every process."""
    return hashlib.blake2b(text.encode(), digest_size=size).digest()


class BaseID:
    """An id of `SIZE` bytes; ids of one class are equal if their bytes are."""

    SIZE: ClassVar[int] = 28

    __slots__ = ("_bytes",)

    def __init__(self, data: bytes) -> None:
        if len(data) != self.SIZE:
            raise ValueError(f"{type(self).__name__} has {self.SIZE} bytes, got {len(data)}")
        self._bytes = data

    @classmethod
    def of(cls, text: str) -> Self:
        """Return the id that stands for `text`."""
        return cls(digest(text, cls.SIZE))

    @classmethod
    def from_hex(cls, text: str) -> Self:
        return cls(bytes.fromhex(text))

    @classmethod
    def from_binary(cls, data: bytes) -> Self:
        return cls(data)

    @classmethod
    def from_random(cls) -> Self:
        return cls(os.urandom(cls.SIZE))

    @classmethod
    def nil(cls) -> Self:
        return cls(b"\xff" * cls.SIZE)

    @classmethod
    def size(cls) -> int:
        return cls.SIZE

    def is_nil(self) -> bool:
        return self == type(self).nil()

    def binary(self) -> bytes:
        return self._bytes

    def hex(self) -> str:
        return self._bytes.hex()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.binary() == self._bytes

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.hex()})"

    def __reduce__(self) -> tuple[type[Self], tuple[bytes]]:
        return type(self), (self._bytes,)


class UniqueID(BaseID):
    """Any id."""


class NodeID(UniqueID): ...


class WorkerID(UniqueID): ...


class ClusterID(UniqueID): ...


class FunctionID(UniqueID): ...


class ActorClassID(UniqueID): ...


class TaskID(BaseID):
    SIZE = 24


class PlacementGroupID(BaseID):
    SIZE = 18


class JobID(BaseID):
    SIZE = 4


class ActorID(BaseID):
    SIZE = 16

    @property
    def job_id(self) -> JobID:
        return the_job


the_job = JobID(b"\1\0\0\0")
"""The id of every program, because each has a session of its own."""
