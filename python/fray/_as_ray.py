"""Makes `import ray` return `fray.ray`, by an import finder and a variable that has workers install the finder too."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

__all__ = ["VARIABLE", "install", "is_installed"]

VARIABLE = "FRAY_AS_RAY"
_PYTHON_VARIABLE = "FRAY_RAY_PYTHON"
"""The interpreter of the command `ray`, which programs find in front of their PATH."""
_OURS = "fray.ray"
_TITLES = "setproctitle"
"""A package that Ray brings along."""


class _Alias(Loader):
    """Loads a module of Ray as the module of the same name in `fray.ray`: one module object, with two names."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._spec: Any = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # the import machinery has replaced it by the spec of the other name


class _Finder(MetaPathFinder):
    """Finds `ray` and its submodules, so that an installed Ray is not imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == _TITLES and PathFinder.find_spec(fullname) is None:
            return ModuleSpec(fullname, _Alias(f"{_OURS}._title"))
        if fullname != "ray" and not fullname.startswith("ray."):
            return None
        from fray.ray._refused import LIBRARIES, refuse_library

        if fullname.removeprefix("ray.") in LIBRARIES:
            refuse_library(fullname.removeprefix("ray."))
        if fullname != "ray" and importlib.util.find_spec(_OURS + fullname.removeprefix("ray")) is None:
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: fray.ray, which stands for Ray here, does not have it", name=fullname
            )
        return ModuleSpec(fullname, _Alias(_OURS + fullname.removeprefix("ray")), is_package=True)


def is_installed() -> bool:
    """Return whether `import ray` returns `fray.ray`."""
    return any(isinstance(finder, _Finder) for finder in sys.meta_path)


def install() -> None:
    """Make `import ray` return `fray.ray`, in this process and in all processes that it starts.

    Raises:
        RuntimeError: this process has already imported Ray itself.
    """
    os.environ[VARIABLE] = "1"
    if is_installed():
        return
    known = sys.modules.get("ray")
    if known is not None and known.__name__ != _OURS:
        raise RuntimeError("FRAY_AS_RAY: this process has imported Ray already; set it before the program starts")
    sys.meta_path.insert(0, _Finder())
    _offer_command()


def _offer_command() -> None:
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ray", "_bin")
    paths = os.environ.get("PATH", os.defpath).split(os.pathsep)
    if sys.executable and paths[0] != folder:
        os.environ["PATH"] = os.pathsep.join([folder, *(path for path in paths if path != folder)])
        os.environ[_PYTHON_VARIABLE] = sys.executable
