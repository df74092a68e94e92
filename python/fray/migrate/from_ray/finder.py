"""Walks over a program for Ray and collects its sites and blockers."""

from __future__ import annotations

import libcst as cst

from fray.migrate.build import call
from fray.migrate.from_ray.constants import Constants
from fray.migrate.from_ray.definitions import Definitions
from fray.migrate.from_ray.finding import VERBS
from fray.migrate.from_ray.held_options import HeldOptions
from fray.migrate.from_ray.methods import Methods
from fray.migrate.from_ray.mixtures import Mixtures
from fray.migrate.from_ray.names import Names
from fray.migrate.from_ray.pools import POOLS, Pools
from fray.migrate.from_ray.sessions import Sessions
from fray.migrate.from_ray.starts import Starts, start_target
from fray.migrate.from_ray.values import Values
from fray.migrate.from_ray.verbs import Verbs
from fray.migrate.inference import Kinds
from fray.migrate.kinds import (
    NOTHING,
    PLAIN,
    SURROUNDINGS,
    UNKNOWN,
    Function,
    Instance,
    Kind,
    Method,
    Module,
    PlainClass,
    Ref,
    Remote,
)
from fray.migrate.ray_api import SAME, Reason, reason_for
from fray.migrate.ray_side import is_remote_name, ray_name
from fray.migrate.sites import Found
from fray.migrate.source import Source, dotted, is_base_of_chain

__all__ = ["find_ray"]

_REF_METHODS = [
    "as_future",
    "binary",
    "call_site",
    "completed",
    "future",
    "hex",
    "is_finished",
    "is_nil",
    "job_id",
    "next_ready",
    "owner_address",
    "task_id",
]
_UNKNOWN_KIND = Reason(
    "what .remote is called on is not known here",
    "call the function through its own name, or write ctx.create_task by hand",
)


def find_ray(kinds: Kinds, source: Source, constants: Constants, sync_tests: bool) -> Found:
    """Return the sites and blockers of `source`.

    Args:
        kinds: the kinds of all programs that are moved together.
        source: a program that uses Ray, or that imports connect with one that does.
        constants: the constants of all programs that are moved together.
        sync_tests: whether tests start a LocalJobContext rather than the engine.
    """
    finder = _Finder(kinds, source, constants, sync_tests)
    finder.run()
    return finder.found


class _Finder(Definitions, Sessions, Verbs, Starts, HeldOptions, Methods, Pools, Values, Names, Mixtures):
    """Walks over one program and hands each node to the part that handles it."""

    def run(self) -> None:
        self._references()
        for node in self.source.nodes():
            if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
                self._definition(node)
            elif isinstance(node, cst.Call):
                self._call(node)
                if dotted(node.func) in ("sys.exit", "exit", "quit"):
                    self._exit(node)
            elif isinstance(node, cst.Raise):
                raised = node.exc.func if isinstance(node.exc, cst.Call) else node.exc
                if dotted(raised) == "SystemExit":
                    self._exit(node)
            elif isinstance(node, cst.Attribute) and not isinstance(self._called_by(node), cst.Call):
                self._bound(node)
            if isinstance(node, (cst.Name, cst.Attribute)):
                self._flow(node)
        for node, name in self.found.references:
            if id(node) not in self._consumed:
                self._reference(node, name)
        self._text_annotations()
        self._held_options()
        self._mixtures()

    def _references(self) -> None:
        for node in self.source.nodes():
            if isinstance(node, (cst.Name, cst.Attribute)):
                if is_base_of_chain(node, self.source.parent(node)):
                    continue
                name = ray_name(self.source, node)
                if name is not None:
                    self.found.references.append((node, name))

    def _call(self, node: cst.Call) -> None:
        name = ray_name(self.source, node.func)
        if name is not None:
            self._library_call(node, name)
            return
        if isinstance(node.func, cst.Call) and is_remote_name(ray_name(self.source, node.func.func)):
            self._wrapping(node, node.func.func)
            return
        if not isinstance(node.func, cst.Attribute):
            return
        verb = node.func.attr.value
        if verb in ("remote", "_remote"):
            self._remote(node, node.func.value, verb)
        elif verb == "options":
            self._options(node, node.func.value)
        elif verb == "bind" and isinstance(self.kind(node.func.value), (Remote, Method)):
            self.block(node, reason_for("ray.dag.bind"))
        elif verb in _REF_METHODS and isinstance(self.kind(node.func.value), Ref):
            self.block(node, Reason(f"refs have no method {verb}", "use ctx.get, ctx.wait or await"))
        elif self.kind(node.func.value) is SURROUNDINGS:
            self._surroundings(node, node.func.attr.value)

    def _library_call(self, node: cst.Call, name: str) -> None:
        verb = name.removeprefix("ray.").removeprefix("worker.")
        if verb in VERBS:
            self._verb(node, verb)
        elif is_remote_name(name):
            parent = self.source.parent(node)
            if isinstance(parent, cst.Decorator) or self._called_by(node) is not None:
                return  # handled with the definition or class that it is applied to
            self._wrapping(node, node.func)
        elif verb == "init":
            self._init(node)
        elif verb == "shutdown":
            self.site(node, lambda rewriter, new: call("fray.shutdown"), [node.func], role="shutdown")
        elif verb == "is_initialized":
            self._is_initialized(node)
        elif verb == "get_gpu_ids":
            self.site(node, self._gpu_ids, [node.func], context=True)
        elif verb == "util.list_named_actors":
            self.site(node, self._same_call("list_named_actors", node), [node.func], context=True)
        elif verb == "util.map_unordered":
            self._map_unordered(node)
        elif verb == "get_runtime_context":
            self._runtime_context(node)
        elif name in POOLS:
            self._pool(node)
        elif name in SAME:
            self._same(node, name)

    def _remote(self, node: cst.Call, receiver: cst.BaseExpression, verb: str) -> None:
        kind = self._receiver_kind(receiver)
        if isinstance(kind, Remote):
            self._start(node, receiver, kind, verb)
        elif isinstance(kind, Method) and verb == "remote":
            self._method(node, receiver, kind)
        elif not isinstance(kind, (Instance, Function, PlainClass, Module)) and kind is not PLAIN:
            self.block(node, _UNKNOWN_KIND)
            self._link_what_may_be_meant(node, receiver)

    def _link_what_may_be_meant(self, node: cst.Call, receiver: cst.BaseExpression) -> None:
        """Link a call of something unknown with the definitions that it may run, so that they stay with the call."""
        target = start_target(receiver)
        name = target.attr.value if isinstance(target, cst.Attribute) else None
        if isinstance(target, cst.Name):
            name = target.value
        for definition in self.kinds.definitions():
            if definition.name == name:
                self._link_definition(node, definition)

    def _receiver_kind(self, receiver: cst.BaseExpression) -> Kind:
        """Return the kind of ``x`` in ``x.remote``; if it is unknown, the name of an actor's method may tell it."""
        kind = self.kind(receiver)
        if kind is not UNKNOWN and kind is not NOTHING:
            return kind
        inner = start_target(receiver)
        if isinstance(inner, cst.Attribute) and inner.attr.value in self.methods:
            base = self.kind(inner.value)
            if base is UNKNOWN or base is NOTHING:
                return Method(inner.attr.value)
        return kind
