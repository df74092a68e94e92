"""Moves types and exceptions."""

from __future__ import annotations

import libcst as cst

from fray.migrate.build import chain
from fray.migrate.fray_side import FRAY
from fray.migrate.ray_api import EXCEPTIONS, SAME, Reason
from fray.migrate.text_annotations import find_text_annotations
from fray.migrate.to_ray.finding import Finding

__all__ = ["Names"]

_ERRORS = {name: old for old, name in reversed(EXCEPTIONS.items())}
_SAME = {name: old for old, name in reversed(SAME.items())}
_TYPES = {"ActorHandle": "ray.actor.ActorHandle", "ObjectRef": "ray.ObjectRef"}
_ERRORS.update(ActorDiedError="RayActorError", ObjectLostError="ObjectLostError")


class Names(Finding):
    """Finds names of Fray that are no calls."""

    def _text_annotations(self) -> None:
        find_text_annotations(
            self.found,
            FRAY,
            lambda name: _TYPES.get(name.rpartition(".")[2]),
            lambda name: Reason(f"{name} has no counterpart in Ray", "keep this on Fray"),
        )

    def _reference(self, node: cst.CSTNode, name: str) -> None:
        short = name.rpartition(".")[2]
        parent = self.source.parent(node)
        if name in ("fray.get_job_context", "fray.get_default_job_ctx") and isinstance(parent, cst.Call):
            if id(parent) in self._contexts:
                return
            self.block(parent, "a context is handed on as a value, and Ray has none", "look it up where it is used")
        elif short in _ERRORS:
            self.site(node, lambda rewriter, new: chain(f"ray.exceptions.{_ERRORS[short]}"), [node])
        elif name in _SAME:
            imports = ("import ray.util.queue",) if "queue" in _SAME[name] else ()
            self.site(node, lambda rewriter, new: chain(_SAME[name]), [node], True, imports)
        elif short in _TYPES:
            self.site(node, lambda rewriter, new: chain(_TYPES[short]), [node])
        elif name.startswith("fray.Lifetime.") or name.endswith((".DETACHED", ".JOB")):
            text = "detached" if name.endswith("DETACHED") else "non_detached"
            self.site(node, lambda rewriter, new: cst.SimpleString(f'"{text}"'), [node], False)
        else:
            self.block(node, f"{name} has no counterpart in Ray")
