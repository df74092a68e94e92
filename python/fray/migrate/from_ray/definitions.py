"""Moves decorated functions and classes, and the decorators of their methods."""

from __future__ import annotations

import libcst as cst

from fray.migrate.build import assign, comments, literal
from fray.migrate.from_ray.constants import is_global
from fray.migrate.from_ray.finding import Finding
from fray.migrate.options import option_keywords, options_value
from fray.migrate.ray_api import Reason
from fray.migrate.ray_side import decorator_of, ray_name, split_options
from fray.migrate.sites import Rewriter

__all__ = ["Definitions", "without_decorator"]


_SYSTEM_EXIT = Reason(
    "sys.exit ends the worker on Ray, and is an error of the call on Fray", "call os._exit, or raise an error"
)


class Definitions(Finding):
    """Finds the decorators ``@ray.remote`` and ``@ray.method``."""

    def _definition(self, node: cst.FunctionDef | cst.ClassDef) -> None:
        self._method_decorator(node)
        definition = self.kinds.definition(self.source, node)
        if definition is None:
            return
        decorator = decorator_of(self.source, node)
        assert decorator is not None
        called = decorator.decorator
        used = called.func if isinstance(called, cst.Call) else called
        self._consumed.add(id(used))
        if definition.dynamic:
            self.block(decorator, Reason("these options are made while the program runs", "write them out"))
            return
        if node.decorators[0] is not decorator:
            self.block(
                decorator, Reason("another decorator is around ray.remote", "make ray.remote the outermost decorator")
            )
            return
        if isinstance(self.source.parent(self.source.parent(node) or node), cst.ClassDef):
            self.block(decorator, Reason("a remote function inside of a class has no counterpart", "move it out"))
            return
        if isinstance(node, cst.FunctionDef) and node.asynchronous is not None:
            self.block(decorator, Reason("Ray takes no async function as a task", "make it an actor's method"))
            return
        if definition.is_actor and any(_is_async_constructor(item) for item in node.body.body):
            self.block(decorator, Reason("a constructor that is awaited has no counterpart", "await it in a method"))
            return
        if not self._convertible(definition.options, definition.is_actor, self.source, decorator):
            return

        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode | cst.FlattenSentinel[cst.BaseStatement]:
            assert isinstance(new, (cst.FunctionDef, cst.ClassDef))
            bare = without_decorator(new, 0)
            if not self.constants.is_named(definition):
                return bare
            lines = bare.leading_lines
            found = option_keywords(definition.options, definition.is_actor, self.kinds, self.source, rewriter.sub)
            constant = assign(self.constants.name(definition), options_value(found, definition.is_actor), lines)
            blank = [cst.EmptyLine(indent=False)] * (2 if is_global(definition) else 1)
            return cst.FlattenSentinel([constant, bare.with_changes(leading_lines=blank)])

        self.site(node, build, [used], names_fray=False)
        self.found.sites[-1].may_name_fray = lambda: self.constants.is_named(definition)

    def _exit(self, node: cst.Call | cst.Raise) -> None:
        """Hold what ends its worker by SystemExit, which is an error of the call and no more on Fray."""
        for around in self.source.ancestors(node):
            if isinstance(around, (cst.FunctionDef, cst.ClassDef)) and self.kinds.definition(self.source, around):
                self.block(node, _SYSTEM_EXIT)
                self.found.links.append((node, around))

    def _method_decorator(self, node: cst.FunctionDef | cst.ClassDef) -> None:
        for index, decorator in enumerate(node.decorators):
            called = decorator.decorator
            used = called.func if isinstance(called, cst.Call) else called
            if ray_name(self.source, used) != "ray.method":
                continue
            self._consumed.add(id(used))
            options = split_options(self.source, called.args)[0] if isinstance(called, cst.Call) else {}
            if any(name != "num_returns" or not isinstance(literal(value), int) for name, value in options.items()):
                self.block(decorator, Reason("these options of a method have no counterpart", "give them at the calls"))
                continue

            def build(rewriter: Rewriter, new: cst.CSTNode, index: int = index) -> cst.CSTNode:
                assert isinstance(new, cst.FunctionDef)
                return without_decorator(new, index)

            self.site(node, build, [used], names_fray=False)


def _is_async_constructor(item: cst.CSTNode) -> bool:
    return isinstance(item, cst.FunctionDef) and item.name.value == "__init__" and item.asynchronous is not None


def without_decorator(node: cst.FunctionDef | cst.ClassDef, index: int) -> cst.FunctionDef | cst.ClassDef:
    """Return a definition without one of its decorators; the comments of the decorator stay above the definition."""
    removed = node.decorators[index]
    rest = [item for number, item in enumerate(node.decorators) if number != index]
    lines = [*node.leading_lines, *removed.leading_lines]
    inside = comments(removed)
    for line in removed.leading_lines:
        inside -= comments(line)
    lines += [cst.EmptyLine(comment=cst.Comment(text)) for text in inside.elements()]
    if not rest:
        return node.with_changes(
            decorators=[], leading_lines=[*lines, *node.lines_after_decorators], lines_after_decorators=[]
        )
    return node.with_changes(decorators=rest, leading_lines=lines)
