"""`Source`, a parsed program, and `Project`, all programs that are moved together."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import libcst as cst
from libcst.metadata import (
    Assignment,
    BaseAssignment,
    ImportAssignment,
    MetadataWrapper,
    ParentNodeProvider,
    PositionProvider,
    QualifiedNameSource,
    Scope,
    ScopeProvider,
)

__all__ = ["Project", "Source", "dotted", "is_base_of_chain", "module_name"]


def dotted(node: cst.CSTNode | None) -> str | None:
    """Return the text ``a.b.c`` of a name or an attribute of names; None for any other node."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        base = dotted(node.value)
        return None if base is None else f"{base}.{node.attr.value}"
    return None


def is_base_of_chain(node: cst.CSTNode, parent: cst.CSTNode | None) -> bool:
    """Return whether `node` is the ``a.b`` of ``a.b.c``."""
    return isinstance(parent, cst.Attribute) and parent.value is node


class Source:
    """A parsed program with the scopes of its names.

    Args:
        path: path of the file; it is made absolute, because imports are looked up by folders.
        module: the syntax tree; no node may occur in it twice.
        fixed: why nothing may be written to it, or None.
    """

    def __init__(self, path: Path, module: cst.Module, fixed: str | None = None) -> None:
        self.path = Path(os.path.abspath(path))
        self.fixed = fixed
        wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
        self.module = wrapper.module
        self._wrapper = wrapper
        self._nodes: list[cst.CSTNode] = list(_walk(self.module))
        self.added_names: dict[int, set[str]] = {}
        """Names that an import statement has to import in addition, by the id of the statement."""

    @cached_property
    def _scopes(self) -> Mapping[cst.CSTNode, Scope | None]:
        return self._wrapper.resolve(ScopeProvider)

    @cached_property
    def _parents(self) -> Mapping[cst.CSTNode, cst.CSTNode]:
        return self._wrapper.resolve(ParentNodeProvider)

    @cached_property
    def _positions(self) -> Mapping[cst.CSTNode, Any]:
        return cast("Mapping[cst.CSTNode, Any]", self._wrapper.resolve(PositionProvider))

    def nodes(self) -> Sequence[cst.CSTNode]:
        """Return all nodes except whitespace, in the order of the text."""
        return self._nodes

    def line(self, node: cst.CSTNode) -> int:
        """Return the number of the line on which `node` begins, from 1."""
        return int(self._positions[node].start.line)

    def position(self, node: cst.CSTNode) -> tuple[int, int]:
        """Return the line and column at which `node` begins."""
        start = self._positions[node].start
        return int(start.line), int(start.column)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the node of which `node` is a direct part; None for the module."""
        return self._parents.get(node)

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield the nodes around `node`, the nearest first."""
        parent = self.parent(node)
        while parent is not None:
            yield parent
            parent = self.parent(parent)

    def scope(self, node: cst.CSTNode) -> Scope | None:
        """Return the scope in which the names of `node` are looked up."""
        return self._scopes.get(node)

    def means_otherwise(self, package: str) -> bool:
        """Return whether the program binds the name of `package` to anything but the package."""
        bound = {binding for scope in set(self._scopes.values()) if scope is not None for binding in scope[package]}
        named = [found for binding in bound for found in binding.get_qualified_names_for(package)]
        return any(found.name != package or found.source is not QualifiedNameSource.IMPORT for found in named)

    def bindings(self, name: cst.Name) -> list[BaseAssignment]:
        """Return all bindings of the variable `name`; empty for a name that is no variable, such as a keyword."""
        scope = self.scope(name)
        return [] if scope is None else list(scope[name.value])

    def variable(self, name: cst.Name) -> tuple[int, str] | None:
        """Return a key of the variable `name`; None for a builtin and for a name that is no variable."""
        scope = self.scope(name)
        for binding in self.bindings(name):
            if isinstance(binding, (Assignment, ImportAssignment)):
                return id(binding.scope), name.value
        if scope is not None and isinstance(self.parent(name), (cst.AssignTarget, cst.Param)):
            return id(scope), name.value
        return None

    def library_name(self, node: cst.CSTNode, packages: Sequence[str]) -> str | None:
        """Return the full name that `node` has in one of `packages`, such as ``"ray.util.queue.Queue"``, or None."""
        if dotted(node) is None:
            return None
        scope = self.scope(node) if not isinstance(node, cst.Name) or self.bindings(node) else None
        return None if scope is None else _library_name(scope, node, packages)

    def library_name_in_text(self, node: cst.CSTNode, name: str, packages: Sequence[str]) -> str | None:
        """Return the full name that the text `name` at `node` has in one of `packages`, or None."""
        scope = self.scope(node)
        return None if scope is None else _library_name(scope, name, packages)

    def function_of(self, node: cst.CSTNode) -> cst.FunctionDef | cst.Lambda | None:
        """Return the innermost function whose body contains `node`."""
        child = node
        for parent in self.ancestors(node):
            if isinstance(parent, cst.FunctionDef) and child is parent.body:
                return parent
            if isinstance(parent, cst.Lambda) and child is parent.body:
                return parent
            child = parent
        return None

    def class_of(self, node: cst.CSTNode) -> cst.ClassDef | None:
        """Return the innermost class whose body contains `node`, also if a function is between them."""
        child = node
        for parent in self.ancestors(node):
            if isinstance(parent, cst.ClassDef) and child is parent.body:
                return parent
            child = parent
        return None

    def statement_of(self, node: cst.CSTNode) -> cst.CSTNode:
        """Return the statement that contains `node`: a line, or a compound statement if `node` is in its head."""
        current = node
        while not isinstance(current, (cst.SimpleStatementLine, cst.BaseCompoundStatement, cst.Module)):
            parent = self.parent(current)
            if parent is None:
                return current
            current = parent
        return current

    def code(self, node: cst.CSTNode) -> str:
        """Return the text of `node`."""
        return self.module.code_for_node(node)


