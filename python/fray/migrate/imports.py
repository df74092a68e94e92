"""Changes import statements: removes those of one library that nothing uses any more, and adds those of the other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import libcst as cst

from fray.migrate.cells import mark_of, timed_statements
from fray.migrate.magics import is_magic
from fray.migrate.source import Source, dotted

__all__ = ["Imports", "imported_names", "is_of", "plan_imports"]

Change = Callable[[Any], Any]


def is_of(package: str, name: str) -> bool:
    """Return whether `name` is the package itself, or a module or name inside of it."""
    return name == package or name.startswith(package + ".")


def imported_names(node: cst.Import | cst.ImportFrom) -> list[tuple[cst.ImportAlias | None, str, str]]:
    """Return (alias, full name, name that it is bound to) of everything that a statement imports."""
    if isinstance(node, cst.Import):
        found: list[tuple[cst.ImportAlias | None, str, str]] = []
        for alias in node.names:
            full = dotted(alias.name) or ""
            found.append((alias, full, alias.evaluated_alias or full.partition(".")[0]))
        return found
    if node.relative:
        return []
    module = dotted(node.module) or ""
    if isinstance(node.names, cst.ImportStar):
        return [(None, f"{module}.*", "*")]
    return [
        (alias, f"{module}.{alias.evaluated_name}", alias.evaluated_alias or alias.evaluated_name)
        for alias in node.names
    ]


class Imports:
    """The changes of one source's import statements: by the id of the statement, and new ones for the header."""

    def __init__(self) -> None:
        self.changes: dict[int, Change] = {}
        self.header: list[str] = []

    def apply_header(self, module: cst.Module) -> cst.Module:
        """Return the tree with the additional imports at its top."""
        present = {
            module.code_for_node(item).strip() for item in module.body if isinstance(item, cst.SimpleStatementLine)
        }
        wanted = [text for text in self.header if text not in present]
        if not wanted:
            return module
        body = list(module.body)
        index = _after_imports(body)
        new = [cst.parse_statement(text + "\n", config=module.config_for_parsing) for text in wanted]
        follows_nothing = index == len(body) or index == 0 or mark_of(body[index - 1]) is not None
        if not follows_nothing and not _is_import(body[index - 1]):
            new[0] = new[0].with_changes(leading_lines=[cst.EmptyLine(indent=False)])
        if index < len(body) and (index == 0 or not _is_import(body[index - 1])):
            first = body[index]
            lines = list(getattr(first, "leading_lines", ()))
            if index == 0 and not any(line.comment is None for line in lines):
                body[index] = first.with_changes(leading_lines=[cst.EmptyLine(indent=False), *lines])
        body[index:index] = new
        return module.with_changes(body=body)


def _is_import(statement: cst.CSTNode) -> bool:
    return isinstance(statement, cst.SimpleStatementLine) and any(
        isinstance(item, (cst.Import, cst.ImportFrom)) for item in statement.body
    )


def _is_text(statement: cst.CSTNode) -> bool:
    inner = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) and statement.body else None
    return isinstance(inner, cst.Expr) and isinstance(inner.value, (cst.SimpleString, cst.ConcatenatedString))


def _after_imports(body: Sequence[cst.CSTNode]) -> int:
    """Return the index of a new import: after the mark of the first cell, the docstring and the first imports."""
    index = 0
    while index < len(body):
        statement = body[index]
        docstring = index <= 1 and _is_text(statement)
        mark = index == 0 and mark_of(statement) is not None
        if not (_is_import(statement) or docstring or mark or is_magic(statement)):
            break
        index += 1
    return index


def plan_imports(
    source: Source,
    packages: Collection[str],
    kept: Collection[str],
    needs: Sequence[cst.CSTNode],
    new: str,
    further: Iterable[str],
) -> Imports:
    """Decide how the import statements of a source change.

    Args:
        source: the program.
        packages: the packages of the old library.
        kept: names bound by imports that are still used.
        needs: the nodes whose counterparts name the new library.
        new: the import statement of the new library.
        further: other import statements that the counterparts need.
    """
    imports = Imports()
    imports.header = sorted(set(further))
    lines = [node for node in source.nodes() if isinstance(node, cst.SimpleStatementLine) and _has(node, packages)]
    at_top = [line for line in lines if _is_global(source, line)]
    first: list[cst.SimpleStatementLine] = []
    timed = timed_statements(source.module)
    for_all = [line for line in at_top if id(_top(source, line)) not in timed]
    if needs and at_top:
        first = [*for_all[:1], *(line for line in at_top if line not in for_all)]
    elif needs:
        functions = {source.function_of(line): line for line in reversed(lines)}
        functions.pop(None, None)
        if all(_within(source, node, functions) for node in needs):
            first = list(functions.values())
        else:
            imports.header.append(new)
    for line in lines:
        imports.changes[id(line)] = _change(line, packages, kept, new if line in first else None)
    for node in source.nodes():
        names = source.added_names.get(id(node))
        if names and isinstance(node, cst.ImportFrom):
            imports.changes[id(node)] = _adding(sorted(names))
    return imports


