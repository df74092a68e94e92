"""The state of the walk over one program for Ray, and the functions that all parts of the walk use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import libcst as cst

from fray.migrate.from_ray.constants import Constants
from fray.migrate.inference import Kinds
from fray.migrate.kinds import Definition, Kind
from fray.migrate.options import StaysError, option_keywords
from fray.migrate.ray_api import Reason
from fray.migrate.sites import Blocker, Build, Found, Site
from fray.migrate.source import Source

__all__ = ["VERBS", "Finding"]

VERBS = ("get", "put", "wait", "cancel", "kill", "get_actor")


class Finding:
    """The state of the walk over one program: what is known, and what was found so far."""

    def __init__(self, kinds: Kinds, source: Source, constants: Constants, sync_tests: bool) -> None:
        self.kinds = kinds
        self.source = source
        self.constants = constants
        self.sync_tests = sync_tests
        self.found = Found(source)
        self.methods = kinds.actor_methods()
        self._consumed: set[int] = set()
        self._ended_handlers: set[int] = set()

    def block(self, node: cst.CSTNode, reason: Reason) -> None:
        self.found.blockers.append(Blocker(self.source, node, reason))

    def site(
        self,
        node: cst.CSTNode,
        build: Build,
        uses: Sequence[cst.CSTNode] = (),
        context: bool = False,
        names_fray: bool = True,
        imports: tuple[str, ...] = (),
        role: str = "",
        prepare: Callable[[], None] | None = None,
    ) -> None:
        self._consumed.update(id(use) for use in uses)
        self.found.sites.append(
            Site(self.source, node, build, tuple(uses), context, names_fray or context, imports, role, prepare)
        )

    def kind(self, node: cst.BaseExpression) -> Kind:
        return self.kinds.of(self.source, node)

    def _called_by(self, node: cst.CSTNode) -> cst.Call | None:
        parent = self.source.parent(node)
        return parent if isinstance(parent, cst.Call) and parent.func is node else None

    def _convertible(
        self, options: Mapping[str, cst.BaseExpression], is_actor: bool, where: Source, node: cst.CSTNode
    ) -> bool:
        try:
            option_keywords(options, is_actor, self.kinds, where, lambda part: part)
        except StaysError as error:
            self.block(node, error.reason)
            return False
        return True

    def _link_definition(self, node: cst.CSTNode, definition: Definition | None) -> None:
        while definition is not None:
            self.found.links.append((node, definition.node))
            definition = definition.base

    def _is_annotation(self, node: cst.CSTNode) -> bool:
        return any(isinstance(item, cst.Annotation) for item in self.source.ancestors(node))