def _library_name(scope: Scope, name: cst.CSTNode | str, packages: Sequence[str]) -> str | None:
    for found in scope.get_qualified_names_for(cast("Any", name)):
        if found.source is QualifiedNameSource.IMPORT:
            for package in packages:
                if found.name == package or found.name.startswith(package + "."):
                    return found.name
    return None


def _walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield `node` and its parts, without whitespace; not recursive, because trees may be deep."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        parts = [part for part in current.children if not isinstance(part, _BLANK)]
        stack.extend(reversed(parts))


_BLANK = (
    cst.BaseParenthesizableWhitespace,
    cst.Comment,
    cst.EmptyLine,
    cst.Newline,
    cst.TrailingWhitespace,
)


@dataclass
class Project:
    """Programs that are moved together, because one may import another."""

    sources: list[Source] = field(default_factory=list[Source])

    @cached_property
    def _by_tail(self) -> dict[str, list[Source]]:
        """The sources by the last part of their modules' names."""
        found: dict[str, list[Source]] = {}
        for source in self.sources:
            found.setdefault(module_name(source.path), []).append(source)
        return found

    def imported(
        self, source: Source, node: cst.Import | cst.ImportFrom, name: str
    ) -> tuple[Source, str | None] | None:
        """Return the source from which the import `node` takes `name`, and the name that it has there.

        The second is None if `name` is the module itself.
        """
        if isinstance(node, cst.Import):
            for alias in node.names:
                full = dotted(alias.name) or ""
                if alias.evaluated_alias is None and full.partition(".")[0] == name:
                    module = self.find(source, full.partition(".")[0], 0)
                elif alias.evaluated_alias == name:
                    module = self.find(source, full, 0)
                else:
                    continue
                return None if module is None else (module, None)
            return None
        if isinstance(node.names, cst.ImportStar):
            module = self.find(source, dotted(node.module) or "", len(node.relative))
            return None if module is None else (module, name)
        for alias in node.names:
            if (alias.evaluated_alias or alias.evaluated_name) != name:
                continue
            base = dotted(node.module) or ""
            inner = self.find(source, f"{base}.{alias.evaluated_name}".strip("."), len(node.relative))
            if inner is not None:
                return inner, None
            module = self.find(source, base, len(node.relative))
            return None if module is None else (module, alias.evaluated_name)
        return None

    def imported_sources(self, source: Source, node: cst.Import | cst.ImportFrom) -> list[Source]:
        """Return the sources whose modules the import `node` may load."""
        if isinstance(node, cst.Import):
            found = [self.find(source, dotted(alias.name) or "", 0) for alias in node.names]
        else:
            base, level = dotted(node.module) or "", len(node.relative)
            found = [self.find(source, base, level)]
            if not isinstance(node.names, cst.ImportStar):
                inner = [f"{base}.{alias.evaluated_name}".strip(".") for alias in node.names]
                found += [self.find(source, name, level) for name in inner]
        return [item for item in found if item is not None]

    def starred(self, source: Source) -> list[Source]:
        """Return the sources from which `source` imports all names, by ``import *``."""
        nodes = [node for node in source.nodes() if isinstance(node, cst.ImportFrom)]
        stars = [node for node in nodes if isinstance(node.names, cst.ImportStar)]
        return [found for node in stars for found in self.imported_sources(source, node)]

    def find(self, source: Source, module: str, level: int) -> Source | None:
        """Return the source of the module that `source` imports by this name; `level` counts the leading dots."""
        parts = [part for part in module.split(".") if part]
        if level:
            folder = source.path.parent
            for _ in range(level - 1):
                folder = folder.parent
            return self._at(folder.joinpath(*parts))
        if not parts:
            return None
        ending = "/" + "/".join(parts)
        candidates = [
            other
            for other in self._by_tail.get(parts[-1], [])
            if other is not source and _module_path(other.path).endswith(ending)
        ]
        here = source.path.parent
        roots = {other: _root(other.path, len(parts)) for other in candidates}
        above = [other for other in candidates if roots[other] in (here, *here.parents)]
        if above:
            return max(above, key=lambda other: len(roots[other].parts))
        # The folder may be in sys.path for another reason, as `src` of a project is while its tests run.
        elsewhere = [other for other in candidates if not (roots[other] / "__init__.py").exists()]
        return elsewhere[0] if len(elsewhere) == 1 else None

    def _at(self, path: Path) -> Source | None:
        for source in self.sources:
            if _module_path(source.path) == str(path):
                return source
        return None


def _module_path(path: Path) -> str:
    return str(path.parent if path.name == "__init__.py" else path.with_suffix(""))


def module_name(path: Path) -> str:
    """Return the last part of the name by which a file is imported."""
    return _module_path(path).rpartition("/")[2]


def _root(path: Path, parts: int) -> Path:
    """Return the folder in which a file's module has a name of so many parts."""
    folder = Path(_module_path(path))
    for _ in range(parts):
        folder = folder.parent
    return folder
