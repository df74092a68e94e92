"""Decides how a call's options are written: in place, as the name of a constant, or as a changed copy of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import libcst as cst
from libcst.metadata import ImportAssignment

from fray.migrate.build import arg, call, is_literal, keyword
from fray.migrate.from_ray.constants import is_global
from fray.migrate.from_ray.finding import Finding
from fray.migrate.kinds import Definition, Module
from fray.migrate.options import StaysError, option_keywords, options_value
from fray.migrate.ray_api import Reason
from fray.migrate.sites import Rewriter
from fray.migrate.source import Source

__all__ = ["CallOptions", "CallOptionsOf"]


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

    def _call_options(self, target: cst.BaseExpression, definition: Definition | None, is_actor: bool) -> CallOptions:
        """Decide how the options of one call are written.

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
        for layer in layers[(named[-1] + 1) if named else 0 :]:
            own.update(layer.options)
            if layer.source is not self.source and not all(is_literal(value) for value in layer.options.values()):
                raise StaysError(Reason("these options are not in sight here", "give them a name"))
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


def _forget(value: object) -> None:
    del value
