"""`ray.util.inspect_serializability`: why a value cannot be pickled."""

from __future__ import annotations

import sys
from typing import Any

from fray._by_value import dumps
from fray._functions import captured_values

__all__ = ["FailureTuple", "inspect_serializability"]


class FailureTuple:
    """A part of a value that cannot be pickled.

    Args:
        obj: the part.
        path: the names of the parts that lead to it; its own name comes last.
        parent: the value that refers to it.
    """

    def __init__(self, obj: Any, path: tuple[str, ...], parent: Any) -> None:
        self.obj = obj
        self.path = path
        self.parent = parent

    def __repr__(self) -> str:
        return f"FailureTuple({' -> '.join(self.path)}, obj={self.obj!r}, parent={self.parent!r})"


def inspect_serializability(
    base_obj: Any, name: str | None = None, depth: int = 3, print_file: Any = None
) -> tuple[bool, set[FailureTuple]]:
    """Print and return whether a value can be pickled, and which parts of it cannot."""
    out = print_file or sys.stdout
    called = name or getattr(base_obj, "__qualname__", None) or str(base_obj)
    failures: set[FailureTuple] = set()
    error = _error_of(base_obj)
    print(f"Checking serializability of {called!r}: {'ok' if error is None else error}", file=out)
    if error is None:
        return True, failures
    _look(base_obj, (called,), None, depth, failures)
    for part in failures:
        print(f"  {part.path[-1]!r} ({type(part.obj).__name__}), found in {part.parent!r}, cannot be pickled", file=out)
    return False, failures


def _look(value: Any, path: tuple[str, ...], parent: Any, depth: int, failures: set[FailureTuple]) -> None:
    found = False
    if depth > 0:
        for part_name, part in captured_values(value):
            if _error_of(part) is not None:
                found = True
                _look(part, (*path, part_name), value, depth - 1, failures)
    if not found:
        failures.add(FailureTuple(value, path, parent))


def _error_of(value: Any) -> Exception | None:
    try:
        dumps(value)
    except Exception as error:
        return error
    return None
