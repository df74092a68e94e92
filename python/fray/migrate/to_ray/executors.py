"""Moves `fray.Executor` to Ray, where its counterpart is the `Pool` of `ray.util.multiprocessing`."""

from __future__ import annotations

import libcst as cst

from fray.migrate.build import arg, call, dict_of, keyword, literal, named_arguments
from fray.migrate.ray_side import pool_variable, uses_of
from fray.migrate.sites import Build, Rewriter
from fray.migrate.source import Source, dotted
from fray.migrate.to_ray.finding import Finding

__all__ = ["move_executor"]

_ARGUMENTS = {"max_workers": "processes", "initializer": "initializer", "initargs": "initargs"}
_IMPORTS = ("import ray.util.multiprocessing",)
_WHAT = "Ray's Pool has what is taken at once: list(pool.map(...)), a loop over it, pool.submit(...).result()"


def move_executor(finds: Finding, node: cst.Call) -> None:
    """Make an Executor a Pool with all its uses; block it if one of the uses has no counterpart."""
    source = finds.source
    variable = pool_variable(source, node)
    arguments = named_arguments(node.args, tuple(_ARGUMENTS))
    calls = [] if variable is None else [_counterpart(source, use) for use in uses_of(source, variable)]
    if variable is None or arguments is None or not set(arguments) <= set(_ARGUMENTS) or None in calls:
        finds.block(node, "this Executor has no counterpart in Ray", _WHAT)
        return

    def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
        given = [keyword(_ARGUMENTS[name], rewriter.sub(value)) for name, value in arguments.items()]
        return call("ray.util.multiprocessing.Pool", given)

    finds.site(node, build, [node.func], True, _IMPORTS)
    for found in calls:
        if found is not None:
            finds.site(found[0], found[1], names_ray=False)
            finds.link(found[0], node)


def _counterpart(source: Source, use: cst.CSTNode) -> tuple[cst.CSTNode, Build] | None:
    """Return the node of a use of the pool, and the function that builds its counterpart; None if there is none."""
    method = source.parent(use)
    node = source.parent(method) if isinstance(method, cst.Attribute) and method.value is use else None
    if not isinstance(node, cst.Call) or not isinstance(method, cst.Attribute) or node.func is not method:
        return None
    if method.attr.value == "map":
        return _map(source, node, method.value)
    if method.attr.value == "submit":
        return _submit(source, node, method.value)
    return _shutdown(source, node, method.value) if method.attr.value == "shutdown" else None


def _map(source: Source, node: cst.Call, pool: cst.BaseExpression) -> tuple[cst.CSTNode, Build] | None:
    words = {item.keyword.value: item.value for item in node.args if item.keyword is not None}
    plain = [item for item in node.args if item.keyword is None]
    if len(plain) != 2 or plain[0].star or not set(words) <= {"chunksize"}:
        return None
    items, verb = plain[1].value, "map"
    if plain[1].star:  # pool.map(f, *zip(*pairs))
        if not isinstance(items, cst.Call) or dotted(items.func) != "zip":
            return None
        if len(items.args) != 1 or not items.args[0].star:
            return None
        items, verb = items.args[0].value, "starmap"
    parent = source.parent(node)
    around = source.parent(parent) if isinstance(parent, cst.Arg) else None
    in_list = isinstance(around, cst.Call) and dotted(around.func) == "list" and len(around.args) == 1
    taken = isinstance(parent, (cst.For, cst.Arg)) or (
        isinstance(parent, cst.CompFor) and not isinstance(source.parent(parent), cst.GeneratorExp)
    )
    if not taken or (verb == "starmap" and not in_list):
        return None  # the iterator of results may outlive the pool

    def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
        given = [arg(rewriter.sub(plain[0].value)), arg(rewriter.sub(items))]
        given += [keyword(name, rewriter.sub(value)) for name, value in words.items()]
        return call(cst.Attribute(pool, cst.Name(verb if in_list else "imap")), given)

    return (around if in_list and around is not None else node), build


def _submit(source: Source, node: cst.Call, pool: cst.BaseExpression) -> tuple[cst.CSTNode, Build] | None:
    method = source.parent(node)
    gotten = source.parent(method) if isinstance(method, cst.Attribute) and method.attr.value == "result" else None
    if not isinstance(gotten, cst.Call) or gotten.func is not method or gotten.args:
        return None
    if not node.args or node.args[0].star or node.args[0].keyword is not None:
        return None
    rest = node.args[1:]
    words = [item for item in rest if item.keyword is not None or item.star == "**"]
    if len(words) > 1 and any(item.star for item in words):
        return None

    def build(rewriter: Rewriter, new: cst.CSTNode) -> cst.CSTNode:
        given = [arg(rewriter.sub(node.args[0].value))]
        plain = [item for item in rest if item.keyword is None and item.star != "**"]
        if len(plain) == 1 and plain[0].star:
            given.append(arg(rewriter.sub(plain[0].value)))
        elif plain:
            elements = [
                cst.StarredElement(rewriter.sub(item.value)) if item.star else cst.Element(rewriter.sub(item.value))
                for item in plain
            ]
            if len(elements) == 1:
                elements = [elements[0].with_changes(comma=cst.Comma())]
            given.append(arg(cst.Tuple(elements)))
        if len(words) == 1 and words[0].star:
            given.append(keyword("kwargs", rewriter.sub(words[0].value)))
        elif words:
            named = [(item.keyword.value, rewriter.sub(item.value)) for item in words if item.keyword is not None]
            given.append(keyword("kwargs", dict_of(named)))
        return call(cst.Attribute(pool, cst.Name("apply")), given)

    return gotten, build


def _shutdown(source: Source, node: cst.Call, pool: cst.BaseExpression) -> tuple[cst.CSTNode, Build] | None:
    """Return the counterpart of ``shutdown``: ``close()``, ``terminate()``, or a ``join()`` after one of these."""
    given = named_arguments(node.args, ("wait", "cancel_futures"))
    if given is None or not isinstance(source.parent(node), cst.Expr):
        return None
    values = {name: literal(value) for name, value in given.items()}
    waits, cancels = values.get("wait", True), values.get("cancel_futures", False)
    if waits is True and cancels is False:
        name = "join" if _was_closed(source, node, pool) else ""
    else:
        name = "" if waits is not False else "terminate" if cancels is True else "close" if cancels is False else ""
    return (node, lambda rewriter, new: call(cst.Attribute(pool, cst.Name(name)))) if name else None


def _was_closed(source: Source, node: cst.Call, pool: cst.BaseExpression) -> bool:
    """Return whether another `shutdown` of the same pool stands above this one, in the same block."""
    line = source.parent(source.parent(node) or node)
    block = source.parent(line) if line is not None else None
    if not isinstance(block, (cst.IndentedBlock, cst.Module)) or not isinstance(pool, cst.Name):
        return False
    above = block.body[: next(number for number, item in enumerate(block.body) if item is line)]
    return any(source.code(item).strip().startswith(f"{pool.value}.shutdown(wait=False") for item in above)
