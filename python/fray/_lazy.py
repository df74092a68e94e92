"""Public names whose modules are imported when they are first used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Any

__all__ = ["lazy_attribute"]


def lazy_attribute(module: str, name: str, table: Mapping[str, tuple[str, str]]) -> Any:
    """Return and keep the object that `table` lists for `name`: a (module, attribute) pair; "" is the module itself.

    Raises:
        AttributeError: the table does not list it, or this build does not have its module.
    """
    if name not in table:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    source, attribute = table[name]
    try:
        found = importlib.import_module(source)
        value = getattr(found, attribute) if attribute else found
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("fray."):
            raise
        raise AttributeError(f"{module}.{name}: this build of Fray has no {error.name!r} yet") from error
    setattr(sys.modules[module], name, value)
    return value
