"""The fork server's side of `fray.backend.native.needs`: imports the modules that workers need before they are forked.

The loader, a fork of the fork server, does this, so that no import can harm the fork server. If an import fails, the
workers import the module themselves, and the task that needs it raises the error. If an import leaves something that
makes a fork unsafe, or changes what every worker would inherit, the loader is given up and nothing is shared.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from fray._signals import signals
from fray.backend.native.needs import FILE_NAME, HEADER_BYTES, Known
from fray.backend.native.other_threads import other_threads, threads_that_stay
from fray.backend.native.threads import use_threads

__all__ = ["Loading", "frozen_imports", "uncollected_imports"]

_PATIENCE_WITH_THREADS = 0.02
"""Seconds in which threads that an import has joined leave; after that nothing is shared, which costs only time."""


class Loading:
    """Reads which modules a driver's calls need, and imports them.

    Args:
        path: path of the file that the driver writes (`Needs.path`).

    Raises:
        OSError: the file is gone, or another file has its path by now.
    """

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        if FILE_NAME not in os.readlink(f"/proc/self/fd/{self._file}"):
            os.close(self._file)
            raise FileNotFoundError(path)

    def needs(self) -> int:
        """Return what the driver knows of the needs of its calls, a `Known`."""
        return (os.pread(self._file, 1, 0) or bytes([Known.UNKNOWN]))[0]

    def load(self) -> bool:
        """Import the modules that the driver's calls need; return whether workers may be forked from this process."""
        before = _traits()
        use_threads(1)  # so that no library starts threads here; each worker sets its own number later
        try:
            with frozen_imports():
                for name in ["threadpoolctl", *self._names()]:
                    _import(name)
        except BaseException:  # also SystemExit: a module may call sys.exit when it is imported
            return False
        return _traits() == before and _can_be_forked()

    def _names(self) -> list[str]:
        length = int.from_bytes(os.pread(self._file, HEADER_BYTES - 1, 1), "little")
        return os.pread(self._file, length, HEADER_BYTES).decode(errors="replace").split()


@contextmanager
def uncollected_imports() -> Generator[None, None, None]:
    """Switch the garbage collector off while the block imports, which leaves next to nothing to collect.

    For a process with one thread: another one could set the collector meanwhile.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@contextmanager
def frozen_imports() -> Generator[None, None, None]:
    """Keep the garbage collector from what the block imports for good: it is there to be shared."""
    with uncollected_imports():
        try:
            yield
        finally:
            gc.freeze()


def _import(name: str) -> None:
    if name in sys.modules:
        return
    try:
        import_module(name)
    except Exception:
        # A module that other code has put into sys.modules cannot be found by its name. Any other error occurs again in
        # the worker, where a user sees it.
        return


def _traits() -> list[Any]:
    """Return the state of this process that an import must leave as it is, because workers inherit it."""
    mask = os.umask(0o077)
    os.umask(mask)
    handlers = [signals.getsignal(number) for number in sorted(signals.valid_signals())]
    return [os.getcwd(), mask, handlers, sys.stdout, sys.stderr, sys.stdin, os.getppid()]


def _can_be_forked() -> bool:
    """Return whether this process has no thread that a fork could interrupt while it holds a lock.

    A library that expects forks ends its threads before one (`pthread_atfork`) and starts them again when needed.
    """
    if not other_threads():
        return True
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return not threads_that_stay(_PATIENCE_WITH_THREADS)
