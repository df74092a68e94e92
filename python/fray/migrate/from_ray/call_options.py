"""Decides how a call's options are written: in place, as the name of a constant, or as a changed copy of it.

Ray reads the values of options where a remote function is made, which may be another place and another time than that
of the call. They are written at the call only if they are the same there; otherwise they get a constant where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import libcst as cst
from libcst.metadata import Assignment, GlobalScope, ImportAssignment

from fray.migrate.build import arg, call, is_literal, keyword
from fray.migrate.from_ray.constants import is_global
from fray.migrate.from_ray.finding import Finding
from fray.migrate.kinds import Definition, Module
from fray.migrate.options import StaysError, option_keywords, options_value
from fray.migrate.ray_api import Reason
from fray.migrate.sites import Rewriter
from fray.migrate.source import Source

__all__ = ["CallOptions", "CallOptionsOf"]

_MADE_ELSEWHERE = Reason(
    "the options were read elsewhere, where this remote thing was made", "give them with .options at this call"
)
_VALUES = (cst.BaseExpression, cst.DictElement, cst.Element)


class CallOptions:
    """Builds the options of one call.

    Args:
        make: returns the expression; None if the call has no options.
        imports: import statements that the expression needs.
        prepare: called before anything is replaced, if the call is moved.
    """

    def __init__(
        self,
        make: Callable[[Rewriter], cst.BaseExpression | None],
        imports: tuple[str, ...] = (),
        prepare: Callable[[], None] | None = None,
    ) -> None:
        self._make = make
        self.imports = imports
        self.prepare = prepare

    def __call__(self, rewriter: Rewriter) -> cst.BaseExpression | None:
        return self._make(rewriter)


class CallOptionsOf(Finding):
    """Decides how the options of every call are written."""

    def _call_options(
        self, node: cst.Call, target: cst.BaseExpression, definition: Definition | None, is_actor: bool
    ) -> CallOptions:
        """Decide how the options of the call `node` of `target` are written.

        Raises:
            StaysError: an option has no counterpart, or its value cannot be named here.
        """
        if definition is None:
            return CallOptions(lambda rewriter: None)
        layers = definition.layers()
        named = [index for index, layer in enumerate(layers) if layer.name is not None and self._is_seen(layer)]
        base = layers[named[-1]] if named else None
        before = base.merged() if base is not None else {}
        own: dict[str, cst.BaseExpression] = {}
        for index, layer in enumerate(layers):
            above = bool(named) and index <= named[-1]
            if not above:
                own.update(layer.options)
            place = base.node if above and base is not None else node
            if layer is not base and not self._same_at(layer, place):
                raise StaysError(_MADE_ELSEWHERE)
        everything = {**before, **own}
        option_keywords(everything, is_actor, self.kinds, self.source, lambda part: part)
        literals = all(is_literal(value) for value in before.values())

        def inline(rewriter: Rewriter) -> cst.BaseExpression | None:
            found = option_keywords(everything, is_actor, self.kinds, self.source, rewriter.sub)
            return options_value(found, is_actor) if found else None

        if base is None or not before or (literals and own):
            return CallOptions(inline)
        if not option_keywords(before, is_actor, self.kinds, base.source, lambda part: part):
            return CallOptions(inline)
        reach = self._reach(target, base)
        if not literals and not self._is_made_once(target, base):
            raise StaysError(_MADE_ELSEWHERE)
        if literals and reach is None:
            return CallOptions(inline)
        if reach is None:
            raise StaysError(Reason("the options of this function are not in sight here", "import them with it"))
        if not own:
            key = id(base.node)
            self.constants.calls[key] = self.constants.calls.get(key, 0) + 1

            def is_single() -> bool:
                return literals and self.constants.calls[key] == 1

            return CallOptions(
                lambda rewriter: inline(rewriter) if is_single() else reach(),
                prepare=lambda: None if is_single() else _forget(reach()),
            )
        return CallOptions(
            lambda rewriter: self._replaced(rewriter, own, is_actor, reach()),
            ("import dataclasses",),
            lambda: _forget(reach()),
        )

    def _replaced(
        self, rewriter: Rewriter, own: Mapping[str, cst.BaseExpression], is_actor: bool, base: cst.BaseExpression
    ) -> cst.BaseExpression:
        found = option_keywords(own, is_actor, self.kinds, self.source, rewriter.sub)
        resources = found.get("resources")
        if resources is not None:
            inherited = cst.StarredDictElement(cst.Attribute(base, cst.Name("resources")))
            given = list(resources.elements) if isinstance(resources, cst.Dict) else [cst.StarredDictElement(resources)]
            found["resources"] = cst.Dict([inherited, *given])
        return call("dataclasses.replace", [arg(base), *(keyword(name, value) for name, value in found.items())])

    @staticmethod
    def _is_seen(layer: Definition) -> bool:
        """Return whether the options of a definition can get a constant: its statement defines nothing else."""
        if isinstance(layer.node, (cst.FunctionDef, cst.ClassDef)):
            return True
        line = layer.source.statement_of(layer.node)
        return isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1

    def _same_at(self, layer: Definition, place: cst.CSTNode) -> bool:
        """Return whether the options of `layer` have the same values where `place` stands."""
        if place in (layer.node, *layer.source.ancestors(layer.node)):
            return True
        values = layer.options.values()
        if all(is_literal(value) for value in values):
            return True
        return layer.source is self.source and all(self._is_fixed(value, place) for value in values)

    def _is_fixed(self, value: cst.CSTNode, place: cst.CSTNode) -> bool:
        """Return whether an expression is made of literals and of variables of the module that are bound only once."""
        if isinstance(value, cst.Name) and self.source.bindings(value):
            bindings = self.source.bindings(value)
            scope = self.source.scope(place)
            return (
                len(bindings) == 1
                and isinstance(bindings[0].scope, GlobalScope)
                and isinstance(bindings[0], Assignment)
                and _loop_around(self.source, bindings[0].node) is None
                and scope is not None
                and list(scope[value.value]) == bindings
            )
        if is_literal(value):
            return True
        parts = (cst.BinaryOperation, cst.UnaryOperation, cst.Dict, cst.DictElement, cst.List, cst.Tuple, cst.Element)
        return isinstance(value, parts) and all(
            self._is_fixed(part, place) for part in value.children if isinstance(part, _VALUES)
        )

    def _is_made_once(self, target: cst.BaseExpression, base: Definition) -> bool:
        """Return whether `target` is the thing that `base` made last: its own name, or all that `base` ever makes."""
        loop = _loop_around(base.source, base.node)
        if loop is None and base.source.function_of(base.node) is None:
            return True
        by_name = isinstance(target, cst.Name) and target.value == base.name
        return by_name and (loop is None or loop in list(self.source.ancestors(target)))

    def _reach(self, target: cst.BaseExpression, base: Definition) -> Callable[[], cst.BaseExpression] | None:
        """Return a function that names the constant of `base` in this source; None if it is not visible here."""
        if base.source is self.source:
            around = self.source.function_of(base.node)
            if around is None or around in list(self.source.ancestors(target)):
                return lambda: cst.Name(self.constants.name(base))
            return None
        if not is_global(base):
            return None
        if isinstance(target, cst.Attribute) and isinstance(self.kind(target.value), Module):
            return lambda: target.with_changes(attr=cst.Name(self.constants.name(base)))
        if isinstance(target, cst.Name):
            imports = self._import_chain(self.source, target.value, self.source.bindings(target), base)
            if imports:
                return lambda: self._import_constant(imports, base)
        return None

    def _import_chain(
        self, source: Source, name: str, bindings: Sequence[object], base: Definition
    ) -> list[tuple[Source, cst.ImportFrom]]:
        """Return the imports that lead from `name` to the source of `base`; empty if no chain of imports does."""
        for binding in bindings:
            node = binding.node if isinstance(binding, ImportAssignment) else None
            if not isinstance(node, cst.ImportFrom) or isinstance(node.names, cst.ImportStar):
                continue
            found = self.kinds.project.imported(source, node, name)
            module, inner = found or (None, None)
            if module is None or inner is None:
                continue
            if module is base.source:
                return [(source, node)]
            scope = module.scope(module.module.body[0]) if module.module.body else None
            further = self._import_chain(module, inner, list(scope.globals[inner]) if scope else [], base)
            if further:
                return [(source, node), *further]
        return []

    def _import_constant(self, imports: list[tuple[Source, cst.ImportFrom]], base: Definition) -> cst.BaseExpression:
        name = self.constants.name(base)
        for source, node in imports:
            source.added_names.setdefault(id(node), set()).add(name)
        return cst.Name(name)


def _loop_around(source: Source, node: cst.CSTNode) -> cst.CSTNode | None:
    """Return the innermost loop that runs `node` again and again within its function; None without one."""
    around = source.function_of(node)
    for above in source.ancestors(node):
        if above is around:
            return None
        if isinstance(above, (cst.For, cst.While, cst.BaseComp)):
            return above
    return None


def _forget(value: object) -> None:
    del value
