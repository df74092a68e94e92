"""Moves the names of a library in annotations that are strings, as in ``ref: "ray.ObjectRef | None"``."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence

import libcst as cst

from fray.migrate.ray_api import Reason
from fray.migrate.sites import Blocker, Found, Site

__all__ = ["find_text_annotations"]

_WITHOUT_SUBSCRIPT = ("fray.ActorHandle",)
"""New names that take no brackets, where the old ones do."""
_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*(?:\.[^\W\d]\w*)*")


def find_text_annotations(
    found: Found, packages: Sequence[str], counterpart: Callable[[str], str | None], reason: Callable[[str], Reason]
) -> None:
    """Add the sites and blockers of such annotations to `found`, and a reference for every name in them.

    Args:
        found: what has been found in the program so far.
        packages: the packages of the old library.
        counterpart: returns the new name for the full name of something in these packages; None if it has none.
        reason: returns why such a name stays.
    """
    source = found.source
    for node in source.nodes():
        if not isinstance(node, cst.SimpleString) or not _is_annotation(node):
            continue
        if not any(isinstance(above, cst.Annotation) for above in source.ancestors(node)):
            continue
        names = {
            match: name
            for match in _NAME.finditer(node.value, len(node.prefix))
            if (name := source.library_name_in_text(node, match.group(), packages)) is not None
        }
        if not names:
            continue
        uses = [(cst.Name(match.group().partition(".")[0]), name) for match, name in names.items()]
        found.references += uses
        found.links.append((node, source.statement_of(node)))
        unknown = next((name for name in names.values() if counterpart(name) is None), None)
        if unknown is not None:
            found.blockers.append(Blocker(source, node, reason(unknown)))
            continue
        text = node.value
        for match, name in reversed(names.items()):
            new_name = counterpart(name) or ""
            rest = text[match.end() :]
            if new_name in _WITHOUT_SUBSCRIPT:
                rest = _behind_subscript(rest)
            text = text[: match.start()] + new_name + rest
        new = cst.SimpleString(text)
        found.sites.append(Site(source, node, lambda rewriter, old, new=new: new, tuple(use for use, _ in uses)))


def _behind_subscript(text: str) -> str:
    """Return what follows a subscript with which `text` begins, and all of it where it begins otherwise."""
    if not text.lstrip().startswith("["):
        return text
    depth = 0
    for at, sign in enumerate(text):
        depth += (sign == "[") - (sign == "]")
        if depth == 0 and sign == "]":
            return text[at + 1 :]
    return text


def _is_annotation(node: cst.SimpleString) -> bool:
    """Return whether a string is an expression, and no text about an annotation, as `typing.Annotated` may have."""
    value = node.evaluated_value
    try:
        return isinstance(value, str) and bool(ast.parse(value.strip(), mode="eval"))
    except (SyntaxError, ValueError, RecursionError):
        return False
