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
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from fray.backend.native.imported import inside_of, is_own, large_packages, threads_can_be_told
from fray.errors import NodeDiedError

__all__ = ["CLASSES_OPTION", "FILE_NAME", "HEADER_BYTES", "NEEDS_OPTION", "Known", "Needs"]

FILE_NAME = "fray-needs"
NEEDS_OPTION = "fray_needs"
"""Of the fork server's interpreter, which takes it away before anybody sees it: the path of the file."""
CLASSES_OPTION = "fray_classes"
"""Of the same interpreter: the program has classes that only cloudpickle can bring to its workers."""
HEADER_BYTES = 5
_MOST_LOOKS = 256
_MOST_SEARCHED_BYTES = 64 << 10
_MOST_OWN_MODULES = 1000


class Known(IntEnum):
    """What is known of the needs of calls; the values are those of `fray::worker::Needs`."""

    UNKNOWN = 0
    NOTHING = 1
    LOADED = 2


class Needs:
    """The packages that the calls of one context need, written for the fork server of its node. Thread-safe.

    Args:
        of_copies: whether the fork server is a copy of this process: it has what this one has imported by now.

    Raises:
        NodeDiedError: this process has no descriptor left.
    """

    def __init__(self, of_copies: bool = False) -> None:
        self._lock = threading.RLock()
        self._file = -1
        try:
            self._file = os.memfd_create(FILE_NAME, os.MFD_CLOEXEC)
        except OSError as error:
            raise NodeDiedError(f"this process cannot start a node: {error}") from error
        self._pid = os.getpid()
        self.path = f"/proc/{self._pid}/fd/{self._file}"
        self._looks = 0
        self._known = Known.UNKNOWN
        self._length = 0
        self._named: set[str] = set()
        self._packages: dict[str, list[str]] = {}
        self._pattern: re.Pattern[bytes] | None = None
        self._modules_seen = 0
        self._copied: frozenset[str] = frozenset(sys.modules if of_copies else ())
        if of_copies and large_packages():  # it has begun to import, and is likely to have most of it
            self._tell(set())

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
            self._packages = large_packages(besides=self._copied)
            if self._packages and not threads_can_be_told():
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
            inside = inside_of(module)
            if not is_own(module, inside):
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
