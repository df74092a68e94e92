"""What workers are to share: the large packages of this process that its calls name.

The driver writes them into a file in memory, which the fork server reads (`fray.backend.native.loading`). Only packages
that are installed are meant, and that this process has imported itself: importing those has no effect that anybody has
to know of. A program's own modules are not among them, and neither is a package that no call names.

The file has a byte that says what is known (`Known`), four bytes for the length of what follows, and names of modules,
each with a newline behind it, in the order in which this process has imported them. It only ever grows.
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

__all__ = ["FILE_NAME", "HEADER_BYTES", "Known", "Needs"]

FILE_NAME = "fray-needs"
HEADER_BYTES = 5
_MOST_LOOKS = 256
_MOST_SEARCHED_BYTES = 64 << 10
_MOST_OWN_MODULES = 1000
_LARGE_MODULES = 20
"""A package of fewer modules than these is imported in a few milliseconds."""


class Known(IntEnum):
    """What is known of the needs of calls; as `fray::worker::Needs`."""

    UNKNOWN = 0
    NOTHING = 1
    LOADED = 2


class Needs:
    """What the calls of one context need, told to the fork server of its node."""

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
        """Let go of the file; nothing is looked at any more."""
        with self._lock:
            self._looks = _MOST_LOOKS
            if self._file >= 0:
                os.close(self._file)
                self._file = -1

    def __del__(self) -> None:
        self.close()

    def see_pickle(self, pickle: bytes) -> bool:
        """Look for packages in a pickle; return whether further ones are wanted."""
        if not self._may_look():
            return False
        if self._pattern is None:
            self._tell(set())
        else:
            self._tell({name.decode() for name in self._pattern.findall(pickle[:_MOST_SEARCHED_BYTES])})
        return self._looks < _MOST_LOOKS

    def see_module(self, name: str) -> None:
        """Look for packages that a worker imports with this module, of which it is to call a function."""
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
        """Return the large packages that a module has names of, itself or through other modules of the program."""
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
    """Return the name of the module that a value is, or comes from; no code of the value's own runs."""
    kind: type[Any] = type(value)  # pyright: ignore[reportUnknownVariableType]
    if issubclass(kind, ModuleType):
        name = object.__getattribute__(value, "__dict__").get("__name__")
    elif issubclass(kind, (type, FunctionType, BuiltinFunctionType)):
        name = getattr(value, "__module__", "")
    else:
        name = kind.__module__
    return name if isinstance(name, str) else ""


def _inside(module: str) -> dict[str, Any]:
    """Return what a module that is loaded has, without having one that is loaded lazily load itself."""
    loaded: Any = sys.modules.get(module)
    return object.__getattribute__(loaded, "__dict__") if issubclass(type(loaded), ModuleType) else {}


def _threads_can_be_told() -> bool:
    """Return whether a library that is loaded already can be told how many threads the task of a worker may use."""
    try:
        return "threadpoolctl" in sys.modules or find_spec("threadpoolctl") is not None
    except Exception:  # of an import system that the program has changed, or a path that nobody can search
        return False


def _large_packages() -> dict[str, list[str]]:
    """Return the modules of each installed package of this process that takes long to import."""
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
    """Return whether a module is the program's, neither installed nor Python's."""
    if module.partition(".")[0] in sys.stdlib_module_names:
        return False
    return bool(_place_of(inside)) and not _is_installed(inside)
