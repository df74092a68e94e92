"""Holds programs that reach the old library by a string or by ``import *``: what they do with it cannot be seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import libcst as cst

from fray.migrate.build import literal
from fray.migrate.imports import imported_names, is_of
from fray.migrate.ray_api import Reason
from fray.migrate.sites import Blocker, Found
from fray.migrate.source import Project, Source, dotted

__all__ = ["hold_by_name", "reaches_by_name"]

_IMPORTING = ("import_module", "__import__", "importorskip")
_PATCHING = ("patch", "setattr", "delattr")
_PATCH = "patch what the moved program calls"
_ASKING = ("find_spec", "importorskip")
"""Functions that may only ask whether a library is there; `importorskip` does so where its result is not used."""
_Use: TypeAlias = tuple[cst.CSTNode, Reason, str]
"""A node that stays, the reason, and the module that it patches; empty if it patches none."""


def reaches_by_name(source: Source, packages: Sequence[str]) -> bool:
    """Return whether a program names one of `packages` in a string that is imported, patched or asked for."""
    return next(_by_string(source, packages), None) is not None


def hold_by_name(found: Mapping[Source, Found], project: Project, packages: Sequence[str]) -> None:
    """Add the blockers of all programs; what such a program does, and what it patches, stays as it is."""
    for source, here in found.items():
        for node, reason, patched in (*_by_string(source, packages), *_starred(source, packages)):
            here.blockers.append(Blocker(source, node, reason))
            if reason.apart:
                continue
            target = project.find(source, patched, 0) if patched else None
            for other in {source, target} & found.keys():
                if other is not None:
                    here.links += [(node, site.node) for site in found[other].sites]


def _by_string(source: Source, packages: Sequence[str]) -> Iterator[_Use]:
    for node in source.nodes():
        if isinstance(node, cst.Subscript) and dotted(node.value) == "sys.modules":
            index = node.slice[0].slice
            if isinstance(index, cst.Index) and _is_library(index.value, packages):
                yield node, _imported(index.value), ""
        elif isinstance(node, cst.Call) and node.args and not node.args[0].star:
            yield from _in_call(source, node, packages)


def _in_call(source: Source, node: cst.Call, packages: Sequence[str]) -> Iterator[_Use]:
    first = node.args[0].value
    verb = node.func.attr.value if isinstance(node.func, cst.Attribute) else dotted(node.func)
    target = literal(first)
    parts = target.split(".") if isinstance(target, str) else []
    roots = [package.split(".")[-1] for package in packages if package.split(".")[-1] in parts]
    if dotted(first) == "sys.modules" or target == "sys.modules":
        if any(_is_library(name, packages) for item in node.args[1:] for name in _names_in(item.value)):
            yield node, Reason("a module is put in the library's place", _PATCH), ""
    elif verb in _PATCHING and roots:
        yield node, Reason(f"{target} is patched by its name", _PATCH), ".".join(parts[: parts.index(roots[0])])
    elif not _is_library(first, packages):
        return
    elif verb in _ASKING and (verb == "find_spec" or isinstance(source.parent(node), cst.Expr)):
        why = f"this asks whether {target} is installed"
        yield node, Reason(why, "ask for what the moved program needs", apart=True), ""
    elif verb in _IMPORTING:
        yield node, _imported(first), ""


def _is_library(node: cst.CSTNode | None, packages: Sequence[str]) -> bool:
    name = literal(node)
    return isinstance(name, str) and any(is_of(package, name) for package in packages)


def _imported(node: cst.BaseExpression) -> Reason:
    name = literal(node)
    return Reason(f"{name} is imported by a string", f"write `import {name}`")


def _names_in(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return a name, or the keys of a dict."""
    if not isinstance(node, cst.Dict):
        return [node]
    return [item.key for item in node.elements if isinstance(item, cst.DictElement)]


def _starred(source: Source, packages: Sequence[str]) -> Iterator[_Use]:
    for node in source.nodes():
        if isinstance(node, cst.ImportFrom) and isinstance(node.names, cst.ImportStar):
            for _, full, _ in imported_names(node):
                if any(is_of(package, full) for package in packages):
                    yield node, Reason("which names `import *` brings is not known", "import the names one by one"), ""
