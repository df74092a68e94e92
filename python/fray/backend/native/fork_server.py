"""The process from which workers are forked: an interpreter with fray and what it unpickles functions with, what
FRAY_PRELOAD names, and asyncio once it is needed; no more. What else workers share is loaded in a fork of it
(`loading`)."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from importlib import import_module

from fray import _native
from fray._settings import PRELOAD_VARIABLE, traces_are_asked_for
from fray.backend.native.launch import NEEDS_OPTION
from fray.backend.native.loading import Loading

__all__ = ["main"]

_FOR_WORKERS = ("fray.backend.native.engine", "fray._by_value")
"""What a worker imports when it begins, or with its first function."""


def main(fd: int, collects: bool) -> None:
    """Serve the node's spawn requests on `fd`; in each forked child, become a worker.

    Until here the garbage collector was off, for the imports leave next to nothing to it; `collects`: it was on before.
    """
    from fray.backend.native import worker

    for name in _FOR_WORKERS:
        import_module(name)
    names = [name for name in os.environ.get(PRELOAD_VARIABLE, "").split(",") if name]
    for name in names:
        import_module(name)
    if traces_are_asked_for():
        with suppress(ImportError):  # which the program has said
            import_module("fray._trace_recorder")
    if names:
        gc.collect()
    gc.freeze()
    if collects:
        gc.enable()
    loading = _loading()
    needs, load = (loading.needs, loading.load) if loading else (None, None)
    process, control_fd, page_fd = _native.run_fork_server(fd, _load_loop, needs, load)
    worker.main(process, control_fd, page_fd)


def _loading() -> Loading | None:
    path = sys._xoptions.pop(NEEDS_OPTION, None)  # pyright: ignore[reportPrivateUsage]
    try:
        return Loading(path) if isinstance(path, str) else None
    except OSError:  # the driver is gone, or may not be looked at
        return None


def _load_loop() -> None:
    """Load asyncio: workers forked from now on share its memory, and start asynchronous actors at once."""
    import_module("fray.backend.native.actor_event_loop")
    gc.collect()
    gc.freeze()
