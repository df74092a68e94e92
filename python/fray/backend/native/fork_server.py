"""The process from which workers are forked: an interpreter with fray and, once it is needed, asyncio; no more."""

from __future__ import annotations

import gc
from importlib import import_module

from fray import _native

__all__ = ["main"]


def main(fd: int) -> None:
    """Serve the node's spawn requests on `fd`; in each forked child, become a worker."""
    from fray.backend.native import worker

    gc.collect()
    gc.freeze()
    process, control_fd, page_fd = _native.run_fork_server(fd, _load_loop)
    worker.main(process, control_fd, page_fd)


def _load_loop() -> None:
    """Load asyncio: workers forked from now on share its memory, and start asynchronous actors at once."""
    import_module("fray.backend.native.actor_event_loop")
    gc.collect()
    gc.freeze()
