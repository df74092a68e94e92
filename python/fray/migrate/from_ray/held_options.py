"""Removes dicts of options, as in ``f.options(**held)``, that nothing reads any more once their calls are moved."""

from __future__ import annotations

import libcst as cst

from fray.migrate.build import comments
from fray.migrate.from_ray.finding import Finding
from fray.migrate.kinds import Method, Remote
from fray.migrate.ray_side import held_options, is_remote_name, only_assignment, ray_name, uses_of

__all__ = ["HeldOptions"]


class HeldOptions(Finding):
    """Finds the statements that make such dicts; the moved calls repeat the literals of the dict."""

    def _held_options(self) -> None:
        lines: dict[int, tuple[cst.SimpleStatementLine, list[cst.CSTNode]]] = {}
        for node in self.source.nodes():
            if not isinstance(node, cst.Arg) or node.star != "**" or not isinstance(node.value, cst.Name):
                continue
            line = self._line_that_makes(node.value)
            if line is not None and id(line) not in lines:
                lines[id(line)] = (line, uses_of(self.source, node.value))
        for line, uses in lines.values():
            block = self.source.parent(line)
            rest = block.body if isinstance(block, (cst.Module, cst.IndentedBlock)) else ()
            if not any(id(other) not in lines for other in rest):
                continue  # without this statement the block would be empty, which is no Python
            nothing: list[cst.BaseStatement] = []
            self.site(line, lambda rewriter, new, nothing=nothing: cst.FlattenSentinel(nothing), names_fray=False)
            self.found.links += [(line, self.source.statement_of(use)) for use in uses]

    def _line_that_makes(self, name: cst.Name) -> cst.SimpleStatementLine | None:
        """Return the line that assigns the dict `name`; None if it has a comment, or if anything else uses the dict."""
        assignment = only_assignment(self.source, name)
        if assignment is None or held_options(self.source, name) is None:
            return None
        line = self.source.statement_of(assignment)
        if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1 or comments(line):
            return None
        return line if all(self._is_option(use) for use in uses_of(self.source, name)) else None

    def _is_option(self, use: cst.CSTNode) -> bool:
        call = self.source.parent(self.source.parent(use) or use)
        if not isinstance(call, cst.Call):
            return False
        if is_remote_name(ray_name(self.source, call.func)):
            return True
        if not isinstance(call.func, cst.Attribute) or call.func.attr.value != "options":
            return False
        return isinstance(self.kind(call.func.value), (Remote, Method))
