"""Finds the names of a library in annotations that are strings, as in ``ref: "ray.ObjectRef | None"``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import libcst as cst

from fray.migrate.source import Source

__all__ = ["TextAnnotation", "text_annotations"]

_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*(?:\.[^\W\d]\w*)*")


@dataclass
class TextAnnotation:
    """An annotation that is a string.

    Args:
        node: the string.
        uses: a node for each name of the library in it, with the name in full, in the order of the text.
    """

    node: cst.SimpleString
    uses: list[tuple[cst.CSTNode, str]]
    spans: list[tuple[int, int]]

    def replaced(self, counterpart: Callable[[str], str | None]) -> cst.SimpleString | None:
        """Return the string with the counterparts of all names of the library; None if one of them has none."""
        text = self.node.value
        for (start, end), (_, name) in reversed(list(zip(self.spans, self.uses, strict=True))):
            new = counterpart(name)
            if new is None:
                return None
            text = text[:start] + new + text[end:]
        return cst.SimpleString(text)


def text_annotations(source: Source, packages: Sequence[str]) -> list[TextAnnotation]:
    """Return the annotations of a program that name one of `packages` inside a string."""
    found: list[TextAnnotation] = []
    for node in source.nodes():
        if not isinstance(node, cst.SimpleString) or "b" in node.prefix.lower():
            continue
        if not any(isinstance(above, cst.Annotation) for above in source.ancestors(node)):
            continue
        matches = [
            (match, name)
            for match in _NAME.finditer(node.value, len(node.prefix))
            if (name := source.library_name_in_text(node, match.group(), packages)) is not None
        ]
        if matches:
            uses = [(cst.Name(match.group().partition(".")[0]), name) for match, name in matches]
            found.append(TextAnnotation(node, list(uses), [match.span() for match, _ in matches]))
    return found
