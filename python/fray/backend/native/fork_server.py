"""The fork server: the process from which workers are forked.

It has imported fray, cloudpickle where the program may need it, and what FRAY_PRELOAD names, later asyncio if an actor
needs it, and nothing else.
Further modules that workers share are imported in a fork of this process, the loader (`loading`).
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from importlib import import_module

from fray import _native
from fray._settings import PRELOAD_VARIABLE, traces_are_asked_for
from fray.backend.native.loading import Loading, frozen_imports
from fray.backend.native.needs import CLASSES_OPTION, NEEDS_OPTION
from fray.backend.native.threads import use_threads

__all__ = ["main", "serve"]

_REST = ("fray._by_value", "fray.backend.native.context", "fray.backend.native.engine")
"""Modules that a worker needs when it gets a function by value, or when its code first uses a context."""


def main(fd: int, collects: bool) -> None:
    """Do what `serve` does in a new interpreter, which may have to load functions of the program's main script."""
    import_module("fray._functions_by_value")
    has_classes = sys._xoptions.pop(CLASSES_OPTION, False)  # pyright: ignore[reportPrivateUsage]
    if has_classes or NEEDS_OPTION not in sys._xoptions:  # else its program is not known  # pyright: ignore[reportPrivateUsage]
        import_module("fray._by_value")
    serve(fd, collects)


def serve(fd: int, collects: bool) -> None:
    """Serve the node's spawn requests on `fd`; in each forked child, become a worker.

    The caller has switched the garbage collector off, which would find almost nothing after the imports.

    Args:
        fd: the socket to the node.
        collects: whether the garbage collector was on before.
    """
    from fray.backend.native import worker

    names = [name for name in os.environ.get(PRELOAD_VARIABLE, "").split(",") if name]
    for name in names:
        import_module(name)
    use_threads(1)  # as most workers may have, so that these find it done
    if traces_are_asked_for():
        with suppress(ImportError):  # the program has told the user that OpenTelemetry is missing
            import_module("fray._trace_recorder")
    worker.prepare()
    if names:
        gc.collect()
    gc.freeze()
    if collects:
        gc.enable()
    loading = _loading()

    def load() -> bool:
        load_rest()
        return loading is not None and loading.load()

    needs, load_needs = (loading.needs, load) if loading else (None, None)
    process, control_fd, page_fd = _native.run_fork_server(fd, load_rest, _load_loop, _load_actors, needs, load_needs)
    worker.main(process, control_fd, page_fd)


def load_rest() -> None:
    """Load what the first workers begin without: they may run their first calls meanwhile, and later ones share it."""
    with frozen_imports():
        for name in _REST:
            import_module(name)


def _loading() -> Loading | None:
    path = sys._xoptions.pop(NEEDS_OPTION, None)  # pyright: ignore[reportPrivateUsage]
    try:
        return Loading(path) if isinstance(path, str) else None
    except OSError:  # the driver has ended, or the kernel denies access to its files
        return None


def _load_actors() -> None:
    """Import what a worker needs when it becomes an actor."""
    with frozen_imports():
        import_module("fray.backend.native.actor_host")


def _load_loop() -> None:
    """Import asyncio: workers that are forked from now on share its memory, and start asynchronous actors faster."""
    import_module("fray.backend.native.actor_event_loop")
    gc.collect()
    gc.freeze()
