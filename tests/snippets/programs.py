"""What becomes of each block: a program that runs at places, a declaration that is compared, or a reason.

A program gets the names that its document takes from its surroundings: data, small functions, a cluster. Such a name
never stands for one that Fray is to have: what is public in Fray must be given as it is, or as a subclass of it.
"""

from __future__ import annotations

import ast
import builtins
import symtable
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import fray
import pytest

from tests.snippets.blocks import blocks
from tests.snippets.reading import Block

__all__ = [
    "CONTEXTS",
    "PLACES",
    "RAY_PLACES",
    "Around",
    "Book",
    "Program",
    "Refusal",
    "free_names",
    "run",
]

LOCAL_CONTEXTS = ("sync", "thread", "native")
CONTEXTS = (*LOCAL_CONTEXTS, "Ray")
PLACES = {
    "plain Python": "in this process, without a context or a cluster",
    "sync": "on `LocalJobContext`",
    "thread": "on `ThreadContext`",
    "native": "on the native engine",
    "Ray": "on `RayJobContext`",
    "LocalCluster": "on `LocalCluster`",
    "RayCluster": "on `RayCluster`",
    "Ray itself": "as code for Ray, on Ray and without Fray's context",
    "a Ray of its own": "in a process that starts a Ray of its own",
}
RAY_PLACES = ("Ray", "RayCluster", "Ray itself", "a Ray of its own")
"""Where Ray is needed."""

MAKERS = {
    "sync": "sync_context",
    "thread": "thread_context",
    "native": "native_context",
    "Ray": "context_on_ray",
    "LocalCluster": "local_cluster",
    "RayCluster": "ray_cluster",
    "Ray itself": "initialised_ray",
}
"""The fixtures that make places: a context or a cluster, which is current until the test ends."""

Names = dict[str, Any]


@dataclass
class Around:
    """What a test has around a block.

    Attributes:
        block: the block.
        place: one of `PLACES`.
        folder: an empty folder, which is the process's.
        patch: undone at the test's end.
        resource: the test's further fixtures, by name.
    """

    block: Block
    place: str
    folder: Path
    patch: pytest.MonkeyPatch
    resource: Callable[[str], Any] = field(default=lambda name: pytest.fail(f"no {name} here"))

    @cached_property
    def ctx(self) -> Any:
        """Return the place's context, made when it is first asked for, and current from then on."""
        return self.resource(MAKERS[self.place])

    @cached_property
    def cluster(self) -> Any:
        """Return the place's cluster, made when it is first asked for, and current from then on."""
        return self.resource(MAKERS[self.place])

    def enter(self) -> None:
        """Make what the place is current, if a program has not yet."""
        if self.place in MAKERS:
            self.resource(MAKERS[self.place])


@dataclass(frozen=True)
class Refusal:
    """A statement that must raise: how its text begins, and what it raises."""

    statement: str
    kind: type[BaseException]
    match: str


@dataclass(frozen=True)
class Program:
    """How a block runs.

    Attributes:
        id: of the block.
        case: tells programs of one block apart.
        places: where it runs.
        given: makes the names that it takes from its surroundings.
        check: asserts what came of it, from the names that it left.
        fills: Python for each ``...`` that stands for a value, in their order.
        refusals: statements that must raise.
        elsewhere: places where it could be thought to run, and why it does not.
        long: whether it takes so long on Ray that it runs there with the long tests.
        note: what a reader of the list should know.
    """

    id: str
    case: str
    places: tuple[str, ...]
    given: Callable[[Around], Names]
    check: Callable[[Around, Names], None]
    fills: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    elsewhere: Mapping[str, str] = field(default_factory=dict[str, str])
    long: bool = False
    note: str = ""


@dataclass(frozen=True)
class Declaration:
    """A block that declares names, and what of Fray must have them.

    Attributes:
        check: asserts it of the block.
        what: the names in Fray.
    """

    id: str
    what: str
    check: Callable[[Block], None]


class Book:
    """What becomes of the blocks of one document.

    Args:
        number: of the document.
    """

    def __init__(self, number: str) -> None:
        self.number = number
        self.programs: dict[str, Program] = {}
        self.declarations: dict[str, Declaration] = {}
        self.left_out: dict[str, str] = {}

    def runs(
        self,
        block_id: str,
        on: tuple[str, ...] | str,
        given: Callable[[Around], Names] = lambda around: {},
        case: str = "",
        **more: Any,
    ) -> Callable[[Any], Any]:
        """Enter the decorated check: the block runs at the places `on`."""
        places = (on,) if isinstance(on, str) else on
        assert set(places) <= set(PLACES), places

        def enter(check: Callable[[Around, Names], None]) -> Callable[[Around, Names], None]:
            key = f"{block_id}-{case}" if case else block_id
            self._enter(key, self.programs, Program(block_id, case, places, given, check, **more))
            return check

        return enter

    def declares(self, block_id: str, what: str) -> Callable[[Any], Any]:
        """Enter the decorated check: the block declares `what` of Fray."""

        def enter(check: Callable[[Block], None]) -> Callable[[Block], None]:
            self._enter(block_id, self.declarations, Declaration(block_id, what, check))
            return check

        return enter

    def leaves_out(self, block_id: str, why: str) -> None:
        """Enter a block that is neither run nor compared."""
        self._enter(block_id, self.left_out, why)

    def _enter(self, key: str, table: dict[str, Any], entry: Any) -> None:
        assert key.split(".")[0] == self.number, key
        for known in (self.programs, self.declarations, self.left_out):
            assert key not in known, f"block {key} is entered twice"
        table[key] = entry


