"""The process from which workers are forked: an interpreter with fray and what FRAY_PRELOAD names. asyncio is added
once it is needed, and cloudpickle once there are many workers; no more."""

from __future__ import annotations

import gc
import os
from contextlib import suppress
from importlib import import_module

from fray import _native
from fray._settings import PRELOAD_VARIABLE, traces_are_asked_for

__all__ = ["main"]


def main(fd: int) -> None:
    """Serve the node's spawn requests on `fd`; in each forked child, become a worker."""
    from fray.backend.native import worker

    for name in filter(None, os.environ.get(PRELOAD_VARIABLE, "").split(",")):
        import_module(name)
    if traces_are_asked_for():
        with suppress(ImportError):  # which the program has said
            import_module("fray._trace_recorder")
    gc.collect()
    gc.freeze()
    process, control_fd, page_fd = _native.run_fork_server(fd, _load_loop, _load_for_many)
    worker.main(process, control_fd, page_fd)


def _load_loop() -> None:
    """Load asyncio: workers forked from now on share its memory, and start asynchronous actors at once."""
    import_module("fray.backend.native.actor_event_loop")
    gc.collect()
    gc.freeze()


def _load_for_many() -> None:
    """Load cloudpickle, which takes 10 ms and 2.5 MB: functions of the main script need it in each worker."""
    with suppress(ImportError):
        import_module("cloudpickle")
    gc.collect()
    gc.freeze()
