"""What both ways ask about pools: in which variable one is, and what it is made with."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from fray.migrate.ray_side import only_assignment
from fray.migrate.source import Source

__all__ = ["named_arguments", "pool_variable"]


def pool_variable(source: Source, node: cst.Call) -> cst.Name | None:
    """Return the one variable that the pool which `node` makes is in."""
    parent = source.parent(node)
    if isinstance(parent, cst.WithItem) and parent.asname is not None:
        name = parent.asname.name
        return name if isinstance(name, cst.Name) and len(source.bindings(name)) == 1 else None
    if isinstance(parent, cst.Assign) and isinstance(parent.targets[0].target, cst.Name):
        name = parent.targets[0].target
        return name if only_assignment(source, name) is parent else None
    return None


def named_arguments(args: Sequence[cst.Arg], names: Sequence[str]) -> dict[str, cst.BaseExpression] | None:
    """Return arguments by name, those given by position too; None where some cannot be told."""
    found: dict[str, cst.BaseExpression] = {}
    for number, item in enumerate(args):
        if item.star or (item.keyword is None and number >= len(names)):
            return None
        found[item.keyword.value if item.keyword is not None else names[number]] = item.value
    return found if len(found) == len(args) else None
