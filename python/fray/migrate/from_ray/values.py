"""Handles remote functions and actor classes that are used as values and in annotations."""

from __future__ import annotations

import libcst as cst

from fray.migrate.build import chain
from fray.migrate.from_ray.finding import Finding
from fray.migrate.kinds import DictOf, Function, Handle, Items, Method, PlainClass, Remote
from fray.migrate.ray_api import Reason
from fray.migrate.ray_side import ray_name
from fray.migrate.source import dotted

__all__ = ["Values"]

_BUILTINS_THAT_PASS = [
    "dict",
    "deque",
    "enumerate",
    "getattr",
    "hasattr",
    "id",
    "isinstance",
    "len",
    "list",
    "max",
    "min",
    "print",
    "repr",
    "reversed",
    "set",
    "sorted",
    "str",
    "super",
    "tuple",
    "type",
    "zip",
    "iter",
    "next",
]


class Values(Finding):
    """Finds uses of remote functions and actor classes that do not start them."""

    def _flow(self, node: cst.Name | cst.Attribute) -> None:
        """Handle a name of a remote function or actor class whose use does not start it."""
        if isinstance(node, cst.Name) and not self.source.bindings(node):
            return
        kind = self.kind(node)
        parent = self.source.parent(node)
        if not isinstance(kind, Remote) or parent is None or _binds(node, parent):
            return
        if self._is_annotation(node):
            self._annotation(node, kind)
            return
        if isinstance(parent, cst.Attribute) and parent.value is node:
            self._attribute_of(parent, kind)
        elif isinstance(parent, cst.Call) and parent.func is node:
            self.block(
                parent, Reason("a remote thing is called directly, which Ray refuses", "use .remote, or leave it")
            )
        elif isinstance(parent, cst.Arg):
            self._handed_on(node, parent)
        elif isinstance(parent, cst.Decorator):
            self.block(parent, Reason("a remote thing decorates another", "write it out"))

    def _attribute_of(self, parent: cst.Attribute, kind: Remote) -> None:
        name = parent.attr.value
        if name in ("remote", "options", "bind", "_remote"):
            return
        if not kind.is_actor or name.startswith("_"):
            self.block(
                parent, Reason(f"{name} of Ray's wrapper has no counterpart", "use the function or class itself")
            )

    def _handed_on(self, node: cst.BaseExpression, parent: cst.Arg) -> None:
        called = self.source.parent(parent)
        if not isinstance(called, cst.Call):
            return
        name = dotted(called.func)
        ray = ray_name(self.source, called.func)
        if ray is not None:
            if ray not in ("ray.util.map_unordered", "ray.remote", "ray.put"):
                self.block(called, Reason(f"{ray} gets a remote function or class", "keep this on Ray"))
            return
        if name in _BUILTINS_THAT_PASS or isinstance(called.func, cst.Call):
            return
        if isinstance(called.func, cst.Attribute):
            base = self.kind(called.func.value)
            if called.func.attr.value == "remote" or isinstance(base, (Items, DictOf, Handle)):
                return
        if isinstance(self.kind(called.func), (Function, PlainClass, Method)):
            return
        self.block(
            node, Reason(f"{name or 'a call'} gets a remote function and is not among the files", "pass a lambda")
        )

    def _annotation(self, node: cst.Name | cst.Attribute, kind: Remote) -> None:
        definition = kind.definition
        if not kind.is_actor or definition is None or definition.node in list(self.source.ancestors(node)):
            return
        parent = self.source.parent(node)
        if isinstance(parent, cst.Attribute):
            return
        self.site(node, lambda rewriter, new: chain("fray.ActorHandle"))
        self._link_definition(node, definition)


def _binds(node: cst.CSTNode, parent: cst.CSTNode) -> bool:
    """Return whether `parent` binds the name `node`."""
    if isinstance(parent, (cst.FunctionDef, cst.ClassDef, cst.Param, cst.AssignTarget, cst.AsName, cst.ImportAlias)):
        return getattr(parent, "name", getattr(parent, "target", None)) is node
    return isinstance(parent, (cst.For, cst.CompFor, cst.NamedExpr, cst.AnnAssign)) and parent.target is node
