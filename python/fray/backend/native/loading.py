"""The fork server's side of `fray.backend.native.needs`: imports what workers need before they are forked.

That happens in the loader, a fork of the fork server, which is lost without harm: where an import fails, the workers
import the module by themselves and meet the error where it belongs; where one has left something behind with which a
process cannot be forked, or that a worker would not have without importing it, nothing is shared.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from importlib import import_module
from typing import Any

from fray.backend.native.needs import FILE_NAME, HEADER_BYTES, Known
from fray.backend.native.threads import use_threads

__all__ = ["Loading"]

_THREADS_THAT_EXPECT_FORKS = frozenset(("jemalloc_bg_thd",))
"""Names of threads that stay in the parent of a fork, and whose library goes on in the child without them."""


class Loading:
    """Reads what a driver needs, and loads it.

    Args:
        path: of the driver's file.

    Raises:
        OSError: it is gone, or is another one by now.
    """

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        if FILE_NAME not in os.readlink(f"/proc/self/fd/{self._file}"):
            os.close(self._file)
            raise FileNotFoundError(path)

    def needs(self) -> int:
        """Return what is known of the driver's calls, a `Known`."""
        return (os.pread(self._file, 1, 0) or bytes([Known.UNKNOWN]))[0]

    def load(self) -> bool:
        """Import what the driver's calls name; return whether this process can be forked with it."""
        before = _traits()
        use_threads(1)  # no library starts threads; each worker says how many it may have
        try:
            for name in ["threadpoolctl", *self._names()]:
                _import(name)
        except BaseException:  # a module that wants to end the program, say
            return False
        if _traits() != before or not _can_be_forked():
            return False
        gc.collect()
        gc.freeze()
        return True

    def _names(self) -> list[str]:
        length = int.from_bytes(os.pread(self._file, HEADER_BYTES - 1, 1), "little")
        return os.pread(self._file, length, HEADER_BYTES).decode(errors="replace").split()


def _import(name: str) -> None:
    if name in sys.modules:
        return
    try:
        import_module(name)
    except Exception:
        # Modules that others have put into sys.modules cannot be found. What else fails, fails in the worker too.
        return


def _traits() -> list[Any]:
    """Return what an import must leave as it is."""
    mask = os.umask(0o077)
    os.umask(mask)
    handlers = [signal.getsignal(number) for number in sorted(signal.valid_signals())]
    return [os.getcwd(), mask, handlers, sys.stdout, sys.stderr, sys.stdin, os.getppid()]


def _can_be_forked() -> bool:
    """Return whether no thread runs that a fork would leave in the middle of something.

    A library that knows of forks ends its threads in time for one (`pthread_atfork`), and starts them again when they
    are needed.
    """
    if not _other_threads():
        return True
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return not _other_threads()


def _other_threads() -> list[str]:
    names: list[str] = []
    for thread in os.listdir("/proc/self/task"):
        if int(thread) == os.getpid():
            continue
        try:
            with open(f"/proc/self/task/{thread}/comm") as file:
                names.append(file.read().strip())
        except OSError:  # it has ended
            continue
    return [name for name in names if name not in _THREADS_THAT_EXPECT_FORKS]
