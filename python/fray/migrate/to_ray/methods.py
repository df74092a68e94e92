"""Moves calls of actors' methods, and methods that are values."""

from __future__ import annotations

import sys
from collections.abc import Callable

import libcst as cst
from libcst.metadata import ImportAssignment

from fray.migrate.fray_side import FRAY, context_verb
from fray.migrate.imports import imported_names
from fray.migrate.kinds import NOTHING, UNKNOWN, Function, Kind, Method
from fray.migrate.ray_side import only_assignment
from fray.migrate.sites import Rewriter
from fray.migrate.source import dotted
from fray.migrate.to_ray.finding import Finding

__all__ = ["Methods"]

_CALL_A_FUNCTION = ("map", "filter", "functools.partial", "partial")
"""Functions that call the function they are given as they are told, whatever it is."""
_PLAIN = ("fray.ActorPool", "fray.ActorQueue", "fray.Executor")


class Methods(Finding):
    """Finds the methods of actors."""

    def _method_called(self, node: cst.Call) -> Kind | None:
        """Return the method of a handle that `node` calls; block a call that may or may not be one."""
        kind = self.kind(node.func)
        if isinstance(kind, Method):
            of_method = isinstance(node.func, cst.Attribute) and isinstance(self.kind(node.func.value), Method)
            return None if of_method else kind
        if not isinstance(node.func, cst.Attribute) or node.func.attr.value not in self.methods:
            return None
        if node.func.attr.value.startswith("_") or self._is_plain(node.func.value):
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

    def _is_plain(self, receiver: cst.BaseExpression) -> bool:
        """Return whether `receiver` is certainly no handle.

        That is true of ``super()``, of modules that are not among the files, of what is in the standard library, and of
        variables that only ever hold a queue or pool of Fray's, or what the standard library has returned.
        """
        if isinstance(receiver, cst.Call) and dotted(receiver.func) == "super":
            return True
        if self._package(receiver) or self._is_standard(receiver):
            return True
        made = only_assignment(self.source, receiver) if isinstance(receiver, cst.Name) else None
        value = made.value if made is not None else None
        if not isinstance(value, cst.Call):
            return False
        return self._is_standard(value.func) or self.source.library_name(value.func, FRAY) in _PLAIN

    def _is_standard(self, node: cst.BaseExpression) -> bool:
        """Return whether `node` is a module of the standard library, or something in it, as ``subprocess.run``."""
        while isinstance(node, cst.Attribute):
            node = node.value
        return self._package(node) in sys.stdlib_module_names

    def _package(self, node: cst.BaseExpression) -> str:
        """Return the package of the module that a name means; empty if that is Fray, is given, or is no module."""
        found: set[str] = set()
        for binding in self.source.bindings(node) if isinstance(node, cst.Name) else ():
            if not isinstance(binding, ImportAssignment) or not isinstance(binding.node, cst.Import):
                return ""
            if self.kinds.project.imported(self.source, binding.node, binding.name) is not None:
                return ""
            found |= {
                full.partition(".")[0] for _, full, bound in imported_names(binding.node) if bound == binding.name
            }
        return found.pop() if len(found) == 1 and not found & set(FRAY) else ""

    def _is_of_pool(self, receiver: cst.BaseExpression, holder: cst.CSTNode | None) -> bool:
        """Return whether `receiver` is the actor in ``pool.map(lambda actor, value: ..., values)``."""
        item = self.source.parent(holder) if isinstance(holder, cst.Lambda) else None
        work = self.source.parent(item) if isinstance(item, cst.Arg) else None
        if not isinstance(holder, cst.Lambda) or not isinstance(work, cst.Call) or not isinstance(receiver, cst.Name):
            return False
        pool = work.func.value if isinstance(work.func, cst.Attribute) else None
        made = only_assignment(self.source, pool) if isinstance(pool, cst.Name) else None
        value = made.value if isinstance(made, cst.Assign) else pool
        if not isinstance(value, cst.Call) or self.source.library_name(value.func, FRAY) != "fray.ActorPool":
            return False
        return bool(holder.params.params) and holder.params.params[0].name.value == receiver.value

    def _handed_on(self, node: cst.Name | cst.Attribute, method: Callable[[Rewriter], cst.BaseExpression]) -> None:
        """Move a method that is an argument; one in a variable, a container or a `return` has its calls moved."""
        parent = self.source.parent(node)
        if not isinstance(parent, cst.Arg) or parent.value is not node:
            return
        called = self.source.parent(parent)
        if isinstance(called, cst.Call) and self._is_followed(called, parent):
            return
        if isinstance(called, cst.Call) and dotted(called.func) in _CALL_A_FUNCTION:
            self.site(node, lambda rewriter, new: cst.Attribute(method(rewriter), cst.Name("remote")), names_ray=False)
        else:
            self.block(node, "a method is handed on to what may call it", "hand on a lambda that calls it")

    def _is_followed(self, called: cst.Call, argument: cst.Arg) -> bool:
        """Return whether a known function is called whose parameter is known to be a method: its calls are moved."""
        kind = self.kind(called.func)
        if not isinstance(kind, Function) or not isinstance(kind.node, cst.FunctionDef):
            return False
        params = kind.node.params
        if argument.keyword is not None:
            named = [
                param for param in (*params.params, *params.kwonly_params) if _name(param) == argument.keyword.value
            ]
        else:
            at = next(number for number, item in enumerate(called.args) if item is argument)
            named = [*params.posonly_params, *params.params][at + _takes_self(kind) :][:1]
        return any(isinstance(self.kinds.of(kind.source, param.name), Method) for param in named)


def _name(param: cst.Param) -> str:
    return param.name.value


def _takes_self(function: Function) -> bool:
    block = function.source.parent(function.node)
    in_class = block is not None and isinstance(function.source.parent(block), cst.ClassDef)
    decorators = function.node.decorators if isinstance(function.node, cst.FunctionDef) else ()
    return in_class and all(dotted(item.decorator) != "staticmethod" for item in decorators)