# ---- running


def run(program: Program, around: Around) -> None:
    """Run a block with what is around it, and assert what comes of it."""
    code = blocks()[program.id].code
    tree = _filled(ast.parse(code), program)
    given = program.given(around)
    around.enter()
    _check_given(program, given, tree)
    names: Names = {"__name__": f"block_{program.id.replace('.', '_')}", **given}
    awaited = list(program.refusals)
    for statement in tree.body:
        refused = next((one for one in awaited if ast.unparse(statement).startswith(one.statement)), None)
        expected: AbstractContextManager[Any] = nullcontext()
        if refused is not None:
            awaited.remove(refused)
            expected = pytest.raises(refused.kind, match=refused.match)
        with expected:
            _execute(statement, f"block {program.id}", names)
    assert not awaited, f"block {program.id} has no statement that begins with {awaited[0].statement!r}"
    program.check(around, names)


def _execute(statement: ast.stmt, title: str, names: Names) -> None:
    """Run one statement; the value of an expression is kept under the name ``_``, as the interpreter does."""
    if isinstance(statement, ast.Expr):
        names["_"] = eval(compile(ast.Expression(statement.value), title, "eval"), names)
    else:
        exec(compile(ast.Module([statement], []), title, "exec"), names)


def _filled(tree: ast.Module, program: Program) -> ast.Module:
    """Put the program's values where the document leaves ``...`` for one; a body of ``...`` stays."""
    left = iter(program.fills)

    class Fill(ast.NodeTransformer):
        def visit_Expr(self, node: ast.Expr) -> ast.Expr:
            return node if _is_ellipsis(node.value) else self.generic_visit(node)  # type: ignore[return-value]

        def visit_Constant(self, node: ast.Constant) -> ast.expr:
            if not _is_ellipsis(node):
                return node
            text = next(left, None)
            assert text is not None, f"block {program.id}, line {node.lineno}: nothing is given for its ..."
            value = ast.parse(text, mode="eval").body
            return ast.fix_missing_locations(ast.copy_location(value, node))

    tree = Fill().visit(tree)
    assert next(left, None) is None, f"block {program.id} has fewer ... than values are given for"
    return tree


def _is_ellipsis(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is Ellipsis


def _check_given(program: Program, given: Names, tree: ast.Module) -> None:
    """Assert that names from around are needed, complete, and hide nothing of Fray's."""
    needed = set(free_names(tree))
    assert needed <= set(given), f"block {program.id} takes {sorted(needed)} from around, given are {sorted(given)}"
    unused = set(given) - used_names(tree)
    assert not unused, f"block {program.id} makes no use of {sorted(unused)}"
    if "ray" in given:
        assert given["ray"] is sys.modules.get("ray"), f"block {program.id}: its ray is not Ray"
    for name, value in given.items():
        if name not in fray.__all__ and name not in fray._LAZY:
            continue
        own = getattr(fray, name)
        derived = isinstance(value, type) and isinstance(own, type) and issubclass(value, own)
        assert value is own or derived, f"block {program.id}: its {name} is not Fray's"


def free_names(tree: ast.Module) -> Iterator[str]:
    """Yield the names that code takes from around: it uses them and nothing in it binds them before."""
    bound = _bound_before_use(tree)
    for name in sorted(used_names(tree)):
        if name not in bound and not hasattr(builtins, name) and not name.startswith("__"):
            yield name


def used_names(tree: ast.Module) -> set[str]:
    """Return the global names that code uses, in functions too."""
    table = symtable.symtable(ast.unparse(tree), "block", "exec")
    used = {name for scope in _scopes(table) for name in _global_uses(scope)}
    return used & set(_names_beside_comprehensions(tree, frozenset()))


def _names_beside_comprehensions(node: ast.AST, own: frozenset[str]) -> Iterator[str]:
    """Yield the names in code but for those of comprehensions, which Python 3.14 counts to the scope around."""
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        targets = (part for each in node.generators for part in ast.walk(each.target))
        own |= {part.id for part in targets if isinstance(part, ast.Name)}
    if isinstance(node, ast.Name) and node.id not in own:
        yield node.id
    for child in ast.iter_child_nodes(node):
        yield from _names_beside_comprehensions(child, own)


def _scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _scopes(child)


def _global_uses(scope: symtable.SymbolTable) -> Iterator[str]:
    at_top = scope.get_type() == "module"
    for symbol in scope.get_symbols():
        if symbol.is_referenced() and (at_top or symbol.is_global()):
            yield symbol.get_name()


def _bound_before_use(tree: ast.Module) -> set[str]:
    """Return the names that a statement of the block binds before any reads them."""
    bound: set[str] = set()
    read: set[str] = set()
    for statement in tree.body:
        own = symtable.symtable(ast.unparse(statement), "statement", "exec")
        made = {symbol.get_name() for symbol in own.get_symbols() if _is_bound(symbol)}
        used = {symbol.get_name() for symbol in own.get_symbols() if symbol.is_referenced()}
        if not isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            used -= made  # such as `with open(...) as f: f.write(...)`
        read |= used - bound
        bound |= made - read
    return bound


def _is_bound(symbol: symtable.Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
