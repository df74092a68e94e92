"""Builds the new tree of a program: replaces sites, and inserts contexts, imports and comments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import libcst as cst

from fray.migrate.build import assign, call, comments
from fray.migrate.contexts import Places
from fray.migrate.sites import Site
from fray.migrate.source import Source

__all__ = ["COMMENT", "Rewrite"]

COMMENT = "# fray: "


class Rewrite(cst.CSTTransformer):
    """Replaces the active sites of one source.

    Args:
        source: the program.
        sites: the active sites, by the ids of their nodes.
        places: where the context is looked up.
        get_context: the expression that looks the context up, as text.
        notes: comments, by the ids of the statements before which they are written.
        statements: functions that change whole statements after their sites were replaced, such as imports, by ids.
    """

    def __init__(
        self,
        source: Source,
        sites: Mapping[int, Site],
        places: Places,
        get_context: str,
        notes: Mapping[int, Sequence[str]],
        imports: Mapping[int, Callable[[cst.CSTNode], cst.CSTNode | cst.RemovalSentinel]],
    ) -> None:
        super().__init__()
        self._source = source
        self._sites = sites
        self._places = places
        self._get_context = get_context
        self._notes = notes
        self._imports = imports
        self._lost: list[str] = []
        """Comments of the current statement that have lost their place."""
        self._carried: dict[int, list[str]] = {}
        """Comments of statements that are gone, for the next statement of the same block, by the id of that."""

    def run(self) -> cst.Module:
        """Return the new tree."""
        return self._source.module.visit(self)

    # ---- what the builders of sites use: `Rewriter`

    def sub(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """Return `node` with the sites in it replaced."""
        return cast("cst.BaseExpression", node.visit(self))

    def sub_arg(self, node: cst.Arg) -> cst.Arg:
        """Return an argument with the sites in it replaced."""
        return cast("cst.Arg", node.visit(self))

    def context(self, node: cst.CSTNode) -> cst.BaseExpression:
        """Return the expression for the context at `node`: a variable, or a look-up."""
        return call(self._get_context) if id(node) in self._places.inline else cst.Name(self._places.name)

    def active(self, node: cst.CSTNode) -> bool:
        """Return whether the site of `node` is replaced."""
        return id(node) in self._sites

    # ---- the walk

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Do not enter an expression that is a site: its builder replaces the sites in its parts."""
        return not (id(node) in self._sites and isinstance(node, cst.BaseExpression))

    def on_leave(self, original_node: Any, updated_node: Any) -> Any:
        """Replace a node that is a site, and finish statements."""
        new: Any = updated_node
        change = self._imports.get(id(original_node))
        if change is not None:
            new = change(new)
            self._lose(original_node, new)
        if isinstance(original_node, cst.FormattedStringExpression):
            new = self._shown_as_before(original_node, self._with_fitting_quotes(original_node, updated_node))
        site = self._sites.get(id(original_node))
        if site is not None:
            new = site.build(self, new)
            if isinstance(original_node, (cst.BaseExpression, cst.SimpleStatementLine)):
                self._lose(original_node, new)
        if _has_lines(original_node):
            new = self._around(original_node, new)
        if isinstance(original_node, (cst.IndentedBlock, cst.Module)) and id(original_node) in self._carried:
            new = new.with_changes(footer=[*_lines(self._carried.pop(id(original_node))), *new.footer])
        return new

    def _lose(self, old: cst.CSTNode, new: Any) -> None:
        """Note the comments of `old` that are not in `new`, to be written before the statement."""
        if before := comments(old):
            after = sum((comments(part) for part in _parts(new)), Counter[str]())
            told = Counter(self._lost)  # by the sites inside
            self._lost += list((before - after - told).elements())

    def _with_fitting_quotes(
        self, old: cst.FormattedStringExpression, new: cst.FormattedStringExpression
    ) -> cst.FormattedStringExpression:
        """Return a changed expression of an f-string without the quotes of that: Python 3.11 would end it there."""
        string = self._source.parent(old)
        if not isinstance(string, cst.FormattedString) or new.expression.deep_equals(old.expression):
            return new
        return cast("cst.FormattedStringExpression", new.visit(_OtherQuotes(string.quote)))

    def _shown_as_before(self, old: cst.FormattedStringExpression, new: cst.FormattedStringExpression) -> Any:
        """Return the parts of an f-string that show the old text of an expression which ends with ``=``."""
        if old.equal is None or new.expression.deep_equals(old.expression):
            return new
        text = self._source.code(old.with_changes(conversion=None, format_spec=None))[1:-1]
        string = self._source.parent(old)
        if isinstance(string, cst.FormattedString) and "r" not in string.prefix.lower():
            text = text.replace("\\", "\\\\").replace("\n", "\\n").replace(string.quote[0], "\\" + string.quote[0])
        text = text.replace("{", "{{").replace("}", "}}")
        conversion = old.conversion or ("r" if old.format_spec is None else None)
        return cst.FlattenSentinel([cst.FormattedStringText(text), new.with_changes(equal=None, conversion=conversion)])

    def _around(self, old: cst.CSTNode, new: Any) -> Any:
        """Write comments and the look-up of the context before a statement."""
        texts, self._lost = self._lost, []
        if not isinstance(old, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
            self._lost = texts
            texts = []
        parts = _parts(new)
        block = id(self._source.parent(old))
        if not parts:
            self._carried.setdefault(block, []).extend(texts)
            return new
        notes = [f"{COMMENT}{text}" for text in self._notes.get(id(old), ())]
        lines_before = [*cast("Sequence[cst.EmptyLine]", getattr(old, "leading_lines", ()))]
        if old is self._source.module.body[0]:
            lines_before += self._source.module.header
        present = [line.comment.value for line in lines_before if line.comment is not None]
        added = [text for text in (*texts, *notes) if text not in present]
        carried = self._carried.pop(block, [])
        if added or carried:
            first = parts[0]
            parts[0] = first.with_changes(leading_lines=[*_lines(carried), *first.leading_lines, *_lines(added)])
        if id(old) in self._places.before:
            lines = parts[0].leading_lines
            lookup = assign(self._places.name, call(self._get_context), lines)
            parts[0] = parts[0].with_changes(leading_lines=[])
            parts.insert(0, lookup)
        return parts[0] if len(parts) == 1 else cst.FlattenSentinel(parts)


class _OtherQuotes(cst.CSTTransformer):
    """Gives string literals in `quote` the other quote, where they do not contain it."""

    def __init__(self, quote: str) -> None:
        super().__init__()
        self._quote = quote
        self._other = "'" if quote == '"' else '"'

    def leave_SimpleString(self, original_node: cst.SimpleString, updated_node: cst.SimpleString) -> cst.SimpleString:
        text = updated_node.raw_value
        if updated_node.quote != self._quote or self._other in text or "\\" in text:
            return updated_node
        return cst.SimpleString(updated_node.prefix + self._other + text + self._other)


def _lines(texts: Sequence[str]) -> list[cst.EmptyLine]:
    return [cst.EmptyLine(comment=cst.Comment(text)) for text in texts]


def _has_lines(node: cst.CSTNode) -> bool:
    return hasattr(node, "leading_lines") and not isinstance(node, cst.Decorator)


def _parts(new: Any) -> list[Any]:
    if new is cst.RemoveFromParent() or isinstance(new, cst.RemovalSentinel):
        return []
    if isinstance(new, cst.FlattenSentinel):
        return list(cast("cst.FlattenSentinel[Any]", new))
    return [new]
