"""What a program has to change: sites, which have a counterpart, and blockers, which have none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import libcst as cst

from fray.migrate.ray_api import Reason
from fray.migrate.source import Source

__all__ = ["Blocker", "Build", "Found", "Rewriter", "Site"]


class Rewriter(Protocol):
    """What a site builds its counterpart with."""

    def sub(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """Return `node` with the sites in it replaced."""
        ...

    def sub_arg(self, node: cst.Arg) -> cst.Arg:
        """Return an argument with the sites in it replaced."""
        ...

    def context(self, node: cst.CSTNode) -> cst.BaseExpression:
        """Return what the context is called where `node` is."""
        ...

    def active(self, node: cst.CSTNode) -> bool:
        """Return whether the site of `node` is replaced."""
        ...


Built: TypeAlias = "cst.CSTNode | cst.RemovalSentinel | cst.FlattenSentinel[cst.BaseStatement]"
Build: TypeAlias = "Callable[[Rewriter, cst.CSTNode], Built]"
"""Gets the node, with its parts as they were for an expression and replaced for a statement."""


@dataclass(eq=False)
class Site:
    """A part of a program that has a counterpart.

    Args:
        source: where it is.
        node: what is replaced.
        build: makes the counterpart.
        uses: the names of the library that are gone with it.
        context: its counterpart uses a context.
        names_fray: its counterpart names the package.
        imports: further statements that it needs at the top.
        role: ``"init"``, ``"shutdown"`` or ``"asks"`` for what goes with the choice of the engine.
        prepare: called before anything is replaced, where the site is.
        may_name_fray: asked after that whether it names the package after all.
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
        """Return whether the counterpart names the package."""
        return self.names_fray or (self.may_name_fray is not None and self.may_name_fray())


@dataclass(eq=False)
class Blocker:
    """A part of a program that stays, and why."""

    source: Source
    node: cst.CSTNode
    reason: Reason


@dataclass
class Found:
    """All that was found in one source."""

    source: Source
    sites: list[Site] = field(default_factory=list[Site])
    blockers: list[Blocker] = field(default_factory=list[Blocker])
    references: list[tuple[cst.CSTNode, str]] = field(default_factory=list["tuple[cst.CSTNode, str]"])
    """Every use of a name of the library, with that name."""
    links: list[tuple[cst.CSTNode, cst.CSTNode]] = field(default_factory=list["tuple[cst.CSTNode, cst.CSTNode]"])
    """Pairs of nodes that are moved together or not at all."""
