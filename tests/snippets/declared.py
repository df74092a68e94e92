"""Compares what a block declares, as signatures, with what Fray has."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.snippets.reading import Block

__all__ = ["assert_has", "assert_takes", "called", "function_of", "methods_of"]

_HEAD = re.compile(r"^(\s*def .*[^:])$", re.MULTILINE)


def tree_of(block: Block) -> ast.Module:
    """Return the syntax of a block whose functions may be heads without a body, or even without a colon."""
    try:
        return ast.parse(block.code)
    except SyntaxError:
        code = block.code.rstrip()
        return ast.parse(code + " ..." if code.endswith(":") else _HEAD.sub(r"\1: ...", code))


def function_of(block: Block) -> ast.FunctionDef:
    """Return the function that a block declares, also where it leaves out ``def``."""
    text = block.code.strip()
    tree = ast.parse(f"def {text}: ...") if not text.startswith(("def ", "@")) else tree_of(block)
    return next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def methods_of(block: Block) -> dict[str, ast.FunctionDef]:
    """Return the methods of the class that a block declares."""
    classes = [node for node in ast.walk(tree_of(block)) if isinstance(node, ast.ClassDef)]
    assert len(classes) == 1
    return {node.name: node for node in classes[0].body if isinstance(node, ast.FunctionDef)}


def assert_has(declared: ast.FunctionDef, own: Callable[..., Any], by_position: Mapping[str, str] = {}) -> None:
    """Assert that every call which a declared function allows is one that `own` takes.

    Args:
        declared: the function of the document.
        own: Fray's.
        by_position: parameters that Fray calls otherwise, by the document's names; they are given by position.
    """
    signature = inspect.signature(own)
    given = declared.args
    positional = [argument for argument in (*given.posonlyargs, *given.args) if argument.arg != "self"]
    ours = [parameter for parameter in signature.parameters.values() if parameter.name != "self"]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)
    for index, (argument, default) in enumerate(zip(positional, defaults, strict=True)):
        where = f"{declared.name}: parameter {argument.arg!r}"
        assert index < len(ours), f"{where} is one too many for {signature}"
        assert ours[index].name == by_position.get(argument.arg, argument.arg), f"{where} is not in {signature}"
        assert ours[index].kind in (
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            inspect.Parameter.POSITIONAL_ONLY,
        ), f"{where} is no positional parameter of {signature}"
        _assert_default(where, default, ours[index])
    if given.vararg is not None:
        kinds = {parameter.kind for parameter in ours}
        assert inspect.Parameter.VAR_POSITIONAL in kinds, f"{declared.name} takes no *{given.vararg.arg}: {signature}"
    for argument, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        where = f"{declared.name}: keyword {argument.arg!r}"
        assert argument.arg in signature.parameters, f"{where} is not in {signature}"
        _assert_default(where, default, signature.parameters[argument.arg])
    asked = {argument.arg for argument in (*positional, *given.kwonlyargs)}
    for parameter in ours:
        more = parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        known = parameter.name in asked or parameter.name in by_position.values()
        assert more or known or parameter.default is not inspect.Parameter.empty, (
            f"{declared.name}: Fray asks for {parameter.name!r} as well: {signature}"
        )


def _assert_default(where: str, declared: ast.expr | None, own: inspect.Parameter) -> None:
    """Assert that a declared default is Fray's; ``...`` says that there is one."""
    if declared is None:
        return
    assert own.default is not inspect.Parameter.empty, f"{where} has no default in Fray"
    value = ast.literal_eval(declared)
    assert value is ... or own.default == value, f"{where} is {own.default!r} by default, not {value!r}"


def called(block: Block) -> ast.Call:
    """Return the call that a block consists of."""
    statement = ast.parse(block.code).body[0]
    assert isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
    return statement.value


def assert_takes(block: Block, owner: type[Any]) -> None:
    """Assert that the method which a block calls exists and takes as many arguments as it gives."""
    call = called(block)
    assert isinstance(call.func, ast.Attribute)
    method = getattr(owner, call.func.attr)
    inspect.signature(method).bind(owner, *call.args, **{word.arg or "": word.value for word in call.keywords})
