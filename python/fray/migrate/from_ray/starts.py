"""Moves what starts tasks and actors: `ray.remote(x)`, `x.options(...)` and `x.remote(...)`."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from fray.migrate.build import assign, keyword, literal
from fray.migrate.from_ray.call_options import CallOptionsOf
from fray.migrate.from_ray.calls import actor_call, task_call
from fray.migrate.kinds import Definition, Remote
from fray.migrate.options import StaysError, option_keywords, options_value
from fray.migrate.ray_api import Reason
from fray.migrate.sites import Rewriter

__all__ = ["Starts", "start_target"]


class Starts(CallOptionsOf):
    """Finds the expressions that start tasks and actors."""

    def _wrapping(self, node: cst.Call, used: cst.BaseExpression) -> None:
        kind = self.kind(node)
        self._consumed.add(id(used))
        if not isinstance(kind, Remote) or kind.definition is None:
            self.block(node, Reason("what becomes remote here is not known", "give ray.remote a function or a class"))
            return
        if kind.definition.dynamic:
            self.block(node, Reason("these options are made while the program runs", "write them out"))
            return
        if isinstance(self.kind(node.args[0].value), Remote) and kind.definition.plain is None:
            self.block(node, Reason("this is remote already", "leave ray.remote out"))
            return
        if not self._convertible(kind.definition.options, kind.is_actor, self.source, node):
            return
        self.site(node, lambda rewriter, new: rewriter.sub(node.args[0].value), [used], names_fray=False)
        self._named_options(node, kind.definition)

    def _options(self, node: cst.Call, base: cst.BaseExpression) -> None:
        kind = self.kind(node)
        parent = self.source.parent(node)
        started = isinstance(parent, cst.Attribute) and parent.attr.value in ("remote", "_remote")
        if started or not isinstance(kind, Remote) or kind.definition is None:
            return  # handled with the call of remote, or not Ray's
        if kind.definition.dynamic:
            self.block(node, Reason("these options are made while the program runs", "write them out"))
            return
        if not self._convertible(kind.definition.options, kind.is_actor, self.source, node):
            return
        self.site(node, lambda rewriter, new: rewriter.sub(base), names_fray=False)
        self._named_options(node, kind.definition)

    def _named_options(self, node: cst.Call, definition: Definition) -> None:
        """Replace ``name = f.options(...)`` by a constant that holds the options."""
        line = self.source.statement_of(node)
        if definition.name is None or not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
            return

        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode | cst.FlattenSentinel[cst.BaseStatement]:
            assert isinstance(new, cst.SimpleStatementLine)
            statement = new.body[0]
            itself = (
                isinstance(statement, cst.Assign)
                and isinstance(statement.value, cst.Name)
                and statement.value.value == definition.name
            )
            if not self.constants.is_named(definition):
                nothing: list[cst.BaseStatement] = []
                return cst.FlattenSentinel(nothing) if itself else new
            options = definition.merged()
            found = option_keywords(options, definition.is_actor, self.kinds, self.source, rewriter.sub)
            constant = assign(self.constants.name(definition), options_value(found, definition.is_actor))
            constant = constant.with_changes(leading_lines=new.leading_lines)
            if itself:
                return constant
            return cst.FlattenSentinel([constant, new.with_changes(leading_lines=[])])

        self.site(line, build, names_fray=False)
        self.found.sites[-1].may_name_fray = lambda: self.constants.is_named(definition)
        self.found.links.append((line, node))

    def _start(self, node: cst.Call, receiver: cst.BaseExpression, kind: Remote, verb: str) -> None:
        definition = kind.definition
        if definition is not None and any(layer.dynamic for layer in definition.layers()):
            self.block(node, Reason("these options are made while the program runs", "write them out"))
            return
        args: Sequence[cst.Arg] = node.args
        if verb == "_remote":
            unpacked = _unpack_private(node.args)
            if unpacked is None:
                self.block(node, Reason("_remote with these arguments has no counterpart", "call options and remote"))
                return
            args = unpacked
        target = start_target(receiver)
        try:
            options = self._call_options(node, target, definition, kind.is_actor)
        except StaysError as error:
            self.block(node, error.reason)
            return
        names = [item.keyword.value for item in args if item.keyword is not None]
        if kind.is_actor and "options" in names:
            self.block(node, Reason("create_actor has an argument called options", "give it by position"))
            return

        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            function = rewriter.sub(target)
            context = rewriter.context(node)
            new_args = [rewriter.sub_arg(item) for item in args]
            value = options(rewriter)
            if kind.is_actor:
                return actor_call(context, node, function, new_args, value)
            return task_call(context, node, function, new_args, value)

        self.site(node, build, context=True, imports=options.imports, prepare=options.prepare)
        self._link_definition(node, definition)


def start_target(receiver: cst.BaseExpression) -> cst.BaseExpression:
    """Return ``f`` for ``f.options(...)``, and any other expression as it is."""
    inner = receiver.func if isinstance(receiver, cst.Call) else None
    if isinstance(inner, cst.Attribute) and inner.attr.value == "options":
        return start_target(inner.value)
    return receiver


def _unpack_private(args: Sequence[cst.Arg]) -> list[cst.Arg] | None:
    """Return the arguments that ``f._remote(args=[...], kwargs={...})`` passes on; None if they cannot be read."""
    found: list[cst.Arg] = []
    for number, item in enumerate(args):
        name = item.keyword.value if item.keyword else ("args", "kwargs")[number] if number < 2 else ""
        if name == "args" and isinstance(item.value, (cst.List, cst.Tuple)):
            found += [cst.Arg(element.value) for element in item.value.elements]
        elif name == "kwargs" and isinstance(item.value, cst.Dict):
            for element in item.value.elements:
                key = literal(element.key) if isinstance(element, cst.DictElement) else None
                if not isinstance(key, str):
                    return None
                found.append(keyword(key, element.value))
        else:
            return None
    return found
