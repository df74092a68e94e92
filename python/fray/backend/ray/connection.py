"""This process's connection to Ray, which the context has made, or the program itself before that."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Generator
from typing import Any, NamedTuple, Protocol

from fray import errors
from fray._passwords import without_passwords
from fray.backend.ray.failures import connection_error
from fray.backend.ray.library import ray
from fray.job.context import JobContext

__all__ = ["Connection", "Holder", "chosen_namespace", "connect", "living_nodes"]

_CONNECT_SECONDS = 20.0


class Holder(Protocol):
    """What refs need of the engine that they belong to."""

    context: JobContext

    @property
    def closed(self) -> bool: ...
    def check_holds(self, ref: Any) -> None: ...
    def wait_in_loop(self, ref: Any) -> Generator[Any, None, Any]: ...
    def converted(self, error: Any) -> Exception: ...


class Connection(NamedTuple):
    """An engine and the Ray that it used when a ref or handle was made; the engine may use another Ray later."""

    engine: Holder
    node: Any
    """Ray's object for this process's connection; each ``ray.init`` makes a new one."""


def connect(address: str | None, namespace: str | None) -> bool:
    """Make sure that Ray is initialised; return whether this call has initialised it."""
    if ray.is_initialized():
        if address not in (None, "auto") and ray.get_runtime_context().gcs_address != address:
            raise errors.AlreadyInitializedError(
                f"this process uses the Ray at {ray.get_runtime_context().gcs_address}, not the one at {address}; "
                "call ray.shutdown() first"
            )
        return False
    if (address or "").startswith("ray://"):
        raise errors.UnsupportedError(
            f"the Ray client's address {without_passwords(str(address))!r} cannot be used; "
            "run the program on the cluster: submit it as a job"
        )
    try:
        _check_listens(os.environ.get("RAY_ADDRESS", "") if address in (None, "auto") else address)
        ray.init(address=address, namespace=namespace, log_to_driver=False)
    except Exception as error:
        raise connection_error(error, address) from error
    return True


def _check_listens(address: str) -> None:
    """Raise OSError where no process listens at HOST:PORT; Ray itself would retry for minutes."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdecimal() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()


def chosen_namespace() -> str | None:
    """Return Ray's namespace; None where Ray invented it because the program gave none."""
    namespace: str = ray.get_runtime_context().namespace
    try:
        return None if str(uuid.UUID(namespace)) == namespace else namespace
    except ValueError:
        return namespace


def living_nodes() -> list[dict[str, float]]:
    """Return what every living node of the cluster has."""
    return [node["Resources"] for node in ray.nodes() if node["Alive"]]
