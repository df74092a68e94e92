"""Walks over a program for Fray and collects its sites and blockers."""

from __future__ import annotations

from functools import partial

import libcst as cst

from fray.migrate.build import call, chain
from fray.migrate.fray_side import FRAY, TaskCall, context_verb
from fray.migrate.inference import Kinds
from fray.migrate.kinds import Context, Method
from fray.migrate.sites import Found, Rewriter
from fray.migrate.source import Source, dotted, is_base_of_chain
from fray.migrate.to_ray.contexts import Contexts
from fray.migrate.to_ray.facts import Facts
from fray.migrate.to_ray.finding import VERBS
from fray.migrate.to_ray.methods import Methods
from fray.migrate.to_ray.names import Names
from fray.migrate.to_ray.sessions import Sessions
from fray.migrate.to_ray.starts import Starts
from fray.migrate.to_ray.task_arguments import task_arguments
from fray.migrate.to_ray.verbs import Verbs

__all__ = ["find_fray"]


def find_fray(kinds: Kinds, source: Source) -> Found:
    """Return the sites and blockers of `source`.

    Args:
        kinds: the kinds of all programs that are moved together.
        source: a program that uses Fray, or that imports connect with one that does.
    """
    finder = _Finder(kinds, source)
    finder.run()
    return finder.found


class _Finder(Methods, Verbs, Starts, Sessions, Contexts, Names):
    """Walks over one program and hands each node to the part that handles it."""

    def run(self) -> None:
        for node in self.source.nodes():
            if isinstance(node, (cst.Name, cst.Attribute)) and not is_base_of_chain(node, self.source.parent(node)):
                name = self.source.library_name(node, FRAY)
                if name is not None:
                    self.found.references.append((node, name))
        for node in self.source.nodes():
            if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
                self._definition(node)
            elif isinstance(node, cst.Call):
                self._call(node)
            elif isinstance(node, cst.SimpleStatementLine):
                self._line(node)
            elif isinstance(node, cst.With):
                self._with(node)
            elif isinstance(node, cst.Attribute):
                self._attribute(node)
        for node, name in self.found.references:
            if id(node) not in self._consumed:
                self._reference(node, name)
        self._text_annotations()
        for node in self.source.nodes():
            if isinstance(node, cst.Name) and isinstance(self.kind(node), Context) and id(node) not in self._contexts:
                self._loose_context(node)
            elif isinstance(node, cst.Name) and isinstance(self.kind(node), Method):
                self._handed_on(node, lambda rewriter, method=node: method)
        self._stay_together()

    def _definition(self, node: cst.FunctionDef | cst.ClassDef) -> None:
        if id(node) not in Facts.of(self.kinds).decorated:
            return

        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            assert isinstance(new, (cst.FunctionDef, cst.ClassDef))
            first = cst.Decorator(chain("ray.remote"))
            return new.with_changes(decorators=[first, *new.decorators])

        self.site(node, build)

    def _call(self, node: cst.Call) -> None:
        name = self.source.library_name(node.func, FRAY)
        if name is not None:
            self._library_call(node, name)
            return
        verb = context_verb(self.kinds, self.source, node.func)
        if verb is not None:
            assert isinstance(node.func, cst.Attribute)
            self._contexts.add(id(node.func.value))
            self._on_context(node, verb, node.func.value)
            return
        method = self._method_called(node)
        if method is not None:
            self.site(
                node,
                lambda rewriter, new: node.with_changes(
                    func=cst.Attribute(rewriter.sub(node.func), cst.Name("remote")),
                    args=[rewriter.sub_arg(item) for item in node.args],
                ),
                names_ray=False,
            )
            if isinstance(method, Method) and method.definition is not None:
                self.found.links.append((node, method.definition.node))
        if dotted(node.func) in ("functools.partial", "partial") and len(node.args) >= 2:
            self._partial(node)

    def _on_context(self, node: cst.Call, verb: str, context: cst.BaseExpression) -> None:
        self._consume_context(context)
        if verb in VERBS:
            self._verb(node, verb)
        elif verb == "create_task":
            parts = TaskCall(node.args)
            if not parts.readable or parts.function is None:
                self.block(node, "the arguments of create_task are not written out")
                return
            self._start(node, parts.function, partial(task_arguments, parts), parts.options, {}, False)
        elif verb in ("run", "create_actor") and node.args and not node.args[0].star and node.args[0].keyword is None:
            self._start_directly(node, verb)
        elif verb == "list_named_actors":
            self._rename(node, "ray.util.list_named_actors")
        elif verb == "close":
            self._rename(node, "ray.shutdown")
        elif verb == "resource_ids":
            self._devices(node)
        else:
            self.block(node, f"ctx.{verb} has no counterpart in Ray")

    def _attribute(self, node: cst.Attribute) -> None:
        parent = self.source.parent(node)
        called = isinstance(parent, cst.Call) and parent.func is node
        if called or isinstance(parent, cst.Attribute) or id(node) in self._contexts:
            return
        kind = self.kind(node)
        verb = context_verb(self.kinds, self.source, node)
        if verb == "namespace":
            self._contexts.add(id(node.value))
            self._consume_context(node.value)
            new_node = cst.Attribute(call("ray.get_runtime_context"), cst.Name("namespace"))
            self.site(node, lambda rewriter, new: new_node)
        elif verb in VERBS:
            self._contexts.add(id(node.value))
            self._consume_context(node.value)
            self.site(node, lambda rewriter, new: chain(f"ray.{verb}"))
        elif isinstance(kind, Method):
            self._handed_on(node, lambda rewriter: node.with_changes(value=rewriter.sub(node.value)))
