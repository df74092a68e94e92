"""The state of the walk over one program for Fray, and the functions that all parts of the walk use."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from fray.migrate.inference import Kinds
from fray.migrate.kinds import Kind
from fray.migrate.ray_api import Reason
from fray.migrate.sites import Blocker, Build, Found, Site
from fray.migrate.source import Source

__all__ = ["VERBS", "Finding"]

VERBS = {
    "get": ("refs", "timeout"),
    "wait": ("refs", "num_returns", "timeout"),
    "cancel": ("ref", "force"),
    "kill": ("actor", "no_restart"),
    "put": ("value",),
    "get_actor": ("name", "namespace"),
}
"""Methods of contexts that are functions of Ray, with their parameters; all but the first are passed by keyword."""


class Finding:
    """The state of the walk over one program: what is known, and what was found so far."""

    def __init__(self, kinds: Kinds, source: Source) -> None:
        self.kinds = kinds
        self.source = source
        self.found = Found(source)
        self.methods = kinds.actor_methods()
        self._consumed: set[int] = set()
        self._contexts: set[int] = set()
        """Ids of the nodes that stand for a context and vanish with the call around them."""

    def block(self, node: cst.CSTNode, why: str, what: str = "keep this on Fray") -> None:
        self.found.blockers.append(Blocker(self.source, node, Reason(why, what)))

    def site(
        self,
        node: cst.CSTNode,
        build: Build,
        uses: Sequence[cst.CSTNode] = (),
        names_ray: bool = True,
        imports: tuple[str, ...] = (),
    ) -> None:
        self._consumed.update(id(use) for use in uses)
        self.found.sites.append(Site(self.source, node, build, tuple(uses), False, names_ray, imports))

    def link(self, node: cst.CSTNode, other: cst.CSTNode) -> None:
        self.found.links.append((node, other))

    def kind(self, node: cst.BaseExpression) -> Kind:
        return self.kinds.of(self.source, node)

    def _consume_context(self, node: cst.BaseExpression) -> None:
        """Note that the ``fray.get_job_context()`` in `node` vanishes with the call around it."""
        if isinstance(node, cst.Call):
            self._consumed.add(id(node.func))
            self.found.sites.append(Site(self.source, node, lambda rewriter, new: node, (node.func,), False, False))
