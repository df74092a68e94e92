"""The process from which workers are forked: an interpreter with fray, what FRAY_PRELOAD names, and
asyncio once it is needed; no more."""

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
    process, control_fd, page_fd = _native.run_fork_server(fd, _load_loop)
    worker.main(process, control_fd, page_fd)


def _load_loop() -> None:
    """Load asyncio: workers forked from now on share its memory, and start asynchronous actors at once."""
    import_module("fray.backend.native.actor_event_loop")
    gc.collect()
    gc.freeze()
