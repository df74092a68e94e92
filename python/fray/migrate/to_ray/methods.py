"""Moves calls of actors' methods, and methods that are values."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from fray.migrate.fray_side import FRAY, context_verb
from fray.migrate.kinds import NOTHING, UNKNOWN, Kind, Method
from fray.migrate.ray_side import only_assignment
from fray.migrate.sites import Rewriter
from fray.migrate.source import dotted
from fray.migrate.to_ray.finding import Finding

__all__ = ["Methods"]

_CALL_A_FUNCTION = ("map", "filter", "functools.partial", "partial")
"""Functions that call the function they are given as they are told, whatever it is."""


class Methods(Finding):
    """Finds the methods of actors."""

    def _method_called(self, node: cst.Call) -> Kind | None:
        """Return the method of a handle that `node` calls; block a call that may or may not be one."""
        kind = self.kind(node.func)
        if isinstance(kind, Method):
            if isinstance(node.func, cst.Attribute) and node.func.attr.value in ("remote", "options"):
                return None
            return None if kind.name in ("remote", "options") else kind
        if not isinstance(node.func, cst.Attribute) or node.func.attr.value not in self.methods:
            return None
        if node.func.attr.value.startswith("_"):
            return None
        if self.kind(node.func.value) not in (UNKNOWN, NOTHING) or kind not in (UNKNOWN, NOTHING):
            return None
        holder: cst.CSTNode | None = self.source.parent(node)
        while isinstance(holder, (cst.Element, cst.List, cst.ListComp, cst.GeneratorExp)):
            holder = self.source.parent(holder)
        around = self.source.parent(holder) if isinstance(holder, cst.Arg) else None
        gotten = isinstance(around, cst.Call) and context_verb(self.kinds, self.source, around.func) in ("get", "wait")
        if gotten or isinstance(holder, cst.Await) or self._is_of_pool(node.func.value, holder):
            return Method(node.func.attr.value)
        self.block(
            node, f"{node.func.attr.value} may be a method of an actor or of a plain object", "annotate the handle"
        )
        return None

    def _is_of_pool(self, receiver: cst.BaseExpression, holder: cst.CSTNode | None) -> bool:
        """Return whether `receiver` is the actor in ``pool.map(lambda actor, value: ..., values)``."""
        item = self.source.parent(holder) if isinstance(holder, cst.Lambda) else None
        work = self.source.parent(item) if isinstance(item, cst.Arg) else None
        if not isinstance(holder, cst.Lambda) or not isinstance(work, cst.Call) or not isinstance(receiver, cst.Name):
            return False
        pool = work.func.value if isinstance(work.func, cst.Attribute) else None
        made = only_assignment(self.source, pool) if isinstance(pool, cst.Name) else None
        value = made.value if isinstance(made, cst.Assign) else None
        if not isinstance(value, cst.Call) or self.source.library_name(value.func, FRAY) != "fray.ActorPool":
            return False
        return bool(holder.params.params) and holder.params.params[0].name.value == receiver.value

    def _handed_on(self, node: cst.Name | cst.Attribute, method: Callable[[Rewriter], cst.BaseExpression]) -> None:
        """Move a method that is an argument; one in a variable, a container or a `return` has its calls moved."""
        parent = self.source.parent(node)
        if not isinstance(parent, cst.Arg) or parent.value is not node:
            return
        called = self.source.parent(parent)
        if isinstance(called, cst.Call) and dotted(called.func) in _CALL_A_FUNCTION:
            self.site(node, lambda rewriter, new: cst.Attribute(method(rewriter), cst.Name("remote")), names_ray=False)
        else:
            self.block(node, "a method is handed on to what may call it", "hand on a lambda that calls it")
