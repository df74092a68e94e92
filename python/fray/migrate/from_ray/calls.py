"""Builds the calls of a context that replace `.remote(...)`."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from fray.migrate.build import arg, call, dict_of, keyword

__all__ = ["actor_call", "task_call"]

_CREATE_ACTOR_OWN = ("name", "get_if_exists", "lifetime", "preemptible", "num_cpus")


def task_call(
    context: cst.BaseExpression,
    node: cst.Call,
    function: cst.BaseExpression,
    args: Sequence[cst.Arg],
    options: cst.BaseExpression | None,
) -> cst.Call:
    """Return ``ctx.create_task(function, (a, b), {"k": v}, options=options)``."""
    positional = [item for item in args if item.keyword is None and item.star != "**"]
    named = [item for item in args if item.keyword is not None or item.star == "**"]
    given = [arg(function)]
    if positional:
        given.append(arg(_as_tuple(node, positional, not named)))
    if named:
        value = _as_dict(named)
        given.append(arg(value) if positional else keyword("kwargs", value))
    if options is not None:
        given.append(keyword("options", options))
    return cst.Call(cst.Attribute(context, cst.Name("create_task")), given, lpar=node.lpar, rpar=node.rpar)


def _as_tuple(node: cst.Call, args: Sequence[cst.Arg], whole: bool) -> cst.Tuple:
    elements: list[cst.BaseElement] = []
    for number, item in enumerate(args):
        last = number == len(args) - 1
        comma = item.comma if not last or (whole and isinstance(item.comma, cst.Comma)) else cst.MaybeSentinel.DEFAULT
        if item.star:
            elements.append(cst.StarredElement(item.value, comma=comma))
        else:
            elements.append(cst.Element(_in_parentheses(item.value), comma=comma))
    lpar = cst.LeftParen(whitespace_after=node.whitespace_before_args)
    closing = args[-1].whitespace_after_arg if whole else cst.SimpleWhitespace("")
    return cst.Tuple(elements, lpar=[lpar], rpar=[cst.RightParen(whitespace_before=closing)])


def _in_parentheses(value: cst.BaseExpression) -> cst.BaseExpression:
    """Return `value` with the parentheses that a generator needs where it is not the only argument of a call."""
    if isinstance(value, cst.GeneratorExp) and not value.lpar:
        return value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return value


def _as_dict(args: Sequence[cst.Arg]) -> cst.BaseExpression:
    if len(args) == 1 and args[0].star:
        return args[0].value
    elements: list[cst.BaseDictElement] = []
    for number, item in enumerate(args):
        comma = item.comma if number < len(args) - 1 else cst.MaybeSentinel.DEFAULT
        if item.keyword is None:
            elements.append(cst.StarredDictElement(item.value, comma=comma))
        else:
            key = dict_of([(item.keyword.value, item.value)]).elements[0]
            elements.append(key.with_changes(comma=comma))
    return cst.Dict(elements)


def actor_call(
    context: cst.BaseExpression,
    node: cst.Call,
    cls: cst.BaseExpression,
    args: Sequence[cst.Arg],
    options: cst.BaseExpression | None,
) -> cst.Call:
    """Return ``ctx.create_actor(cls, a, k=v, options=options)``."""
    own = [item for item in args if item.star == "**" or (item.keyword and item.keyword.value in _CREATE_ACTOR_OWN)]
    if own and options is None:
        options = call("fray.ActorOptions")
    given = [arg(cls), *(item.with_changes(value=_in_parentheses(item.value)) for item in args)]
    if args and not isinstance(node.whitespace_before_args, cst.SimpleWhitespace):
        given[0] = given[0].with_changes(comma=cst.Comma(whitespace_after=node.whitespace_before_args))
    if options is not None:
        place = next((number for number, item in enumerate(given) if item.star == "**"), len(given))
        given.insert(place, keyword("options", options))
    return cst.Call(cst.Attribute(context, cst.Name("create_actor")), given, lpar=node.lpar, rpar=node.rpar)
