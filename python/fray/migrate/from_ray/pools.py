"""Moves pools and queues of `ray.util`: `Pool` becomes `fray.Executor`, the others classes with the same methods."""

from __future__ import annotations

import libcst as cst

from fray.migrate.build import arg, call, chain, keyword, named_arguments
from fray.migrate.from_ray.finding import Finding
from fray.migrate.ray_api import SAME, Reason
from fray.migrate.ray_side import pool_variable, uses_of
from fray.migrate.sites import Build, Rewriter

__all__ = ["POOLS", "Pools"]

POOLS = ("ray.util.multiprocessing.Pool", "ray.util.multiprocessing.pool.Pool")
_ARGUMENTS = {"processes": "max_workers", "initializer": "initializer", "initargs": "initargs"}
_MAPS = ("map", "imap", "imap_unordered", "starmap")
_ENDS = {"close": {"wait": "False"}, "join": {}, "terminate": {"wait": "False", "cancel_futures": "True"}}
_STAYS = Reason("this Pool has no counterpart", "fray.Executor has map and submit, whose futures have result()")


_OPTIONS_STAY = Reason("actor_options of a Queue have no counterpart", "give fray.ActorQueue an fray.ActorOptions")


class Pools(Finding):
    """Finds pools and queues; a pool moves if all its uses have a counterpart."""

    def _same(self, node: cst.Call, name: str) -> None:
        """Move the constructor of an ActorPool or a Queue; calls of its methods stay as they are."""
        self._consumed.add(id(node.func))
        given = named_arguments(node.args, ("maxsize", "actor_options"))
        if SAME[name] == "fray.ActorQueue" and (given is None or "actor_options" in given):
            self.block(node, _OPTIONS_STAY)
            return

        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            return node.with_changes(func=chain(SAME[name]), args=[rewriter.sub_arg(item) for item in node.args])

        self.site(node, build, [node.func])

    def _pool(self, node: cst.Call) -> None:
        self._consumed.add(id(node.func))
        variable = pool_variable(self.source, node)
        arguments = named_arguments(node.args, tuple(_ARGUMENTS))
        calls = [] if variable is None else [self._pool_call(use) for use in uses_of(self.source, variable)]
        if variable is None or arguments is None or not set(arguments) <= set(_ARGUMENTS) or None in calls:
            self.block(node, _STAYS)
            return

        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            given = [keyword(_ARGUMENTS[name], rewriter.sub(value)) for name, value in arguments.items()]
            return call("fray.Executor", given)

        self.site(node, build, [node.func])
        for found in calls:
            if found is not None:
                self.site(found[0], found[1], names_fray=False)
                self.found.links.append((found[0], node))

    def _pool_call(self, use: cst.CSTNode) -> tuple[cst.Call, Build] | None:
        """Return a call of a pool's method and the function that builds its counterpart; None if there is none."""
        method = self.source.parent(use)
        node = self._called_by(method) if isinstance(method, cst.Attribute) and method.value is use else None
        if node is None or not isinstance(method, cst.Attribute):
            return None
        verb = method.attr.value
        alone = isinstance(self.source.parent(node), cst.Expr)
        if verb in _ENDS and not node.args and alone:
            words = [keyword(name, cst.Name(value)) for name, value in _ENDS[verb].items()]
            return node, lambda rewriter, new: call(cst.Attribute(method.value, cst.Name("shutdown")), words)
        if verb in _MAPS:
            return self._map_call(node, method.value, verb)
        return self._apply_call(node, method.value) if verb == "apply" else None

    def _map_call(self, node: cst.Call, pool: cst.BaseExpression, verb: str) -> tuple[cst.Call, Build] | None:
        given = named_arguments(node.args, ("func", "iterable", "chunksize"))
        if given is None or not {"func", "iterable"} <= set(given) <= {"func", "iterable", "chunksize"}:
            return None

        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            items = arg(rewriter.sub(given["iterable"]))
            if verb == "starmap":
                items = cst.Arg(call("zip", [cst.Arg(items.value, star="*")]), star="*")
            words = [keyword("chunksize", rewriter.sub(given["chunksize"]))] if "chunksize" in given else []
            mapped = call(cst.Attribute(pool, cst.Name("map")), [arg(rewriter.sub(given["func"])), items, *words])
            return call("list", [arg(mapped)]) if verb in ("map", "starmap") else mapped

        return node, build

    def _apply_call(self, node: cst.Call, pool: cst.BaseExpression) -> tuple[cst.Call, Build] | None:
        given = named_arguments(node.args, ("func", "args", "kwargs"))
        if given is None or "func" not in given or not set(given) <= {"func", "args", "kwargs"}:
            return None

        def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
            args = [arg(rewriter.sub(given["func"]))]
            if "args" in given:
                args.append(cst.Arg(rewriter.sub(given["args"]), star="*"))
            if "kwargs" in given:
                args.append(cst.Arg(rewriter.sub(given["kwargs"]), star="**"))
            future = call(cst.Attribute(pool, cst.Name("submit")), args)
            return call(cst.Attribute(future, cst.Name("result")))

        return node, build