def _has(line: cst.SimpleStatementLine, packages: Collection[str]) -> bool:
    return any(
        isinstance(item, (cst.Import, cst.ImportFrom))
        and any(is_of(package, full) for _, full, _ in imported_names(item) for package in packages)
        for item in line.body
    )


def _is_global(source: Source, line: cst.CSTNode) -> bool:
    if source.function_of(line) is not None or source.class_of(line) is not None:
        return False
    return not any(
        isinstance(node, cst.If) and (dotted(node.test) or "").endswith("TYPE_CHECKING")
        for node in source.ancestors(line)
    )


def _top(source: Source, node: cst.CSTNode) -> cst.CSTNode:
    """Return the statement of the module that holds `node`."""
    return next((above for above in (node, *source.ancestors(node)) if above in source.module.body), node)


def _within(source: Source, node: cst.CSTNode, functions: Collection[cst.CSTNode | None]) -> bool:
    return any(parent in functions for parent in source.ancestors(node))


def _change(line: cst.SimpleStatementLine, packages: Collection[str], kept: Collection[str], new: str | None) -> Change:
    dropped: set[int] = set()
    for item in line.body:
        if isinstance(item, (cst.Import, cst.ImportFrom)):
            for alias, full, bound in imported_names(item):
                if alias is not None and bound not in kept and any(is_of(package, full) for package in packages):
                    dropped.add(id(alias))
    numbers = [[number for number, alias in enumerate(_aliases(item)) if id(alias) in dropped] for item in line.body]

    def change(updated: cst.SimpleStatementLine) -> Any:
        body: list[cst.BaseSmallStatement] = []
        for item, gone in zip(updated.body, numbers, strict=True):
            rest = _without(item, gone) if gone else item
            if rest is not None:
                body.append(rest)
        statements: list[cst.BaseStatement] = []
        if body:
            statements.append(updated.with_changes(body=body))
        if new is not None:
            fresh = cst.parse_statement(new + "\n")
            assert isinstance(fresh, cst.SimpleStatementLine)
            lines = updated.leading_lines
            if body:
                statements[0] = updated.with_changes(body=body, leading_lines=[])
                fresh = fresh.with_changes(leading_lines=lines)
            else:
                fresh = updated.with_changes(body=fresh.body)
            statements.insert(0, fresh)
        if not statements:
            return cst.RemoveFromParent()
        return statements[0] if len(statements) == 1 else cst.FlattenSentinel(statements)

    return change


def _aliases(item: cst.BaseSmallStatement) -> Sequence[cst.ImportAlias]:
    if isinstance(item, (cst.Import, cst.ImportFrom)) and not isinstance(item.names, cst.ImportStar):
        return item.names
    return ()


def _without(item: cst.BaseSmallStatement, gone: Collection[int]) -> cst.BaseSmallStatement | None:
    rest = [alias for number, alias in enumerate(_aliases(item)) if number not in gone]
    if not rest:
        return None
    if not (isinstance(item, cst.ImportFrom) and item.rpar is not None):
        rest[-1] = rest[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    return item.with_changes(names=rest)


def _adding(names: Sequence[str]) -> Change:
    def change(updated: cst.ImportFrom) -> cst.ImportFrom:
        if isinstance(updated.names, cst.ImportStar):
            return updated
        present = {alias.evaluated_name for alias in updated.names}
        aliases = list(updated.names)
        for name in names:
            if name not in present:
                last = aliases[-1]
                trailing = last.comma
                if not isinstance(trailing, cst.Comma):
                    aliases[-1] = last.with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
                aliases.append(cst.ImportAlias(cst.Name(name), comma=trailing))
        return updated.with_changes(names=aliases)

    return change
