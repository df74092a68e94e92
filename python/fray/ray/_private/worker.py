"""`ray._private.worker`: the few names that packages take from there."""

from __future__ import annotations

from typing import Any

from fray.job.factory import worker_context
from fray.ray import _session
from fray.ray._objects import get, put, wait
from fray.ray._session import RayContext, init, is_initialized, shutdown

__all__ = [
    "LOCAL_MODE",
    "RESTORE_WORKER_MODE",
    "SCRIPT_MODE",
    "SPILL_WORKER_MODE",
    "WORKER_MODE",
    "BaseContext",
    "RayContext",
    "get",
    "global_worker",
    "init",
    "is_initialized",
    "put",
    "shutdown",
    "wait",
]

SCRIPT_MODE, WORKER_MODE, LOCAL_MODE, SPILL_WORKER_MODE, RESTORE_WORKER_MODE = range(5)
BaseContext = RayContext


class _Worker:
    """What programs ask of this process."""

    @property
    def connected(self) -> bool:
        return is_initialized()

    @property
    def mode(self) -> int:
        return SCRIPT_MODE if worker_context() is None else WORKER_MODE

    @property
    def current_job_id(self) -> Any:
        return _session.job_id()

    @property
    def namespace(self) -> str:
        return _session.context().namespace

    def check_connected(self) -> None:
        """Begin a session where there is none."""
        _session.context()


global_worker = _Worker()
