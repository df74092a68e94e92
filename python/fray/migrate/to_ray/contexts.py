"""Removes contexts, which Ray does not have."""

from __future__ import annotations

import libcst as cst

from fray.migrate.fray_side import FRAY
from fray.migrate.sites import Rewriter
from fray.migrate.to_ray.facts import Facts
from fray.migrate.to_ray.finding import Finding

__all__ = ["Contexts"]


class Contexts(Finding):
    """Finds variables that hold a context."""

    def _line(self, node: cst.SimpleStatementLine) -> None:
        """Remove the statement ``ctx = fray.get_job_context()``; make ``ctx = fray.init()`` the call ``ray.init()``."""
        if len(node.body) != 1 or not isinstance(node.body[0], cst.Assign):
            return
        statement = node.body[0]
        target = statement.targets[0].target
        value = statement.value
        if len(statement.targets) != 1 or not isinstance(target, cst.Name) or not isinstance(value, cst.Call):
            return
        name = self.source.library_name(value.func, FRAY)
        if name in ("fray.get_job_context", "fray.get_default_job_ctx"):
            self._contexts.update((id(target), id(value)))
            self.site(node, lambda rewriter, new: cst.RemoveFromParent(), [value.func], names_ray=False)
        elif name == "fray.init":
            self._contexts.add(id(target))

            def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
                assert isinstance(new, cst.SimpleStatementLine)
                return new.with_changes(body=[cst.Expr(rewriter.sub(value))])

            self.site(node, build, names_ray=False)

    def _with(self, node: cst.With) -> None:
        for item in node.items:
            if item.asname is None or not isinstance(item.asname.name, cst.Name) or not isinstance(item.item, cst.Call):
                continue
            if self.source.library_name(item.item.func, FRAY) != "fray.init":
                continue
            self._contexts.add(id(item.asname.name))

            def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
                assert isinstance(new, cst.WithItem)
                return new.with_changes(asname=None)

            self.site(item, build, names_ray=False)
            self.link(item, item.item)
            self.link(item, node)  # as all uses of the variable are

    def _stay_together(self) -> None:
        """Hold everything where a program chooses a context that Ray has not: its tasks run wherever they stand."""
        if Facts.of(self.kinds).chooses_context:
            first = self.kinds.project.sources[0].module
            for item in (*self.found.sites, *self.found.blockers):
                self.link(item.node, first)

    def _loose_context(self, node: cst.Name) -> None:
        parent = self.source.parent(node)
        if isinstance(parent, cst.Attribute) and parent.value is node:
            return  # the call has been blocked or moved as a whole
        if isinstance(parent, cst.AssignTarget):
            statement = self.source.parent(parent)
            value = statement.value if isinstance(statement, cst.Assign) else None
            self.block(
                node, f"{self.source.code(value) if value is not None else 'a context'} has no counterpart in Ray"
            )
            return
        self.block(node, "a context is handed on as a value, and Ray has none", "look it up where it is used")
