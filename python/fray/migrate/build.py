"""Small pieces of trees: names, calls, keywords."""

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
    "string",
    "tuple_of",
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
    """Return an argument by position."""
    return cst.Arg(value)


def keyword(name: str, value: cst.BaseExpression) -> cst.Arg:
    """Return the argument ``name=value``."""
    return cst.Arg(value, keyword=cst.Name(name), equal=_EQUAL)


def call(function: cst.BaseExpression | str, args: Iterable[cst.Arg] = ()) -> cst.Call:
    """Return a call on one line."""
    return cst.Call(chain(function) if isinstance(function, str) else function, list(args))


def string(text: str) -> cst.SimpleString:
    """Return a text in double quotes."""
    quoted = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' if text.isprintable() else repr(text)
    return cst.SimpleString(quoted)


def dict_of(items: Iterable[tuple[str, cst.BaseExpression]]) -> cst.Dict:
    """Return a dict with these texts as its keys."""
    return cst.Dict([cst.DictElement(string(key), value) for key, value in items])


def tuple_of(values: Iterable[cst.BaseExpression]) -> cst.Tuple:
    """Return a tuple in parentheses."""
    return cst.Tuple([cst.Element(value) for value in values])


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
    """Return whether an expression means the same wherever it stands."""
    if isinstance(node, cst.Name):
        return node.value in ("None", "True", "False")
    if isinstance(node, (*_LITERALS, *_PUNCTUATION)):
        return True
    if isinstance(node, (*_CONTAINERS, cst.BinaryOperation, cst.ConcatenatedString)):
        return all(is_literal(part) for part in node.children)
    return False


def literal(node: cst.CSTNode | None) -> object:
    """Return the value of a number, a text, a truth value or None; `NotImplemented` for anything else."""
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
    """Return the texts of all comments in `node`."""
    found: Counter[str] = Counter()
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, cst.Comment):
            found[current.value] += 1
        stack.extend(current.children)
    return found
