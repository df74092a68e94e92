"""The messages of Iris's protocol, from the same .proto files as those of the client."""

from __future__ import annotations

import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

SOURCES = Path(__file__).resolve().parents[2] / "src"
_PACKAGE = "fray.iris.wire"


@cache
def _pool() -> descriptor_pool.DescriptorPool:
    files = sorted(path.relative_to(SOURCES).as_posix() for path in (SOURCES / "iris").glob("*.proto"))
    with tempfile.NamedTemporaryFile() as described:
        subprocess.run(["protoc", "-I.", f"--descriptor_set_out={described.name}", *files], cwd=SOURCES, check=True)
        found = descriptor_pb2.FileDescriptorSet.FromString(described.read())
    pool = descriptor_pool.DescriptorPool()
    for file in found.file:
        pool.Add(file)
    return pool


@cache
def message(name: str) -> Any:
    """The class of a message, such as LaunchJobRequest."""
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"{_PACKAGE}.{name}"))


@cache
def enum(name: str) -> dict[str, int]:
    """The numbers of an enum's names, without the part that all of them share: PENDING is 1 in JobState."""
    found = _pool().FindEnumTypeByName(f"{_PACKAGE}.{name}")
    prefix = found.values[0].name.removesuffix("UNSPECIFIED").removesuffix("EQ").removesuffix("REQUIRED")
    return {value.name.removeprefix(prefix): value.number for value in found.values}


def __getattr__(name: str) -> Any:
    if not name[:1].isupper():
        raise AttributeError(name)
    return message(name)
