"""Moves names of Ray that are not called: types, exceptions, functions that are passed as values."""

from __future__ import annotations

import libcst as cst

from fray.migrate.build import arg, call, chain
from fray.migrate.from_ray.finding import VERBS, Finding
from fray.migrate.ray_api import EXCEPTIONS, SAME, TYPES, Reason, reason_for
from fray.migrate.ray_side import PACKAGES
from fray.migrate.sites import Build, Rewriter
from fray.migrate.source import dotted
from fray.migrate.text_annotations import find_text_annotations

__all__ = ["Names"]


class Names(Finding):
    """Finds names of Ray that are not part of a call."""

    def _reference(self, node: cst.CSTNode, name: str) -> None:
        """Handle a name of Ray that is not part of a site or blocker."""
        parent = self.source.parent(node)
        short = name.removeprefix("ray.exceptions.")
        if name in TYPES:
            self._type(node, name, parent)
        elif name in SAME:
            self.site(node, lambda rewriter, new: chain(SAME[name]), [node])
        elif short in EXCEPTIONS:
            self.site(node, lambda rewriter, new: chain(f"fray.{EXCEPTIONS[short]}"), [node])
        elif short in ("RayTaskError", "RayError"):
            self._any_error(node, short)
        elif name.removeprefix("ray.") in VERBS:
            self._verb_as_value(node, name.removeprefix("ray."))
        elif name.endswith(".RemoteFunction"):
            self._remote_function(node, parent)
        elif name == "ray.is_initialized":
            imports = ("from fray.job.current import existing_job_context",)
            self.site(
                node, lambda rewriter, new: cst.Name("existing_job_context"), [node], False, False, imports, "asks"
            )
        elif name == "ray":
            self.block(node, Reason("the module ray is used as a value", "name what is used of it"))
        else:
            self.block(node, reason_for(name))

    def _type(self, node: cst.CSTNode, name: str, parent: cst.CSTNode | None) -> None:
        new_name = TYPES[name]
        if isinstance(parent, cst.Call) and parent.func is node:
            self.block(parent, Reason(f"{name} cannot be made by hand", "hand the ref itself on"))
        elif isinstance(parent, cst.Subscript) and parent.value is node and new_name == "ActorHandle":
            self.site(parent, lambda rewriter, new: chain("fray.ActorHandle"), [node])
        elif isinstance(parent, cst.Subscript) and parent.value is node:
            slices = parent.slice[:1]
            self.site(
                parent,
                lambda rewriter, new: parent.with_changes(
                    value=chain(f"fray.{new_name}"), slice=[_sub_slice(rewriter, item) for item in slices]
                ),
                [node],
            )
        else:
            self.site(node, lambda rewriter, new: chain(f"fray.{new_name}"), [node])

    def _text_annotations(self) -> None:
        find_text_annotations(
            self.found,
            PACKAGES,
            lambda name: f"fray.{TYPES[short]}" if (short := name.removeprefix("fray.")) in TYPES else None,
            lambda name: reason_for(name.removeprefix("fray.")),
        )

    def _remote_function(self, node: cst.CSTNode, parent: cst.CSTNode | None) -> None:
        """Move ``isinstance(f, ray.remote_function.RemoteFunction)``, and annotations with this type."""
        holder = self.source.parent(parent) if parent is not None else None
        if isinstance(parent, cst.BinaryOperation) and self._is_annotation(node):
            other = parent.left if parent.right is node else parent.right
            self.site(parent, lambda rewriter, new: rewriter.sub(other), [node], names_fray=False)
        elif isinstance(holder, cst.Call) and dotted(holder.func) == "isinstance" and len(holder.args) == 2:
            first = holder.args[0].value

            def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
                return call("hasattr", [arg(rewriter.sub(first)), arg(cst.SimpleString('"_function"'))])

            self.site(holder, build, [node], names_fray=False)
        else:
            self.block(node, Reason("Ray's type of remote functions has no counterpart", "functions stay functions"))

    def _verb_as_value(self, node: cst.CSTNode, verb: str) -> None:
        """Move ``get = ray.get``; as a lambda at the top of a module, which may run before the engine starts."""
        starts = [site.node for site in self.found.sites if site.role == "init"]
        if self.source.function_of(node) is None and all(self.source.function_of(start) for start in starts):
            text = f"lambda *args, **kwargs: fray.get_job_context().{verb}(*args, **kwargs)"
            self.site(node, lambda rewriter, new: cst.parse_expression(text), [node])
            return
        build: Build = lambda rewriter, new: cst.Attribute(rewriter.context(node), cst.Name(verb))  # noqa: E731
        self.site(node, build, [node], context=True)

    def _any_error(self, node: cst.CSTNode, short: str) -> None:
        """Move ``except RayTaskError``: with Fray, the exception of the task itself arrives."""
        parent = self.source.parent(node)
        handler = next((item for item in self.source.ancestors(node) if isinstance(item, cst.ExceptHandler)), None)
        asserted = isinstance(parent, cst.Arg) and dotted(getattr(self.source.parent(parent), "func", None)) in (
            "pytest.raises",
            "self.assertRaises",
        )
        if handler is not None and handler.type is not None and _contains(handler.type, node):
            around = self.source.parent(handler)
            if isinstance(around, cst.Try) and around.handlers[-1] is handler:
                self.site(node, lambda rewriter, new: cst.Name("Exception"), [node], names_fray=False)
                if id(handler) not in self._ended_handlers:
                    self._ended_handlers.add(id(handler))
                    self._causes(handler)
                return
        elif asserted:
            self.site(node, lambda rewriter, new: cst.Name("Exception"), [node], names_fray=False)
            return
        self.block(
            node,
            Reason(f"{short} has no counterpart, for a task's own exception arrives", "catch that, or Exception last"),
        )

    def _causes(self, handler: cst.ExceptHandler) -> None:
        """Replace ``error.cause`` inside of a handler by ``error``, which is the exception of the task here."""
        target = handler.name.name if handler.name is not None else None
        if not isinstance(target, cst.Name):
            return
        for node in self.source.nodes():
            if not isinstance(node, cst.Attribute) or dotted(node.value) != target.value:
                continue
            if not any(item is handler.body for item in self.source.ancestors(node)):
                continue
            called = self._called_by(node)
            if node.attr.value == "as_instanceof_cause" and called is not None:
                self.site(called, lambda rewriter, new, node=node: node.value, names_fray=False)
            elif node.attr.value == "cause":
                self.site(node, lambda rewriter, new, node=node: node.value, names_fray=False)


def _sub_slice(rewriter: Rewriter, item: cst.SubscriptElement) -> cst.SubscriptElement:
    if isinstance(item.slice, cst.Index):
        return item.with_changes(slice=item.slice.with_changes(value=rewriter.sub(item.slice.value)))
    return item


def _contains(node: cst.CSTNode, part: cst.CSTNode) -> bool:
    return node is part or any(_contains(child, part) for child in node.children)
