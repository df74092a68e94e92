"""Sites, the parts of a program that have a counterpart in the new library, and blockers, which have none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import libcst as cst

from fray.migrate.ray_api import Reason
from fray.migrate.source import Source

__all__ = ["Blocker", "Build", "Found", "Rewriter", "Site"]


class Rewriter(Protocol):
    """The functions with which a site builds its counterpart."""

    def sub(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """Return `node` with the sites in it replaced."""
        ...

    def sub_arg(self, node: cst.Arg) -> cst.Arg:
        """Return an argument with the sites in it replaced."""
        ...

    def context(self, node: cst.CSTNode) -> cst.BaseExpression:
        """Return the expression for the context at `node`: a variable, or a look-up."""
        ...

    def active(self, node: cst.CSTNode) -> bool:
        """Return whether the site of `node` is replaced."""
        ...


Built: TypeAlias = "cst.CSTNode | cst.RemovalSentinel | cst.FlattenSentinel[cst.BaseStatement]"
Build: TypeAlias = "Callable[[Rewriter, cst.CSTNode], Built]"
"""Builds the counterpart of a node.

Sites inside an expression have not been replaced yet: the builder does it with `Rewriter.sub`. Sites inside a statement
have been.
"""


@dataclass(eq=False)
class Site:
    """A part of a program that has a counterpart.

    Args:
        source: the program.
        node: the node that is replaced.
        build: builds the counterpart.
        uses: the nodes in it that name the old library, which are gone with it.
        context: whether the counterpart uses a context.
        names_fray: whether the counterpart names the new package.
        imports: other import statements that the counterpart needs.
        role: ``"init"``, ``"shutdown"`` or ``"asks"`` for a site that starts, ends or asks about the engine: it is
            replaced if the whole program leaves the old engine. Empty for all others.
        prepare: called before anything is replaced, if the site is active.
        may_name_fray: called after `prepare`; returns whether the counterpart names the new package after all.
    """

    source: Source
    node: cst.CSTNode
    build: Build
    uses: tuple[cst.CSTNode, ...] = ()
    context: bool = False
    names_fray: bool = True
    imports: tuple[str, ...] = ()
    role: str = ""
    prepare: Callable[[], None] | None = None
    may_name_fray: Callable[[], bool] | None = None

    def needs_import(self) -> bool:
        """Return whether the counterpart names the new package."""
        return self.names_fray or (self.may_name_fray is not None and self.may_name_fray())


@dataclass(eq=False)
class Blocker:
    """A part of a program that stays, and the reason."""

    source: Source
    node: cst.CSTNode
    reason: Reason


@dataclass
class Found:
    """The sites and blockers of one source."""

    source: Source
    sites: list[Site] = field(default_factory=list[Site])
    blockers: list[Blocker] = field(default_factory=list[Blocker])
    references: list[tuple[cst.CSTNode, str]] = field(default_factory=list["tuple[cst.CSTNode, str]"])
    """Every use of a name of the old library, with that name."""
    links: list[tuple[cst.CSTNode, cst.CSTNode]] = field(default_factory=list["tuple[cst.CSTNode, cst.CSTNode]"])
    """Pairs of nodes that move together or stay together."""
