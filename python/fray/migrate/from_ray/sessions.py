"""Moves `ray.init` and `ray.is_initialized`."""

from __future__ import annotations

import libcst as cst

from fray.migrate.build import arg, call, chain, keyword
from fray.migrate.from_ray.finding import Finding
from fray.migrate.options import StaysError, init_keywords
from fray.migrate.ray_api import Reason
from fray.migrate.ray_side import ray_name
from fray.migrate.sites import Rewriter
from fray.migrate.source import Source

__all__ = ["Sessions"]


class Sessions(Finding):
    """Finds where a program starts a session, and where it asks whether there is one."""

    def _is_initialized(self, node: cst.Call) -> None:
        parent = self.source.parent(node)
        negated = isinstance(parent, cst.UnaryOperation) and isinstance(parent.operator, cst.Not)
        target: cst.CSTNode = parent if negated and parent is not None else node

        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            operator: cst.BaseCompOp = cst.Is() if negated else cst.IsNot()
            compared = [cst.ComparisonTarget(operator, cst.Name("None"))]
            alone = isinstance(self.source.parent(new), (cst.If, cst.Assert, cst.Assign, cst.Return, cst.Arg))
            asked = cst.Comparison(call("existing_job_context"), compared)
            return asked if alone else asked.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])

        imports = ("from fray.job.current import existing_job_context",)
        self.site(target, build, [node.func], names_fray=False, imports=imports, role="asks")

    def _init(self, node: cst.Call) -> None:
        self._consumed.add(id(node.func))
        parent = self.source.parent(node)
        alone = isinstance(parent, cst.Expr)
        managed = isinstance(parent, cst.WithItem) and parent.asname is None
        if not alone and not managed and not self._is_unused_target(parent):
            reason = Reason("what ray.init returns has no counterpart", "it stays, and Fray's tasks run on it", True)
            self.block(node, reason)
            return
        try:
            keywords = init_keywords(list(node.args), lambda part: part)
        except StaysError as error:
            self.block(node, error.reason)
            return
        names = [item.keyword.value for item in node.args if item.keyword]
        guard = alone and bool(keywords) and self._may_run_again(node, names)
        sync = keywords is None or (self.sync_tests and self._is_test())

        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            if sync:
                context = call("fray.LocalJobContext")
                return context if managed else call("fray.set_job_context", [arg(context)])
            found = init_keywords(list(node.args), rewriter.sub) or {}
            kept = [item for item in node.args if item.keyword and item.keyword.value == "namespace"]
            if len(kept) == len(node.args):
                return node.with_changes(func=chain("fray.init"), args=[rewriter.sub_arg(item) for item in kept])
            return call("fray.init", [keyword(name, value) for name, value in found.items()])

        if not guard or sync:
            self.site(node, build, [node.func], role="init")
            return
        line = self.source.statement_of(node)

        def build_guarded(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            assert isinstance(new, cst.SimpleStatementLine)
            inner = build(rewriter, node)
            assert isinstance(inner, cst.BaseExpression)
            test = cst.Comparison(call("existing_job_context"), [cst.ComparisonTarget(cst.Is(), cst.Name("None"))])
            body = cst.IndentedBlock([new.with_changes(body=[cst.Expr(inner)], leading_lines=[])])
            return cst.If(test, body, leading_lines=new.leading_lines)

        imports = ("from fray.job.current import existing_job_context",)
        self.site(line, build_guarded, [node.func], imports=imports, role="init")

    def _may_run_again(self, node: cst.Call, names: list[str]) -> bool:
        """Return whether this call may be a second init of a process, which ``ignore_reinit_error`` makes harmless."""
        if "ignore_reinit_error" not in names:
            return False
        line = self.source.statement_of(node)
        if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
            return False
        if self._is_asked_before(line):
            return False
        others = sum(
            1
            for source in self.kinds.project.sources
            for other, name in _all_names(source)
            if name == "ray.init" and other is not node.func
        )
        in_package = (self.source.path.parent / "__init__.py").exists()
        return others > 0 or in_package

    def _is_asked_before(self, line: cst.CSTNode) -> bool:
        """Return whether the line stands below ``if not ray.is_initialized():``."""
        child = line
        for parent in self.source.ancestors(line):
            if isinstance(parent, (cst.FunctionDef, cst.ClassDef, cst.Module)):
                return False
            if isinstance(parent, cst.If) and child is parent.body and self._is_negated_question(parent.test):
                return True
            child = parent
        return False

    def _is_negated_question(self, test: cst.BaseExpression) -> bool:
        """Return whether an expression is ``not ray.is_initialized()``."""
        if not isinstance(test, cst.UnaryOperation) or not isinstance(test.operator, cst.Not):
            return False
        asked = test.expression
        return isinstance(asked, cst.Call) and ray_name(self.source, asked.func) == "ray.is_initialized"

    def _is_unused_target(self, parent: cst.CSTNode | None) -> bool:
        if not isinstance(parent, cst.Assign) or len(parent.targets) != 1:
            return False
        target = parent.targets[0].target
        if not isinstance(target, cst.Name):
            return False
        return not any(
            isinstance(node, cst.Name) and node is not target and node.value == target.value
            for node in self.source.nodes()
        )

    def _is_test(self) -> bool:
        name = self.source.path.name
        return name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py"


def _all_names(source: Source) -> list[tuple[cst.CSTNode, str]]:
    found: list[tuple[cst.CSTNode, str]] = []
    for node in source.nodes():
        if isinstance(node, cst.Call):
            name = ray_name(source, node.func)
            if name is not None:
                found.append((node.func, name))
    return found
