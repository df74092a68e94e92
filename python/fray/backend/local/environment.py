"""The surroundings of a call inside one process: the variables of `RuntimeEnv.env`, and no event loop of its caller.

The variables are set before the call and restored after it. They belong to the whole process, so tasks that set some
run one at a time, and other tasks that run meanwhile see them. While such a task blocks, its variables are restored and
the next task may set its own. Nothing is installed: a missing package is named by one warning.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager

from fray.types import RuntimeEnv

__all__ = ["applied", "outside_event_loops", "say_what_lacks", "suspended"]

_WHERE = "tasks of this context run inside the program's own process"
_lock = threading.RLock()
_mine = threading.local()


def say_what_lacks(env: RuntimeEnv | None) -> None:
    """Warn, once, of what only a separate process could have; packages that are installed here need no warning."""
    if env is None or not (env.package_requirements or env.conda or env.container_image or env.working_dir):
        return
    from fray._unbuilt import warn_of_packages, warn_of_rest

    warn_of_packages(env, _WHERE)
    warn_of_rest(env, _WHERE)


@contextmanager
def applied(env: RuntimeEnv | None) -> Generator[None, None, None]:
    """Run the block with the variables of `env` set."""
    if env is None or not env.env:
        yield
        return
    stack, layer = _layers(), _Layer(env.env)
    with _lock:
        try:
            stack.append(layer)
            layer.set()
            yield
        finally:
            layer.put_back()
            if layer in stack:
                stack.remove(layer)


@contextmanager
def suspended() -> Generator[None, None, None]:
    """Run the block, in which this thread waits, without the variables that its tasks have set."""
    stack = _layers()
    if not stack:
        yield
        return
    for layer in reversed(stack):
        layer.put_back()
        _lock.release()
    try:
        yield
    finally:
        for layer in stack:
            _lock.acquire()
            layer.set()


def _after_fork_in_child() -> None:
    """Replace the lock, unless a task of this thread has it: the thread that may have held it is not in the child."""
    global _lock
    if not _layers():
        _lock = threading.RLock()


os.register_at_fork(after_in_child=_after_fork_in_child)


class _Layer:
    """The variables that one task has set, and their values before."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values
        self._before: dict[str, str | None] = {}

    def set(self) -> None:
        self._before = {name: os.environ.get(name) for name in self._values}
        os.environ.update(self._values)

    def put_back(self) -> None:
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _layers() -> list[_Layer]:
    """Return the layers of this thread, outermost first."""
    layers: list[_Layer] | None = getattr(_mine, "layers", None)
    if layers is None:
        layers = _mine.layers = []
    return layers


@contextmanager
def outside_event_loops() -> Generator[None, None, None]:
    """Surround a task that runs at once: it may use ``asyncio.run``, as it may in a process or thread of its own.

    The thread's loop waits until the block ends, since the code that submits runs in it.
    """
    events = sys.modules.get("asyncio.events")
    loop = None if events is None else events._get_running_loop()
    if events is None or loop is None:
        yield
        return
    # From 3.14 on a thread has one current task, and no longer one for each of its loops.
    swap = sys.modules["asyncio.tasks"]._swap_current_task if sys.version_info >= (3, 14) else None
    task = None if swap is None else sys.modules["asyncio.tasks"].current_task(loop)
    try:
        if swap is not None:
            swap(loop, None)
        events._set_running_loop(None)
        yield
    finally:
        events._set_running_loop(loop)
        if swap is not None:
            swap(loop, task)
