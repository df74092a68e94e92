"""Moves methods of a context that are functions of Ray."""

from __future__ import annotations

import libcst as cst

from fray.migrate.build import call, chain, keyword, literal
from fray.migrate.sites import Rewriter
from fray.migrate.to_ray.finding import VERBS, Finding

__all__ = ["Verbs"]


class Verbs(Finding):
    """Finds calls of methods of a context, such as ``ctx.get``."""

    def _verb(self, node: cst.Call, verb: str) -> None:
        names = VERBS[verb]
        if [item.star for item in node.args] == ["*", "**"]:
            self._rename(node, f"ray.{verb}")
            return
        if any(item.star for item in node.args) or len(node.args) > len(names):
            self.block(node, f"the arguments of ctx.{verb} are not written out")
            return
        if verb == "get" and node.args and isinstance(node.args[0].value, cst.Tuple):
            self.block(node, "ray.get takes no tuple", "use a list")
            return

        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            args = [rewriter.sub_arg(item) for item in node.args]
            for number, item in enumerate(args):
                if item.keyword is not None and item.keyword.value == names[0]:
                    args[number] = item.with_changes(keyword=None, equal=cst.MaybeSentinel.DEFAULT)
                elif number > 0 and item.keyword is None and verb != "get_actor":
                    args[number] = keyword(names[number], item.value).with_changes(comma=item.comma)
            return node.with_changes(func=chain(f"ray.{verb}"), args=args)

        self.site(node, build)

    def _rename(self, node: cst.Call, name: str) -> None:
        self.site(
            node,
            lambda rewriter, new: node.with_changes(
                func=chain(name), args=[rewriter.sub_arg(item) for item in node.args]
            ),
        )

    def _devices(self, node: cst.Call) -> None:
        parent = self.source.parent(node)
        holder = self.source.parent(parent) if parent is not None else None
        gets = isinstance(parent, cst.Attribute) and parent.attr.value == "get"
        if gets and isinstance(holder, cst.Call) and holder.args and literal(holder.args[0].value) == "GPU":
            self.site(holder, lambda rewriter, new: call("ray.get_gpu_ids"))
            return
        self.block(node, "resource_ids has no counterpart but for GPUs in Ray")
