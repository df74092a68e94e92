"""Blocks the exchange of refs between moved tasks and Ray's libraries, which stay on Ray."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from fray.migrate.from_ray.finding import Finding
from fray.migrate.kinds import DictOf, Handle, Items, Kind, Ref
from fray.migrate.ray_api import Reason

__all__ = ["Mixtures"]


class Mixtures(Finding):
    """Finds refs that cross between tasks and the parts that stay on Ray."""

    def _mixtures(self) -> None:
        """Block calls that get refs from Ray's libraries, and calls of these libraries with refs."""
        apart = [item for item in self.found.blockers if item.reason.apart]
        if not apart:
            return
        tainted = self._tainted([self.source.statement_of(item.node) for item in apart])
        for site in list(self.found.sites):
            if isinstance(site.node, cst.Call) and site.context and site.uses:
                first = site.node.args[0].value if site.node.args else None
                if first is not None and not _is_refs(self.kind(first)) and self._reads(first, tainted):
                    self.block(site.node, Reason("this comes from a part that stays on Ray", "keep it on Ray"))
        for item in apart:
            called = self.source.parent(item.node)
            if isinstance(called, cst.Call) and any(_is_refs(self.kind(part.value)) for part in called.args):
                self.block(called, Reason("refs go into a part that stays on Ray", "pass values"))

    def _tainted(self, statements: Sequence[cst.CSTNode]) -> set[tuple[int, str]]:
        """Return the variables whose values come from these statements, directly or through other variables."""
        assigns = [node for node in self.source.nodes() if isinstance(node, (cst.Assign, cst.For, cst.With))]
        tainted: set[tuple[int, str]] = set()
        seeds = {id(item) for item in statements}
        while True:
            before = len(tainted)
            for node in assigns:
                value: cst.CSTNode = node.value if isinstance(node, cst.Assign) else node
                direct = id(self.source.statement_of(node)) in seeds
                if not direct and not (isinstance(node, cst.Assign) and self._reads(value, tainted)):
                    continue
                targets = node.targets if isinstance(node, cst.Assign) else [node]
                for target in targets:
                    tainted |= self._bound_names(target)
            if len(tainted) == before:
                return tainted

    def _bound_names(self, node: cst.CSTNode) -> set[tuple[int, str]]:
        holder = node.target if isinstance(node, (cst.AssignTarget, cst.For)) else None
        names: list[cst.CSTNode | None] = [holder, *(holder.children if holder is not None else ())]
        found: set[tuple[int, str]] = set()
        for item in names:
            inner = item.value if isinstance(item, cst.Element) else item
            key = self.source.variable(inner) if isinstance(inner, cst.Name) else None
            if key is not None:
                found.add(key)
        return found

    def _reads(self, node: cst.CSTNode, variables: set[tuple[int, str]]) -> bool:
        stack = [node]
        while stack:
            current = stack.pop()
            if isinstance(current, cst.Name) and self.source.variable(current) in variables:
                return True
            stack.extend(current.children)
        return False


def _is_refs(kind: Kind) -> bool:
    if isinstance(kind, (Items, DictOf)):
        return _is_refs(kind.item if isinstance(kind, Items) else kind.value)
    return isinstance(kind, (Ref, Handle))
