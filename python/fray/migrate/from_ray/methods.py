"""Moves calls of the methods of actors."""

from __future__ import annotations

import libcst as cst

from fray.migrate.build import arg, call, keyword, literal
from fray.migrate.from_ray.finding import Finding
from fray.migrate.kinds import Method, Remote, methods_of
from fray.migrate.ray_api import Reason
from fray.migrate.ray_side import ray_name, split_options
from fray.migrate.sites import Build, Rewriter
from fray.migrate.source import Source

__all__ = ["Methods"]


class Methods(Finding):
    """Finds calls of the methods of actors."""

    def _method(self, node: cst.Call, receiver: cst.BaseExpression, kind: Method) -> None:
        if kind.name.startswith("_"):
            self.block(node, _private_method(kind.name))
            return
        bound = receiver
        options: dict[str, cst.BaseExpression] = {}
        if isinstance(receiver, cst.Call) and isinstance(receiver.func, cst.Attribute):
            bound = receiver.func.value
            options, dynamic = split_options(self.source, receiver.args)
            if dynamic or any(name not in ("num_returns", "name") for name in options):
                self.block(node, Reason("these options of a call have no counterpart", "num_returns and name have"))
                return
        if "num_returns" not in options:
            returns = self._declared_returns(kind)
            if returns is NotImplemented:
                self.block(node, Reason(f"methods called {kind.name} return different numbers of refs", "rename one"))
                return
            if isinstance(returns, int) and returns != 1:
                options = {"num_returns": cst.Integer(str(returns)), **options}
        asked = literal(options.get("num_returns"))
        if asked == "streaming":  # a method that yields streams here without being asked
            del options["num_returns"]
        elif isinstance(asked, str):
            self.block(node, Reason("this num_returns has no counterpart", "yield the values"))
            return

        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            method = rewriter.sub(bound)
            if options:
                given = [keyword(name, rewriter.sub(value)) for name, value in options.items()]
                method = call(cst.Attribute(method, cst.Name("options")), given)
            return node.with_changes(func=method, args=[rewriter.sub_arg(item) for item in node.args])

        self.site(node, build, names_fray=False)
        self._link_method(node, kind)

    def _link_method(self, node: cst.CSTNode, kind: Method) -> None:
        """Link a call with the class of its actor, or with all classes that the actor may be of."""
        if kind.definition is not None:
            self._link_definition(node, kind.definition)
            return
        for definition in self.kinds.definitions():
            plain = definition.plain
            if definition.is_actor and isinstance(plain, cst.ClassDef) and kind.name in methods_of(plain):
                self._link_definition(node, definition)

    def _declared_returns(self, kind: Method) -> object:
        """Return the num_returns of the method's decorator: None without one, NotImplemented if classes disagree."""
        if kind.definition is not None:
            definitions = [kind.definition]
        else:
            definitions = [item for item in self.kinds.definitions() if item.is_actor]
        found: set[object] = set()
        for definition in definitions:
            plain = definition.plain
            if not isinstance(plain, cst.ClassDef) or kind.name not in methods_of(plain):
                continue
            for item in plain.body.body:
                if isinstance(item, cst.FunctionDef) and item.name.value == kind.name:
                    found.add(self._returns_of(definition.plain_source or self.source, item))
        if len(found) > 1:
            return NotImplemented
        return next(iter(found), None)

    @staticmethod
    def _returns_of(source: Source, node: cst.FunctionDef) -> object:
        for decorator in node.decorators:
            called = decorator.decorator
            if isinstance(called, cst.Call) and ray_name(source, called.func) == "ray.method":
                return literal(split_options(source, called.args)[0].get("num_returns", cst.Integer("1")))
        return 1

    def _bound(self, node: cst.Attribute) -> None:
        """Handle ``x.remote`` that is used as a value, not called, and ``x._function``."""
        kind = self.kind(node.value)
        verb = node.attr.value
        if verb == "_function" and isinstance(kind, Remote) and not kind.is_actor:
            self.site(node, lambda rewriter, new: rewriter.sub(node.value), names_fray=False)
        elif verb != "remote":
            return
        elif isinstance(kind, Method) and not kind.name.startswith("_") and self._declared_returns(kind) in (None, 1):
            self.site(node, lambda rewriter, new: rewriter.sub(node.value), names_fray=False)
            self._link_method(node, kind)
        elif isinstance(kind, Remote) and kind.definition is not None and not kind.definition.merged():
            if kind.is_actor or any(layer.dynamic for layer in kind.definition.layers()):
                self.block(node, Reason("a class that is handed on as its .remote has no counterpart", "use a lambda"))
                return
            self.site(node, self._partial(node), context=True, imports=("import functools",))
            self._link_definition(node, kind.definition)
        elif isinstance(kind, (Remote, Method)):
            self.block(node, Reason("a call with options is handed on as a value", "write a function around it"))

    def _partial(self, node: cst.Attribute) -> Build:
        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            run = cst.Attribute(rewriter.context(node), cst.Name("run"))
            return call("functools.partial", [arg(run), arg(rewriter.sub(node.value))])

        return build


def _private_method(name: str) -> Reason:
    if name == "__ray_ready__":
        return Reason("__ray_ready__ has no counterpart", "call a method of the class that returns at once")
    if name == "__ray_terminate__":
        return Reason("__ray_terminate__ has no counterpart", "call ctx.kill(actor)")
    return Reason(f"{name} is private, and only public methods of an actor can be called", "rename it")
