"""`RuntimeEnv.env` inside one process: set around the call, put back after it.

The variables belong to the whole process, so tasks that set some run one at a time, and other tasks that run meanwhile
see them. A task that blocks puts its variables back and lets the next one in. Packages and images are refused.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager

from fray.errors import UnsupportedError
from fray.types import RuntimeEnv

__all__ = ["applied", "check_supported", "suspended"]

_lock = threading.RLock()
_mine = threading.local()


def check_supported(env: RuntimeEnv | None) -> None:
    """Raise UnsupportedError for what only a job of its own can have."""
    if env is None:
        return
    for field, value in (
        ("package_requirements", env.package_requirements),
        ("container_image", env.container_image),
        ("conda", env.conda),
        ("working_dir", env.working_dir),
    ):
        if value:
            raise UnsupportedError(
                f"RuntimeEnv.{field} does not apply to tasks of this context; only RuntimeEnv.env does. "
                "Install what the task needs into the driver's own environment"
            )


@contextmanager
def applied(env: RuntimeEnv | None) -> Generator[None, None, None]:
    """Run the block with the variables of `env` set."""
    if env is None or not env.env:
        yield
        return
    with _lock:
        stack = _layers()
        stack.append(_Layer(env.env))
        stack[-1].set()
        try:
            yield
        finally:
            stack.pop().put_back()


@contextmanager
def suspended() -> Generator[None, None, None]:
    """Run the block, in which this thread blocks, without the variables that its tasks set."""
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


class _Layer:
    """Variables that one task set, and what was there before."""

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
