"""`Facts`: what is true of all programs together, found out once."""

from __future__ import annotations

import weakref
from functools import cached_property

import libcst as cst

from fray.migrate.fray_side import FRAY
from fray.migrate.inference import Kinds
from fray.migrate.source import dotted
from fray.migrate.to_ray.decorating import find_decorated

__all__ = ["Facts"]

_CHOOSE = ("LocalJobContext", "SyncContext", "ThreadContext", "fray_default_job_ctx", "set_job_context")
"""Names of `fray` that choose the context of whatever runs after them, in all files."""


class Facts:
    """What is true of all programs that are moved together.

    Args:
        kinds: the kinds of all these programs.
    """

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = weakref.proxy(kinds)

    @classmethod
    def of(cls, kinds: Kinds) -> Facts:
        """Return the facts of the programs of `kinds`, always the same object."""
        return _known.setdefault(kinds, cls(kinds))

    @cached_property
    def decorated(self) -> set[int]:
        """The ids of the functions and classes that can be decorated with ``@ray.remote``."""
        return find_decorated(self._kinds)

    @cached_property
    def chooses_context(self) -> bool:
        """Whether a program runs its tasks in another context than that of the engine."""
        return any(
            isinstance(node, (cst.Name, cst.Attribute))
            and (dotted(node) or "").rpartition(".")[2] in _CHOOSE
            and source.library_name(node, FRAY) is not None
            for source in self._kinds.project.sources
            for node in source.nodes()
        )

    @cached_property
    def starts_several_times(self) -> bool:
        """Whether the programs call ``fray.init`` more than once, which Fray takes, and Ray does not."""
        starts = sum(
            isinstance(node, cst.Call) and source.library_name(node.func, FRAY) == "fray.init"
            for source in self._kinds.project.sources
            for node in source.nodes()
        )
        return starts > 1


_known: weakref.WeakKeyDictionary[Kinds, Facts] = weakref.WeakKeyDictionary()
