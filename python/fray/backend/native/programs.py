"""Where the programs of the package are: the node `fray`, and the one that loads C++ libraries."""

from __future__ import annotations

import os
import sys

from fray.errors import NodeDiedError, UnsupportedError

__all__ = ["cpp_worker_program", "fray_program"]


def fray_program() -> str:
    """Return the path of the program `fray`, which is the node and also makes snapshots.

    Raises:
        NodeDiedError: it is not installed.
    """
    places = _places("_bin", "fray")
    found = _first(places)
    if found is None:
        raise NodeDiedError(f"the fray program is missing ({' and '.join(places)}); install Fray from a wheel")
    return found


def cpp_worker_program() -> str:
    """Return the path of the program that becomes the worker of a C++ library.

    Raises:
        UnsupportedError: it is not installed.
    """
    places = _places("_cpp", "libexec", "fray", "fray-cpp-worker")
    found = _first(places)
    if found is None:
        missing = " and ".join(places)
        raise UnsupportedError(f"this installation of Fray runs no C++ ({missing} is missing); install it from a wheel")
    return found


def _places(*parts: str) -> list[str]:
    """Return where a file of the package may be: an editable installation has folders of sources and of the build."""
    return [os.path.join(os.path.realpath(folder), *parts) for folder in sys.modules["fray"].__path__]


def _first(places: list[str]) -> str | None:
    return next((place for place in places if os.path.exists(place)), None)
