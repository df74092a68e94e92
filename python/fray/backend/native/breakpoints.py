"""`breakpoint()` in a task: Python's own debugger on the worker, over a socket to the terminal that attaches.

The task waits for a terminal: the driver's, while the driver waits for results, or that of `fray debug`. The time of
this wait does not count towards the task's timeout. All of it needs ``fray.init(debug=True)``; workers then have the
driver's process id in FRAY_DEBUG.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

from fray import _native
from fray.backend.native import seat

if TYPE_CHECKING:
    import socket

    from fray.backend.native.remote_pdb import RemotePdb

__all__ = ["DEBUG_VARIABLE", "end_debugging", "install", "short_path", "socket_name", "stop_task"]

DEBUG_VARIABLE = "FRAY_DEBUG"
_one_at_a_time = threading.RLock()
"""Threads of one worker take turns at the terminal."""


def socket_name(driver: int | str, worker: int | str) -> str:
    """Return the name, in the session's folder, of the socket at which a worker waits for a terminal."""
    return f"debug-{driver}-{worker}.sock"


_session: RemotePdb | None = None


def install() -> None:
    """Make `breakpoint()` call `stop_task` in workers that are forked from here, unless the user chose a debugger."""
    if "PYTHONBREAKPOINT" not in os.environ:
        sys.breakpointhook = stop_task


def stop_task(*args: Any, **kwargs: Any) -> None:
    """Stop at the caller of `breakpoint()` and wait for a terminal; in what is no worker, do as Python does.

    Raises:
        RuntimeError: the driver was not started with ``debug=True``.
    """
    global _session
    worker = seat.client_of_worker
    if worker is None:  # the fork server, which imports a module that has a breakpoint
        sys.__breakpointhook__(*args, **kwargs)
        return
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    driver = os.environ.get(DEBUG_VARIABLE)
    if not driver:
        raise RuntimeError(
            "breakpoint() in a task needs a terminal to talk to: start with fray.init(debug=True) or "
            "`fray run --debug`, or run the task in this process with LocalJobContext()"
        )
    with _one_at_a_time:
        if _session is None:
            from fray.backend.native.remote_pdb import RemotePdb

            try:
                _native.hold_timeout(True)
                _session = RemotePdb(_wait_for_terminal(driver, worker.session_folder(), frame), _session_ended)
            except BaseException:
                _native.hold_timeout(False)
                raise
        _session.set_trace(frame)


def _session_ended() -> None:
    global _session
    _session = None
    _native.hold_timeout(False)


@contextmanager
def short_path(folder: str | os.PathLike[str], name: str) -> Generator[str, None, None]:
    """Yield a path of a file in `folder` that is short enough for the address of a socket, even in a deep folder."""
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{name}"
    finally:
        os.close(descriptor)


def end_debugging() -> None:
    """Close the debugger that the task which has just ended left open."""
    sys.settrace(None)
    if _session is not None:
        _session.clear_all_breaks()
        _session.finish()


def _wait_for_terminal(driver: str, folder: str, frame: FrameType) -> socket.socket:
    import socket

    name = socket_name(driver, os.getpid())
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener,
        short_path(folder, name) as path,
    ):
        try:
            listener.bind(path)
            listener.listen(1)
            place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
            print(f"waits at breakpoint() in {place}; `fray debug` attaches to it", file=sys.stderr, flush=True)
            return listener.accept()[0]
        finally:
            with suppress(FileNotFoundError):  # a task that is cancelled has perhaps not come to the address
                os.unlink(path)
