"""Moves what starts tasks and actors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import libcst as cst

from fray.migrate.build import arg, call, dict_of, keyword
from fray.migrate.fray_side import context_verb
from fray.migrate.kinds import Function, Instance, Kind, PlainClass
from fray.migrate.sites import Rewriter
from fray.migrate.source import dotted
from fray.migrate.to_ray.facts import Facts
from fray.migrate.to_ray.finding import Finding
from fray.migrate.to_ray.options import NoRayError, options_of_ray
from fray.migrate.to_ray.task_arguments import with_commas

__all__ = ["Starts"]

_Args: TypeAlias = Callable[[Rewriter], list[cst.Arg]]
"""Returns the new arguments of a call."""
_OWN = ("options", "name", "get_if_exists", "lifetime", "preemptible", "num_cpus")
"""Keywords of `create_actor` that are no arguments of the constructor."""


class Starts(Finding):
    """Finds calls that start tasks and actors."""

    def _start_directly(self, node: cst.Call, verb: str) -> None:
        own = {
            item.keyword.value: item.value
            for item in node.args
            if item.keyword is not None and (item.keyword.value in _OWN if verb == "create_actor" else False)
        }
        options = own.pop("options", None)
        if options is not None and own:
            own = {}  # these keywords are arguments of the constructor
        if verb == "run" and any(item.keyword is not None and item.keyword.value == "name" for item in node.args):
            self.block(node, "run with a name may mean the task or the function", "use create_task")
            return
        rest = [item for item in node.args[1:] if not (item.keyword and item.keyword.value in (*own, "options"))]
        self._start(
            node,
            node.args[0].value,
            lambda rewriter: [rewriter.sub_arg(item) for item in rest],
            options,
            own,
            verb == "create_actor",
        )

    def _start(
        self,
        node: cst.Call,
        function: cst.BaseExpression,
        args: _Args,
        options: cst.BaseExpression | None,
        own: dict[str, cst.BaseExpression],
        is_actor: bool,
    ) -> None:
        used: list[cst.CSTNode] = []
        try:
            options_of_ray(self.source, options, own, is_actor, lambda part: part, used)
        except NoRayError as error:
            self.block(node, str(error))
            return

        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            found, unpacked = options_of_ray(self.source, options, own, is_actor, rewriter.sub, [])
            remote = self._remote_of(rewriter, function, found, is_actor)
            found.pop("max_calls", None)
            given = [keyword(name, value) for name, value in found.items()]
            if unpacked is not None and found:
                both = [cst.StarredDictElement(unpacked), *dict_of(found.items()).elements]
                given = [cst.Arg(cst.Dict(both), star="**")]
            elif unpacked is not None:
                given = [cst.Arg(unpacked, star="**")]
            if given:
                remote = call(cst.Attribute(remote, cst.Name("options")), given)
            started = cst.Attribute(remote, cst.Name("remote"))
            return cst.Call(started, with_commas(args(rewriter)), lpar=node.lpar, rpar=node.rpar)

        self.site(node, build, used)
        self._link(node, function)

    def _partial(self, node: cst.Call) -> None:
        first = node.args[0].value
        if context_verb(self.kinds, self.source, first) != "run" or not isinstance(first, cst.Attribute):
            return
        function = node.args[1].value
        self._contexts.add(id(first.value))
        self._contexts.add(id(first))
        self._consume_context(first.value)

        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            remote = self._remote_of(rewriter, function, {}, is_actor=False)
            started = cst.Attribute(remote, cst.Name("remote"))
            rest = [rewriter.sub_arg(item) for item in node.args[2:]]
            return started if not rest else node.with_changes(args=[arg(started), *rest])

        self.site(node, build)
        self._link(node, function)

    def _remote_of(
        self,
        rewriter: Rewriter,
        function: cst.BaseExpression,
        options: dict[str, cst.BaseExpression],
        is_actor: bool,
    ) -> cst.BaseExpression:
        kind = self.kind(function)
        new = rewriter.sub(function)
        if not is_actor and self._may_be_no_function(function, kind):
            new = _called_in_a_function(new)
        if "max_calls" in options:
            return call(call("ray.remote", [keyword("max_calls", options["max_calls"])]), [arg(new)])
        node = kind.node if isinstance(kind, (Function, PlainClass)) else None
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)) and id(node) in Facts.of(self.kinds).decorated:
            return new
        return call("ray.remote", [arg(new)])

    def _may_be_no_function(self, node: cst.BaseExpression, kind: Kind) -> bool:
        """Return whether `node` may be a builtin, a partial or a bound method: Ray takes functions of Python only."""
        is_method = isinstance(node, cst.Attribute) and isinstance(self.kind(node.value), (Instance, PlainClass))
        return is_method or not isinstance(kind, Function)

    def _link(self, node: cst.CSTNode, function: cst.BaseExpression) -> None:
        kind = self.kind(function)
        if isinstance(kind, (Function, PlainClass)):
            self.found.links.append((node, kind.node))


def _called_in_a_function(node: cst.BaseExpression) -> cst.Lambda:
    """Return a function that calls what `node` stands for."""
    name = dotted(node)
    by_name = name is not None and name.split(".")[0] not in ("args", "kwargs")
    made = cst.parse_expression(f"lambda *args, {'' if by_name else '_call=0, '}**kwargs: _call(*args, **kwargs)")
    assert isinstance(made, cst.Lambda) and isinstance(made.body, cst.Call)
    if by_name:
        return made.with_changes(body=made.body.with_changes(func=node))
    given = made.params.kwonly_params[0].with_changes(default=node)
    return made.with_changes(params=made.params.with_changes(kwonly_params=[given]))
