"""How many threads the numerical libraries of a worker use: as many as its task has CPUs.

A library reads its variable when it is loaded; for a library that is loaded already, `threadpoolctl` changes the number
where it is installed. A variable that the user has set keeps its value.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

__all__ = ["has_numerical_library", "use_threads"]

_GENERAL = "OMP_NUM_THREADS"
_VARIABLES = (_GENERAL, "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_LIBRARIES = ("numpy", "torch", "numexpr", "mkl")
_own: dict[str, str] = {}
"""The variables that this module has set, with their values."""


def use_threads(count: int) -> None:
    """Make libraries of this process use `count` threads."""
    if _own.get(_GENERAL) == str(count):
        return
    # Most libraries follow the general variable where their own is not set.
    names = () if _is_users(_GENERAL) else [name for name in _VARIABLES if not _is_users(name)]
    for name in names:
        os.environ[name] = _own[name] = str(count)
    if len(names) == len(_VARIABLES) and has_numerical_library():
        _tell_loaded_libraries(count)


def has_numerical_library() -> bool:
    """Return whether this process has loaded a library that starts threads of its own."""
    return any(library in sys.modules for library in _LIBRARIES)


def _is_users(name: str) -> bool:
    return os.environ.get(name) != _own.get(name)


def _tell_loaded_libraries(count: int) -> None:
    try:
        import threadpoolctl  # pyright: ignore[reportMissingImports, reportMissingTypeStubs]
    except ImportError:
        return
    with _links_alone_resolved(threadpoolctl):
        threadpoolctl.threadpool_limits(count)  # pyright: ignore


@contextmanager
def _links_alone_resolved(threadpoolctl: Any) -> Generator[None, None, None]:
    """Spare threadpoolctl to resolve the path of each loaded library, which takes 7 of 15 ms where pandas is loaded.

    It knows a library by the name of its file, and only a link can have another one.
    """
    resolve = getattr(threadpoolctl, "_realpath", None)  # a function of its own, which it may not always have
    if resolve is None:
        yield
        return

    def resolve_link(path: str) -> str:
        return resolve(path) if os.path.islink(path) else path

    threadpoolctl._realpath = resolve_link
    try:
        yield
    finally:
        threadpoolctl._realpath = resolve
