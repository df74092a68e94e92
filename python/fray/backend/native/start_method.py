"""Decides whether workers begin as copies of the program where the program does not say: `automatic_start_method`.

A copy has what the program has imported, and so its first call begins sooner (`fray.backend.native.forked`). But it has
whatever else the program is made of, too, and a program that works with copies alone would fail on a cluster. So a
program is copied unasked only if its tasks could not tell: if nothing of its own can differ between a copy and a new
interpreter, and nothing is under way in it that a fork would cut through. What remains is the state of installed
packages, such as the options of pandas.

In doubt the answer is no, which costs time and nothing else.
"""

from __future__ import annotations

import _thread
import _tracemalloc
import fcntl
import os
import stat
import sys
import threading
import time
from types import BuiltinFunctionType

from fray.backend.native.constants import has_no_state_of_its_own
from fray.backend.native.imported import threads_can_be_told
from fray.backend.native.other_threads import name_of_thread, other_threads
from fray.backend.native.threads import has_numerical_library

__all__ = ["automatic_start_method"]

_MOST_COPIED_BYTES = 512 << 20
"""Most memory of a program that is copied unasked: its pages are kept for its workers after it has freed them."""
_MOST_DESCRIPTORS = 256
"""Most descriptors that are looked at: a program with more of them would wait longer than a copy saves."""
_TOOLS = 6  # of sys.monitoring
_MEMORY_DEVICES = 1  # the major number of /dev/null and others without state


def automatic_start_method() -> str:
    """Return ``"fork"`` if tasks of this program could not tell a copy of it from a new interpreter.

    Otherwise return ``"forkserver"``.
    """
    try:
        is_fit = _does_one_thing() and _is_small() and has_no_state_of_its_own() and _can_limit_threads()
    except Exception:  # /proc may be hidden, and modules may be objects of any kind
        is_fit = False
    return "fork" if is_fit else "forkserver"


def _does_one_thing() -> bool:
    """Return whether this is the only thread, at a point of the program that a fork does not cut through."""
    return (
        threading.active_count() == 1
        and threading.current_thread() is threading.main_thread()
        and not _has_foreign_threads()
        and not _is_watched()
        and not _has_opened_anything()
    )


def _has_foreign_threads() -> bool:
    """Return whether there are threads other than those that may be numpy's, which end for a fork.

    Some libraries warn of a fork, or wait for it, while they have threads, so a fork is no way to find out.
    """
    names = set(other_threads())
    return bool(names) and not (has_numerical_library() and names == {name_of_thread(_thread.get_native_id())})


def _is_watched() -> bool:
    """Return whether something traces this program, or has put its own functions in the place of Python's.

    gevent and eventlet do the latter, and tools that make time stand still in tests.
    """
    monitoring = getattr(sys, "monitoring", None)
    return (
        sys.gettrace() is not None
        or sys.getprofile() is not None
        or _tracemalloc.is_tracing()
        or any(type(function) is not BuiltinFunctionType for function in (os.fork, time.sleep, time.time))
        or (monitoring is not None and any(map(monitoring.get_tool, range(_TOOLS))))
    )


def _has_opened_anything() -> bool:
    """Return whether this program has files, sockets or devices open, which its copies would use as well.

    What Python opens is closed when another program is executed, unlike what this program was started with. The
    library of a GPU that has once looked for its devices fails in a copy, also where it has no threads yet.
    """
    descriptors = os.listdir("/proc/self/fd")
    return len(descriptors) > _MOST_DESCRIPTORS or any(_is_opened(int(descriptor)) for descriptor in descriptors)


def _is_opened(descriptor: int) -> bool:
    if descriptor <= 2:
        return False
    try:
        status = os.fstat(descriptor)
        if stat.S_ISCHR(status.st_mode):
            return os.major(status.st_rdev) != _MEMORY_DEVICES and not os.isatty(descriptor)
        is_shared = stat.S_ISREG(status.st_mode) or stat.S_ISSOCK(status.st_mode)
        return is_shared and bool(fcntl.fcntl(descriptor, fcntl.F_GETFD) & fcntl.FD_CLOEXEC)
    except OSError:  # that of the listing itself is closed
        return False


def _is_small() -> bool:
    with open("/proc/self/statm") as file:
        _, resident, shared, *_ = map(int, file.read().split())
    return (resident - shared) * os.sysconf("SC_PAGESIZE") <= _MOST_COPIED_BYTES


def _can_limit_threads() -> bool:
    """Return whether numerical libraries that are loaded can be told how many threads a task may use."""
    return threads_can_be_told() or not has_numerical_library()
