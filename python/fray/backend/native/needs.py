"""Finds the large packages that the calls of this process need, so that its workers can share their memory.

The driver writes the names of their modules into a file in memory, from which the fork server reads them
(`fray.backend.native.loading`). Only installed packages count that this process has imported itself, so that an import
in the fork server has no effect that the program does not expect. The program's own modules are never among them, nor
are packages that no call names.

The file has one byte that says what is known (`Known`), four bytes with the length of the rest, and the names of
modules, each followed by a newline, in the order in which this process has imported them. Names are only ever appended.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from enum import IntEnum
from importlib.util import find_spec
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

__all__ = ["FILE_NAME", "HEADER_BYTES", "NEEDS_OPTION", "Known", "Needs"]

FILE_NAME = "fray-needs"
NEEDS_OPTION = "fray_needs"
"""Of the fork server's interpreter, which takes it away before anybody sees it: the path of the file."""
HEADER_BYTES = 5
_MOST_LOOKS = 256
_MOST_SEARCHED_BYTES = 64 << 10
_MOST_OWN_MODULES = 1000
_LARGE_MODULES = 20
"""Fewest modules of a large package: one with fewer modules takes only a few milliseconds to import."""


class Known(IntEnum):
    """What is known of the needs of calls; the values are those of `fray::worker::Needs`."""

    UNKNOWN = 0
    NOTHING = 1
    LOADED = 2


class Needs:
    """The packages that the calls of one context need, written for the fork server of its node. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._file = os.memfd_create(FILE_NAME, os.MFD_CLOEXEC)
        self._pid = os.getpid()
        self.path = f"/proc/{self._pid}/fd/{self._file}"
        self._looks = 0
        self._known = Known.UNKNOWN
        self._length = 0
        self._named: set[str] = set()
        self._packages: dict[str, list[str]] = {}
        self._pattern: re.Pattern[bytes] | None = None
        self._modules_seen = 0

    def close(self) -> None:
        """Close the file, and look for no further packages."""
        with self._lock:
            self._looks = _MOST_LOOKS
            file, self._file = self._file, -1
            if file >= 0:
                os.close(file)

    def __del__(self) -> None:
        self.close()

    def see_pickle(self, pickle: bytes) -> bool:
        """Look for names of packages in a pickle; return whether to look at further pickles."""
        if not self._may_look():
            return False
        if self._pattern is None:
            self._tell(set())
        else:
            self._tell({name.decode() for name in self._pattern.findall(pickle[:_MOST_SEARCHED_BYTES])})
        return self._looks < _MOST_LOOKS

    def see_module(self, name: str) -> None:
        """Look for packages that a worker imports together with this module, one of whose functions it is to call."""
        if self._may_look():
            self._tell(self._imported_with(name) if self._packages else set())

    def _may_look(self) -> bool:
        if self._looks >= _MOST_LOOKS or os.getpid() != self._pid:
            return False
        self._looks += 1
        if len(sys.modules) != self._modules_seen:
            self._modules_seen = len(sys.modules)
            self._packages = _large_packages()
            if self._packages and not _threads_can_be_told():
                self._packages = {}
            names = b"|".join(re.escape(name.encode()) for name in self._packages)
            self._pattern = re.compile(rb"(?<![\w.])(?:%s)(?!\w)" % names) if names else None
        return True

    def _tell(self, packages: set[str]) -> None:
        new = sorted(packages - self._named)
        self._named.update(new)
        text = "".join(f"{name}\n" for package in new for name in self._packages[package]).encode()
        known = Known.LOADED if self._named else Known.NOTHING
        with self._lock:
            if self._file < 0 or (not text and known == self._known):
                return
            os.pwrite(self._file, text, HEADER_BYTES + self._length)
            self._length += len(text)
            os.pwrite(self._file, self._length.to_bytes(HEADER_BYTES - 1, "little"), 1)
            os.pwrite(self._file, bytes([known]), 0)
            self._known = known

    def _imported_with(self, name: str) -> set[str]:
        """Return the large packages whose names a module uses, directly or through other modules of the program."""
        found: set[str] = set()
        known = {name}
        waiting = [name]
        while waiting and len(known) < _MOST_OWN_MODULES:
            module = waiting.pop()
            package = module.partition(".")[0]
            if package in self._packages:
                found.add(package)
                continue
            inside = _inside(module)
            if not _is_own(module, inside):
                continue
            others = {_home_of(value) for value in list(inside.values())} - known
            known |= others
            waiting += [other for other in others if other]
        return found


def _home_of(value: Any) -> str:
    """Return the name of the module that `value` is or was defined in, without running any code of the value."""
    kind: type[Any] = type(value)  # pyright: ignore[reportUnknownVariableType]
    if issubclass(kind, ModuleType):
        name = object.__getattribute__(value, "__dict__").get("__name__")
    elif issubclass(kind, (type, FunctionType, BuiltinFunctionType)):
        name = getattr(value, "__module__", "")
    else:
        name = kind.__module__
    return name if isinstance(name, str) else ""


def _inside(module: str) -> dict[str, Any]:
    """Return the names in a loaded module; reading them must not make a lazily loaded module load itself."""
    loaded: Any = sys.modules.get(module)
    return object.__getattribute__(loaded, "__dict__") if issubclass(type(loaded), ModuleType) else {}


def _threads_can_be_told() -> bool:
    """Return whether threadpoolctl is installed, which limits the threads of libraries that are already loaded.

    Without it, a library that the fork server has loaded would use as many threads as the machine has processors.
    """
    try:
        return "threadpoolctl" in sys.modules or find_spec("threadpoolctl") is not None
    except Exception:  # the program may have changed the import system, or sys.path may hold something unreadable
        return False


def _large_packages() -> dict[str, list[str]]:
    """Return the loaded modules of each installed package that takes long to import, by the name of the package."""
    packages: dict[str, list[str]] = {}
    for name in list(sys.modules):
        packages.setdefault(name.partition(".")[0], []).append(name)
    return {
        package: names
        for package, names in packages.items()
        if len(names) >= _LARGE_MODULES and package != "fray" and _is_installed(_inside(package))
    }


def _place_of(inside: dict[str, Any]) -> str:
    place = inside.get("__file__")
    return place if isinstance(place, str) else ""


def _is_installed(inside: dict[str, Any]) -> bool:
    place = _place_of(inside)
    return f"{os.sep}site-packages{os.sep}" in place or f"{os.sep}dist-packages{os.sep}" in place


def _is_own(module: str, inside: dict[str, Any]) -> bool:
    """Return whether a module belongs to the program: it is neither installed nor part of the standard library."""
    if module.partition(".")[0] in sys.stdlib_module_names:
        return False
    return bool(_place_of(inside)) and not _is_installed(inside)
