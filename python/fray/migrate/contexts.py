"""Decides where ``ctx = fray.get_job_context()`` stands: once in a function, before the first statement that uses it.

Sometimes one statement cannot serve all uses: the engine is started or ended between them, the statement would run
when a module is imported, or the use is in a cell that is timed. Then each use calls ``fray.get_job_context()`` itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

from fray.migrate.cells import timed_statements
from fray.migrate.source import Source, dotted

__all__ = ["Places", "place_contexts"]


class Places:
    """The places where one source looks its context up.

    Args:
        name: the variable that holds the context.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.inline: set[int] = set()
        """Ids of the uses that call ``fray.get_job_context()`` themselves."""
        self.before: set[int] = set()
        """Ids of the statements before which the look-up is written."""


def place_contexts(
    source: Source, uses: Iterable[cst.CSTNode], starts: Sequence[cst.CSTNode], ends: Sequence[cst.CSTNode]
) -> Places:
    """Decide where the context for all `uses` is looked up.

    Args:
        source: the program.
        uses: nodes that need the context.
        starts: nodes that start the engine.
        ends: nodes that end the engine.
    """
    places = Places(_free_name(source))
    timed = timed_statements(source.module)
    by_function: dict[cst.CSTNode | None, list[cst.CSTNode]] = {}
    for use in uses:
        function = _function(source, use)
        if function is None and any(id(above) in timed for above in source.ancestors(use)):
            places.inline.add(id(use))  # a variable of a timed cell is local to it
        else:
            by_function.setdefault(function, []).append(use)
    for function, group in by_function.items():
        limits = [node for node in (*starts, *ends) if _function(source, node) is function]
        ended = [node for node in ends if _function(source, node) is function]
        place = _place(source, group, limits, ended)
        if place is None:
            places.inline.update(id(use) for use in group)
        else:
            places.before.add(id(place))
    return places


def _free_name(source: Source) -> str:
    used = {node.value for node in source.nodes() if isinstance(node, cst.Name)}
    return next(name for name in ("ctx", "job_ctx", "fray_ctx", "fray_job_ctx", "_fray_ctx") if name not in used)


def _function(source: Source, node: cst.CSTNode) -> cst.CSTNode | None:
    """Return the function whose variables `node` sees, None at module level; a lambda sees those around it."""
    function = source.function_of(node)
    while isinstance(function, cst.Lambda):
        function = source.function_of(function)
    return function


def _path(source: Source, node: cst.CSTNode) -> list[tuple[cst.CSTNode, cst.CSTNode]]:
    """Return the blocks around `node`, from the body of its function inwards, each with its statement around `node`."""
    function = _function(source, node)
    path: list[tuple[cst.CSTNode, cst.CSTNode]] = []
    current = node
    for parent in source.ancestors(node):
        if isinstance(parent, (cst.IndentedBlock, cst.Module)):
            path.append((parent, current))
        if parent is function:
            break
        current = parent
    if function is not None:
        body = function.body if isinstance(function, cst.FunctionDef) else None
        path = [item for item in path if item[0] is body or _inside(source, item[0], body)]
    return list(reversed(path))


def _inside(source: Source, node: cst.CSTNode, block: cst.CSTNode | None) -> bool:
    return block is not None and any(parent is block for parent in source.ancestors(node))


def _place(
    source: Source, uses: Sequence[cst.CSTNode], limits: Sequence[cst.CSTNode], ends: Sequence[cst.CSTNode]
) -> cst.CSTNode | None:
    """Return the statement before which one look-up serves all `uses`; None where there is no such statement.

    That is the first statement with a use, in the innermost block around all uses that no loop or class body repeats.
    The engine must not be started or ended between the look-up and a use.
    """
    paths = [_path(source, use) for use in uses]
    shortest = min(len(path) for path in paths)
    depth = 0
    while depth < shortest and all(path[depth][0] is paths[0][depth][0] for path in paths):
        depth += 1
    if depth == 0:
        return None
    depth -= 1
    first = min((path[depth][1] for path in paths), key=source.position)
    while depth > 0 and _repeats(source, paths[0][depth][0]):
        depth -= 1
        first = paths[0][depth][1]
    block = paths[0][depth][0]
    if not isinstance(first, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
        return None
    if any(_one_line(source, use, block) for use in uses):
        return None
    if isinstance(block, cst.Module) and isinstance(first, cst.If) and _only_when_main(first):
        return None
    for limit in limits:
        after_all = limit in ends and all(source.position(use) < source.position(limit) for use in uses)
        if after_all and not _in_loop(source, limit, block):
            continue
        if not _is_before(source, limit, block, first):
            return None
    return first


def _repeats(source: Source, block: cst.CSTNode) -> bool:
    return isinstance(source.parent(block), (cst.For, cst.While, cst.ClassDef))


def _in_loop(source: Source, node: cst.CSTNode, block: cst.CSTNode) -> bool:
    """Return whether a loop inside of `block` is around `node`."""
    for parent in source.ancestors(node):
        if parent is block:
            return False
        if isinstance(parent, (cst.For, cst.While)):
            return True
    return False


def _one_line(source: Source, node: cst.CSTNode, block: cst.CSTNode) -> bool:
    """Return whether `node` follows a colon on its line, as in ``if x: f()``, where no statement fits before it."""
    for parent in source.ancestors(node):
        if parent is block:
            return False
        if isinstance(parent, cst.SimpleStatementSuite):
            owner = source.parent(parent)
            return not isinstance(owner, (cst.For, cst.While))
    return False


def _only_when_main(statement: cst.If) -> bool:
    test = statement.test
    return isinstance(test, cst.Comparison) and dotted(test.left) == "__name__"


def _is_before(source: Source, limit: cst.CSTNode, block: cst.CSTNode, first: cst.CSTNode) -> bool:
    """Return whether `limit`, if it runs at all, has run when the statement `first` of `block` begins.

    That is certain if it stands above `first`, in `block` or in one of the blocks around it.
    """
    if source.position(limit) >= source.position(first):
        return False
    blocks = [
        block,
        *(parent for parent in source.ancestors(block) if isinstance(parent, (cst.IndentedBlock, cst.Module))),
    ]
    return any(any(parent is item for parent in source.ancestors(limit)) for item in blocks)
