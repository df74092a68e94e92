"""The process from which workers are forked: an interpreter with nothing loaded but fray."""

from __future__ import annotations

import gc

from fray import _native

__all__ = ["main"]


def main(fd: int) -> None:
    """Serve the node's spawn requests on `fd`; in each forked child, become a worker."""
    from fray.backend.native import worker

    gc.collect()
    gc.freeze()
    process, control_fd, page_fd = _native.run_fork_server(fd)
    worker.main(process, control_fd, page_fd)
