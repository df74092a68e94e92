"""Makes and reads small syntax trees: names, calls, keywords, literals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import libcst as cst

__all__ = [
    "arg",
    "assign",
    "call",
    "chain",
    "comments",
    "dict_of",
    "is_literal",
    "keyword",
    "literal",
    "named_arguments",
    "string",
]

_EQUAL = cst.AssignEqual(whitespace_before=cst.SimpleWhitespace(""), whitespace_after=cst.SimpleWhitespace(""))


def chain(text: str) -> cst.BaseExpression:
    """Return the expression ``a.b.c``."""
    first, *rest = text.split(".")
    node: cst.BaseExpression = cst.Name(first)
    for part in rest:
        node = cst.Attribute(node, cst.Name(part))
    return node


def arg(value: cst.BaseExpression) -> cst.Arg:
    """Return a positional argument."""
    return cst.Arg(value)


def keyword(name: str, value: cst.BaseExpression) -> cst.Arg:
    """Return the argument ``name=value``."""
    return cst.Arg(value, keyword=cst.Name(name), equal=_EQUAL)


def call(function: cst.BaseExpression | str, args: Iterable[cst.Arg] = ()) -> cst.Call:
    """Return a call on one line."""
    return cst.Call(chain(function) if isinstance(function, str) else function, list(args))


def string(text: str) -> cst.SimpleString:
    """Return a string literal in double quotes."""
    quoted = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' if text.isprintable() else repr(text)
    return cst.SimpleString(quoted)


def dict_of(items: Iterable[tuple[str, cst.BaseExpression]]) -> cst.Dict:
    """Return a dict display with these keys."""
    return cst.Dict([cst.DictElement(string(key), value) for key, value in items])


def assign(name: str, value: cst.BaseExpression, lines: Sequence[cst.EmptyLine] = ()) -> cst.SimpleStatementLine:
    """Return the statement ``name = value``."""
    statement = cst.Assign([cst.AssignTarget(cst.Name(name))], value)
    return cst.SimpleStatementLine([statement], leading_lines=lines)


_LITERALS = (cst.BaseNumber, cst.SimpleString)
_CONTAINERS = (cst.List, cst.Tuple, cst.Set, cst.Dict, cst.Element, cst.DictElement, cst.UnaryOperation)
_PUNCTUATION = (
    cst.BaseBinaryOp,
    cst.BaseUnaryOp,
    cst.BaseParenthesizableWhitespace,
    cst.Comma,
    cst.Comment,
    cst.EmptyLine,
    cst.LeftCurlyBrace,
    cst.LeftParen,
    cst.LeftSquareBracket,
    cst.Newline,
    cst.RightCurlyBrace,
    cst.RightParen,
    cst.RightSquareBracket,
    cst.TrailingWhitespace,
)


def is_literal(node: cst.CSTNode) -> bool:
    """Return whether an expression is made of literals only, so that it has the same value in every place."""
    if isinstance(node, cst.Name):
        return node.value in ("None", "True", "False")
    if isinstance(node, (*_LITERALS, *_PUNCTUATION)):
        return True
    if isinstance(node, (*_CONTAINERS, cst.BinaryOperation, cst.ConcatenatedString)):
        return all(is_literal(part) for part in node.children)
    return False


def literal(node: cst.CSTNode | None) -> object:
    """Return the value of a literal number, string, bool or None; `NotImplemented` for any other expression."""
    if isinstance(node, cst.Name):
        return {"None": None, "True": True, "False": False}.get(node.value, NotImplemented)
    if isinstance(node, (cst.Integer, cst.Float)):
        return node.evaluated_value
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        value = literal(node.expression)
        return -value if isinstance(value, (int, float)) else NotImplemented
    if isinstance(node, (cst.SimpleString, cst.ConcatenatedString)):
        return node.evaluated_value
    return NotImplemented


def comments(node: cst.CSTNode) -> Counter[str]:
    """Return the texts of all comments in `node`, in their order."""
    found: Counter[str] = Counter()
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, cst.Comment):
            found[current.value] += 1
        stack.extend(reversed(current.children))
    return found


def named_arguments(args: Sequence[cst.Arg], names: Sequence[str]) -> dict[str, cst.BaseExpression] | None:
    """Return all arguments by name; None if some are unpacked, or more than there are names."""
    found: dict[str, cst.BaseExpression] = {}
    for number, item in enumerate(args):
        if item.star or (item.keyword is None and number >= len(names)):
            return None
        found[item.keyword.value if item.keyword is not None else names[number]] = item.value
    return found if len(found) == len(args) else None
