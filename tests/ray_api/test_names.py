"""The table of names in the guide: it has every public name of Ray's core, and is right about each."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

_GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "from-ray.md"
_NOT_IMPORTED = ("ray.util.accelerators", "ray.experimental.collective")
"""Modules of Ray whose names are not in the module itself, or that need torch."""
_ROWS = {
    module: (re.findall(r"`(\w+)`", here), re.findall(r"`(\w+)`", absent.partition(":")[0]))
    for module, here, absent in re.findall(r"^\| `(ray[\w.]*)` \| (.*) \| (.*) \|$", _GUIDE.read_text(), re.MULTILINE)
}


@pytest.mark.parametrize("module", _ROWS)
def test_the_table_is_right(module: str) -> None:
    ours = importlib.import_module(f"fray.{module}")
    here, absent = _ROWS[module]
    for name in here:
        assert getattr(ours, name) is not None
    for name in absent:
        assert not _has(ours, name), name


def _has(module: ModuleType, name: str) -> bool:
    try:
        return getattr(module, name, None) is not None
    except (ImportError, RuntimeError):  # refused by name
        return False


@pytest.mark.ray
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("module", [name for name in _ROWS if name not in _NOT_IMPORTED])
def test_the_table_is_whole(module: str) -> None:
    theirs = importlib.import_module(module)
    here, absent = _ROWS[module]
    assert _public(theirs) <= {*here, *absent}


def _public(module: Any) -> set[str]:
    listed = getattr(module, "__all__", None)
    if listed is not None and module.__name__ not in ("ray.actor", "ray.util.placement_group", "ray.exceptions"):
        return set(listed)
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == module.__name__
    }
