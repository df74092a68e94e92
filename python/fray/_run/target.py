"""Which function `fray run` is to call: ``file.py::function`` or ``module:function``."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

__all__ = ["Target", "TargetFormError", "TargetNotFoundError", "load_function", "parse_target"]


class TargetFormError(ValueError):
    """The text has neither of the two forms that name a function."""


class TargetNotFoundError(LookupError):
    """The file, the module or the function does not exist."""


class Target(NamedTuple):
    """A file or a module, and the dotted path of a function in it."""

    place: str
    is_file: bool
    function: str

    def __str__(self) -> str:
        return f"{self.place}{'::' if self.is_file else ':'}{self.function}"


def parse_target(text: str) -> Target:
    """Return what ``file.py::function`` or ``module:function`` names.

    Raises:
        TargetFormError: the text has neither form.
    """
    is_file = "::" in text
    place, _, function = text.partition("::" if is_file else ":")
    module_parts = place.split(".")
    well_formed = bool(place) and all(part.isidentifier() for part in function.split("."))
    if well_formed and (is_file or all(part.isidentifier() for part in module_parts)):
        return Target(place, is_file, function)
    raise TargetFormError(f"{text!r} names no function; write file.py::function or module:function")


def load_function(target: Target) -> Callable[..., Any]:
    """Import the place and return the function.

    The folder of the file, or the current folder for a module, becomes the first entry of the module path, as
    Python does for a script; workers get the same path.

    Raises:
        TargetNotFoundError: there is no such file, module or function; the message names near ones.
    """
    module = _load_file(target) if target.is_file else _load_module(target)
    found: Any = module
    for part in target.function.split("."):
        if not hasattr(found, part):
            raise TargetNotFoundError(f"{target.place} has no function {target.function!r}{_near(module, target)}")
        found = getattr(found, part)
    if not callable(found):
        kind = type(found).__name__
        raise TargetNotFoundError(f"{target} is no function but a {kind}{_near(module, target)}")
    return found


def _load_module(target: Target) -> ModuleType:
    sys.path.insert(0, _current_folder())
    try:
        return importlib.import_module(target.place)
    except ModuleNotFoundError as error:
        parts = target.place.split(".")
        if error.name not in [".".join(parts[: count + 1]) for count in range(len(parts))]:
            raise  # what is missing is a module that this module imports
        hint = "; for a file write file.py::function" if target.place.endswith(".py") else ""
        raise TargetNotFoundError(f"there is no module {error.name!r} here or on the module path{hint}") from None


def _current_folder() -> str:
    try:
        return os.getcwd()
    except OSError as error:
        raise TargetNotFoundError(f"the current folder is gone ({error.strerror}); go to one that exists") from None


def _load_file(target: Target) -> ModuleType:
    path = Path(
        target.place if os.path.isabs(target.place) else os.path.join(_current_folder(), target.place)
    ).resolve()
    if not os.path.isfile(path):
        raise TargetNotFoundError(f"there is no file {target.place}")
    sys.path.insert(0, str(path.parent))
    if path.suffix == ".py" and path.stem.isidentifier() and _leads_to(path):
        return importlib.import_module(path.stem)
    return _load_by_value(path)


def _leads_to(path: Path) -> bool:
    """Whether workers that import a module of this name get this file, and not another module."""
    if path.stem in sys.modules:
        return False
    spec = importlib.util.find_spec(path.stem)
    return spec is not None and spec.origin is not None and Path(spec.origin).resolve() == path


def _load_by_value(path: Path) -> ModuleType:
    """Run a file that no import finds by its name; its functions are pickled by value."""
    import cloudpickle

    module = ModuleType(f"fray_run_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    cloudpickle.register_pickle_by_value(module)  # pyright: ignore[reportUnknownMemberType]
    exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    return module


def _near(module: ModuleType, target: Target) -> str:
    own = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and callable(value) and getattr(value, "__module__", None) == module.__name__
    ]
    near = difflib.get_close_matches(target.function, own, n=3) or sorted(own)[:8]
    return f"; it has {', '.join(near)}" if near else "; it has no functions"
