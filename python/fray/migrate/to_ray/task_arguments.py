"""The arguments of a call of Ray's, from those of ``ctx.create_task``."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from fray.migrate.build import comments, keyword, literal
from fray.migrate.fray_side import TaskCall
from fray.migrate.sites import Rewriter

__all__ = ["task_arguments", "with_commas"]


def task_arguments(parts: TaskCall, rewriter: Rewriter) -> list[cst.Arg]:
    """Return the arguments ``a, *b, k=v, **c`` for ``(a, *b), {"k": v, **c}``."""
    found: list[cst.Arg] = []
    if isinstance(parts.args, (cst.Tuple, cst.List)):
        new = rewriter.sub(parts.args)
        assert isinstance(new, (cst.Tuple, cst.List))
        for item in new.elements:
            star = "*" if isinstance(item, cst.StarredElement) else ""
            found.append(cst.Arg(item.value, star=star, comma=item.comma))
        if found and isinstance(found[-1].comma, cst.Comma) and not comments(found[-1].comma):
            found[-1] = found[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    elif parts.args is not None:
        found.append(cst.Arg(rewriter.sub(parts.args), star="*"))
    keys = [literal(item.key) for item in _dict_elements(parts.kwargs) if isinstance(item, cst.DictElement)]
    if isinstance(parts.kwargs, cst.Dict) and all(isinstance(key, str) and key.isidentifier() for key in keys):
        new_dict = rewriter.sub(parts.kwargs)
        for item in _dict_elements(new_dict):
            if isinstance(item, cst.DictElement):
                found.append(keyword(str(literal(item.key)), item.value).with_changes(comma=item.comma))
            else:
                found.append(cst.Arg(item.value, star="**", comma=item.comma))
    elif parts.kwargs is not None and literal(parts.kwargs) is not None:
        found.append(cst.Arg(rewriter.sub(parts.kwargs), star="**"))
    return found


def _dict_elements(node: cst.BaseExpression | None) -> Sequence[cst.BaseDictElement]:
    return node.elements if isinstance(node, cst.Dict) else ()


def with_commas(args: Sequence[cst.Arg]) -> list[cst.Arg]:
    """Return the arguments with commas between them, and none after the last one if they stand on one line."""
    found = list(args)
    for number, item in enumerate(found[:-1]):
        if not isinstance(item.comma, cst.Comma):
            found[number] = item.with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
    last = found[-1].comma if found else None
    if isinstance(last, cst.Comma) and isinstance(last.whitespace_after, cst.SimpleWhitespace):
        found[-1] = found[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    return found
