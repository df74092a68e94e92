"""What this process has imported: the program's own modules, and installed packages."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from importlib.util import find_spec
from types import ModuleType
from typing import Any

__all__ = ["inside_of", "is_own", "large_packages", "threads_can_be_told"]

_STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep
_LARGE_MODULES = 20
"""Fewest modules of a large package: one with fewer modules takes only a few milliseconds to import."""


def inside_of(module: str) -> dict[str, Any]:
    """Return the names in a loaded module; reading them must not make a lazily loaded module load itself."""
    loaded: Any = sys.modules.get(module)
    return object.__getattribute__(loaded, "__dict__") if issubclass(type(loaded), ModuleType) else {}


def threads_can_be_told() -> bool:
    """Return whether threadpoolctl is installed, which limits the threads of libraries that are already loaded.

    Without it, a library that the fork server has loaded would use as many threads as the machine has processors.
    """
    try:
        return "threadpoolctl" in sys.modules or find_spec("threadpoolctl") is not None
    except Exception:  # the program may have changed the import system, or sys.path may hold something unreadable
        return False


def large_packages(besides: Collection[str] = ()) -> dict[str, list[str]]:
    """Return the loaded modules of each installed package that takes long to import, by the name of the package.

    Args:
        besides: modules that do not count.
    """
    packages: dict[str, list[str]] = {}
    for name in list(sys.modules):
        if name in besides:
            continue
        packages.setdefault(name.partition(".")[0], []).append(name)
    return {
        package: names
        for package, names in packages.items()
        if len(names) >= _LARGE_MODULES and package != "fray" and _is_installed(inside_of(package))
    }


def _place_of(inside: dict[str, Any]) -> str:
    place = inside.get("__file__")
    return place if isinstance(place, str) else ""


def _is_installed(inside: dict[str, Any]) -> bool:
    place = _place_of(inside)
    return f"{os.sep}site-packages{os.sep}" in place or f"{os.sep}dist-packages{os.sep}" in place


def is_own(module: str, inside: dict[str, Any]) -> bool:
    """Return whether a module belongs to the program: not to an installed package, Fray or the standard library."""
    package = module.partition(".")[0]
    if package == "fray" or package in sys.stdlib_module_names:
        return False
    # Not all modules of the standard library are named there, such as what it knows of how Python was built.
    return bool(_place_of(inside)) and not _is_installed(inside) and not _place_of(inside).startswith(_STANDARD_LIBRARY)
