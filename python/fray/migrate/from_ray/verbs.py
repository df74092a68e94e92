"""Moves calls of functions of Ray that are methods of a context here, and of the runtime context."""

from __future__ import annotations

import libcst as cst

from fray.migrate.build import arg, call, keyword, literal
from fray.migrate.from_ray.finding import Finding
from fray.migrate.kinds import UNKNOWN, Remote
from fray.migrate.ray_api import Reason, reason_for
from fray.migrate.ray_side import ray_name
from fray.migrate.sites import Build, Rewriter

__all__ = ["Verbs", "chain_call"]

_DROPPED = {"wait": ("fetch_local",), "cancel": ("recursive",)}
_RENAMED = {"object_refs": "refs", "ray_waitables": "refs", "object_ref": "ref", "ray_waitable": "ref"}
"""Parameters of Ray's functions, of this version and earlier ones, with the names of those here."""


class Verbs(Finding):
    """Finds calls of functions of Ray, such as ``ray.get``."""

    def _same_call(self, verb: str, node: cst.Call) -> Build:
        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            kept = [item for item in node.args if not _is_dropped(verb, item)]
            args = [self._timeout(_renamed(rewriter.sub_arg(item))) for item in kept]
            if args and len(args) < len(node.args) and len(kept) and kept[-1] is not node.args[-1]:
                args[-1] = args[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
            return node.with_changes(func=cst.Attribute(rewriter.context(node), cst.Name(verb)), args=args)

        return build

    @staticmethod
    def _timeout(item: cst.Arg) -> cst.Arg:
        """Return ``timeout=None`` for Ray's ``timeout=-1``."""
        if item.keyword is not None and item.keyword.value == "timeout" and literal(item.value) == -1:
            return item.with_changes(value=cst.Name("None"))
        return item

    def _verb(self, node: cst.Call, verb: str) -> None:
        for item in node.args:
            name = item.keyword.value if item.keyword else ""
            if name.startswith("_"):
                self._consumed.add(id(node.func))
                self.block(node, Reason(f"{name} has no counterpart", "leave it out"))
                return
        self.site(node, self._same_call(verb, node), [node.func], context=True)

    def _gpu_ids(self, rewriter: Rewriter, node: cst.CSTNode) -> cst.CSTNode:
        ids = call(cst.Attribute(rewriter.context(node), cst.Name("resource_ids")))
        return call(cst.Attribute(ids, cst.Name("get")), [arg(cst.SimpleString('"GPU"')), arg(cst.List([]))])

    def _map_unordered(self, node: cst.Call) -> None:
        kind = self.kind(node.args[0].value) if node.args else UNKNOWN
        if len(node.args) != 2 or not isinstance(kind, Remote) or (kind.definition and kind.definition.merged()):
            return

        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            args = [rewriter.sub_arg(item) for item in node.args]
            function = cst.Attribute(rewriter.context(node), cst.Name("map"))
            return node.with_changes(func=function, args=[*args, keyword("ordered", cst.Name("False"))])

        self.site(node, build, [node.func], context=True)

    def _runtime_context(self, node: cst.Call) -> None:
        self._consumed.add(id(node.func))
        parent = self.source.parent(node)
        attribute = parent.attr.value if isinstance(parent, cst.Attribute) and parent.value is node else ""
        if attribute == "current_actor":
            assert parent is not None
            self.site(parent, lambda rewriter, new: chain_call("fray.current_actor", "handle"), [node.func])
        elif attribute == "namespace":
            assert parent is not None
            self.site(
                parent,
                lambda rewriter, new: cst.Attribute(rewriter.context(node), cst.Name("namespace")),
                [node.func],
                context=True,
            )
        else:
            self.block(node, reason_for("ray.get_runtime_context"))

    def _surroundings(self, node: cst.Call, name: str) -> None:
        if ray_name(self.source, node) is None and isinstance(node.func, cst.Attribute):
            if isinstance(node.func.value, cst.Call):
                return  # handled with the call of get_runtime_context
            self.block(node, Reason(f"{name} of Ray's runtime context has no counterpart", "it stays on Ray", True))


def _renamed(item: cst.Arg) -> cst.Arg:
    name = item.keyword.value if item.keyword is not None else ""
    return item.with_changes(keyword=cst.Name(_RENAMED[name])) if name in _RENAMED else item


def _is_dropped(verb: str, item: cst.Arg) -> bool:
    return item.keyword is not None and item.keyword.value in _DROPPED.get(verb, ())


def chain_call(function: str, attribute: str) -> cst.BaseExpression:
    """Return the expression ``function().attribute``."""
    return cst.Attribute(call(function), cst.Name(attribute))
