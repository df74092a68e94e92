"""C++ functions and classes in a shared library, as tasks and actors."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from fray.errors import UnsupportedError

__all__ = ["CppActor", "CppFunction", "CppLibrary", "cpp"]


@dataclass(frozen=True, slots=True)
class CppFunction:
    """A function that a shared library registers with ``FRAY_TASK``; run it as a task.

    Args:
        library: path of the library.
        name: the name under which the library registers the function.
    """

    library: str
    name: str

    def __call__(self, *args: Any) -> NoReturn:
        """Raise UnsupportedError: the function runs only in workers of the native engine."""
        raise UnsupportedError(_not_here(f"the C++ function {self.name!r}", "ctx.run(function, ...)"))


class CppActor:
    """Base of the classes that `CppLibrary.actor` returns, each of which stands for a C++ class."""

    cpp_library: ClassVar[str]
    cpp_name: ClassVar[str]

    def __init__(self, *args: Any) -> None:
        raise UnsupportedError(_not_here(f"the C++ class {self.cpp_name!r}", "ctx.create_actor(cls, ...)"))


@dataclass(frozen=True, slots=True)
class CppLibrary:
    """A shared library with C++ tasks and actors; see `cpp`.

    Args:
        path: path of the library.
    """

    path: str

    def function(self, name: str) -> CppFunction:
        """Return the function that ``FRAY_TASK`` registers under `name`: ``ctx.run(function, 1, 2)``."""
        return CppFunction(self.path, _checked(name, "function"))

    def actor(self, name: str) -> type[CppActor]:
        """Return the class that ``FRAY_ACTOR`` registers under `name`: ``ctx.create_actor(cls, 10)``."""
        _checked(name, "actor")
        return type(name, (CppActor,), {"cpp_library": self.path, "cpp_name": name})


def cpp(path: str | os.PathLike[str]) -> CppLibrary:
    """Return the C++ tasks and actors of a shared library, which the workers that run them load.

    The content of the library is part of the worker key: after a new build, new workers load it.

    Raises:
        FileNotFoundError: there is no such file.
    """
    text: str = os.fspath(path)
    where = os.path.abspath(os.path.expanduser(text))
    if not os.path.isfile(where):
        raise FileNotFoundError(f"fray.cpp: there is no library {where}; build it first, or give its path")
    return CppLibrary(where)


def _checked(name: str, what: str) -> str:
    if not isinstance(name, str) or not name:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"{what}: a name is needed, as FRAY_TASK or FRAY_ACTOR has it, got {name!r}")
    return name


def _not_here(what: str, how: str) -> str:
    return f"{what} runs in workers of the native engine (`local`) only: {how} there"
