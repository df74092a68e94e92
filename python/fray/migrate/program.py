"""Moves programs in memory: reads them, finds sites and blockers, plans, and builds the new texts."""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import libcst as cst

from fray.migrate.by_name import hold_by_name, reaches_by_name
from fray.migrate.cells import mark_of
from fray.migrate.contexts import place_contexts
from fray.migrate.files import RefusedError, Text, check_writable, read_text
from fray.migrate.from_ray import Constants
from fray.migrate.imports import imported_names, is_of, plan_imports
from fray.migrate.inference import Api, Kinds
from fray.migrate.notebook import Notebook, read_notebook
from fray.migrate.plan import Plan, make_plan
from fray.migrate.ray_side import PACKAGES
from fray.migrate.report import Left, Outcome, State
from fray.migrate.restarts import Restarts
from fray.migrate.rewrite import COMMENT, Rewrite
from fray.migrate.sites import Found, Site
from fray.migrate.source import Project, Source, dotted, module_name

__all__ = ["Direction", "move"]

_FILES_OF_PACKAGES = 2000
"""Most files of a package that are read along when one of its files is given."""


@dataclass(frozen=True)
class Direction:
    """A direction of moves, from Ray to Fray or back.

    Args:
        find: finds the sites and blockers of a source.
        api: makes the knowledge of the old library.
        packages: the packages of the old library.
        new_import: the import statement of the new library.
        get_context: the function that returns the context in the new program; empty if it needs none.
    """

    find: Callable[[Kinds, Source, Constants], Found]
    api: Callable[[], Api]
    packages: tuple[str, ...]
    new_import: str
    get_context: str
    words: re.Pattern[str]
    """Matches in the text of every file that may use the old library."""


@dataclass(eq=False)
class _Loaded:
    """One file, as far as it could be read and parsed."""

    path: Path
    asked: bool
    text: Text | None = None
    notebook: Notebook | None = None
    source: Source | None = None
    refused: str = ""

    @property
    def program(self) -> str:
        """The text of the program; empty if the file could not be read."""
        if self.refused or self.text is None:
            return ""
        return self.notebook.program if self.notebook is not None else self.text.text


def move(paths: Sequence[Path], direction: Direction) -> list[Outcome]:
    """Return the outcome for each file of `paths`, with its new text; nothing is written to disk."""
    files = [_read(path, True) for path in paths]
    files += [_read(path, False) for path in _others(paths)]
    _parse_all(files, direction)
    sources = _reached([item.source for item in files if item.source is not None], direction.packages)
    kinds = Kinds(Project(sources), direction.api())
    constants = Constants({node.value for source in sources for node in source.nodes() if isinstance(node, cst.Name)})
    found = {source: direction.find(kinds, source, constants) for source in sources}
    hold_by_name(found, kinds.project, direction.packages)
    plan = make_plan(kinds, list(found.values()))
    for item in found.values():
        for site in item.sites:
            if id(site.node) in plan.active and site.prepare is not None:
                site.prepare()
    changes = [
        (part.source, site.node)
        for part in found.values()
        for site in part.sites
        if site.role in ("init", "shutdown") and id(site.node) in plan.active
    ]
    restarts = Restarts(sources, changes)
    return [_outcome(item, found, plan, direction, restarts) for item in files if item.asked]


# ---- reading


def _read(path: Path, asked: bool) -> _Loaded:
    loaded = _Loaded(path, asked)
    try:
        loaded.text = read_text(path)
        if path.suffix == ".ipynb":
            loaded.notebook = read_notebook(loaded.text.text)
    except RefusedError as error:
        loaded.refused = str(error)
    return loaded


def _parse_all(files: Sequence[_Loaded], direction: Direction) -> None:
    """Parse the files that use the library, those that may name them, and the modules that all of these import."""
    waiting: list[_Loaded] = list(files)
    words, uses = direction.words, True
    imported: set[str] = set()
    while found := {item for item in waiting if words.search(item.program)}:
        waiting = [item for item in waiting if item not in found]
        for item in found:
            _parse_one(item, direction, uses)
            imported |= _imported_modules(item.source)
        names = sorted({_module(item) for item in found})
        words, uses = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b"), False
    while found := {item for item in waiting if _module(item) in imported}:
        waiting = [item for item in waiting if item not in found]
        imported = set()
        for item in found:
            _parse_one(item, direction, False)
            if item.path.name == "__init__.py":  # which hands on what other modules hold
                imported |= _imported_modules(item.source)


def _parse_one(loaded: _Loaded, direction: Direction, uses: bool) -> None:
    _parse(loaded, direction)
    if not uses and loaded.source is None:
        loaded.refused = ""  # whether a file that does not use the library can be parsed does not matter


def _module(loaded: _Loaded) -> str:
    return module_name(loaded.path.absolute())


def _imported_modules(source: Source | None) -> set[str]:
    """Return the last parts of the names of all modules that a program may import."""
    found: set[str] = set()
    for node in source.nodes() if source is not None else ():
        if isinstance(node, cst.Import):
            found |= {(dotted(alias.name) or "").rpartition(".")[2] for alias in node.names}
        elif isinstance(node, cst.ImportFrom):
            found.add((dotted(node.module) or "").rpartition(".")[2])
            if not isinstance(node.names, cst.ImportStar):
                found |= {alias.evaluated_name for alias in node.names}
    return found


def _parse(loaded: _Loaded, direction: Direction) -> None:
    program = loaded.program
    try:
        module = cst.parse_module(program)
        if module.code != program:
            raise RefusedError("has a form that cannot be written as it was")
        fixed = None if loaded.asked else "it is not among the files that were given"
        if _imports(module, PACKAGES) and (COMMENT in program or _imports(module, ("fray",))):
            loaded.refused = _mixed(program)
            fixed = "it uses Ray and Fray"
        elif loaded.asked:
            try:
                check_writable(loaded.path)
            except RefusedError as error:
                loaded.refused = fixed = str(error)
        if loaded.asked and loaded.notebook is not None:
            _check_unseen(loaded.notebook, direction)
        loaded.source = Source(loaded.path, module, fixed)
        new = direction.new_import.removeprefix("import ")
        if fixed is None and loaded.source.means_otherwise(new):
            loaded.refused = loaded.source.fixed = f"gives the name {new} another meaning: rename that first"
    except RefusedError as error:
        loaded.refused = str(error)
    except cst.ParserSyntaxError as error:
        loaded.refused = f"does not parse: {_place(loaded, error.raw_line)}: {error.message.splitlines()[0]}"
    except RecursionError:
        loaded.refused = "is nested too deeply to be parsed"


def _place(loaded: _Loaded, line: int) -> str:
    if loaded.notebook is None:
        return f"line {line}"
    cell, line = loaded.notebook.cell_of(line)
    return f"cell {cell}, line {line}"


def _check_unseen(notebook: Notebook, direction: Direction) -> None:
    """Raise RefusedError if Python inside of a magic, which cannot be moved, uses the old library."""
    for cell, line, code in notebook.unseen:
        if direction.words.search(code):
            what = f"write {code.strip()!r} on lines without a magic"
            raise RefusedError(f"cannot be moved: cell {cell}, line {line}: {what}")


def _mixed(program: str) -> str:
    if COMMENT in program:
        return "was moved as far as it goes; its comments say what stays"
    return "uses both Ray and Fray: move the one or the other by hand first"


def _imports(module: cst.Module, packages: tuple[str, ...]) -> bool:
    """Return whether a program imports one of `packages`; an import of `fray.ray` is none of Fray's own API."""
    stack: list[cst.CSTNode] = [module]
    while stack:
        node = stack.pop()
        if isinstance(node, (cst.Import, cst.ImportFrom)):
            for _, full, _ in imported_names(node):
                if any(is_of(package, full) for package in packages) and not (
                    packages == ("fray",) and is_of("fray.ray", full)
                ):
                    return True
        stack.extend(node.children)
    return False


def _others(paths: Sequence[Path]) -> list[Path]:
    """Return the other files of the packages to which the given files belong."""
    given = {Path(os.path.abspath(path)) for path in paths}
    found: dict[Path, None] = {}
    for path in paths:
        if not (path.parent / "__init__.py").exists():
            continue
        top = Path(os.path.abspath(path)).parent
        while (top.parent / "__init__.py").exists():
            top = top.parent
        for number, other in enumerate(sorted(top.rglob("*.py"))):
            if number >= _FILES_OF_PACKAGES:
                break
            if other not in given and not other.is_symlink():
                found[other] = None
    return list(found)


def _reached(sources: Sequence[Source], packages: tuple[str, ...]) -> list[Source]:
    """Return the sources that use the library, or that imports connect with one that does."""
    project = Project(list(sources))
    using = {source for source in sources if _uses(source, packages)}
    links: dict[Source, set[Source]] = {source: set() for source in sources}
    for source in sources if using else ():
        for node in source.nodes():
            if isinstance(node, (cst.Import, cst.ImportFrom)):
                for other in project.imported_sources(source, node):
                    links[source].add(other)
                    links[other].add(source)
    waiting = list(using)
    while waiting:
        for other in links[waiting.pop()]:
            if other not in using:
                using.add(other)
                waiting.append(other)
    return [source for source in sources if source in using]


def _uses(source: Source, packages: tuple[str, ...]) -> bool:
    """Return whether a program imports the library, or neither library and reaches this one by its name."""
    if _imports(source.module, packages):
        return True
    return not _imports(source.module, (*PACKAGES, "fray")) and reaches_by_name(source, packages)


# ---- writing


def _outcome(
    item: _Loaded, found: dict[Source, Found], plan: Plan, direction: Direction, restarts: Restarts
) -> Outcome:
    before = item.text.content if item.text is not None else b""
    outcome = Outcome(item.path, State.UNTOUCHED, before, before)
    source = item.source
    here = found.get(source) if source is not None else None
    if item.refused and (source is None or (here is not None and (here.references or here.sites or here.blockers))):
        moved_before = item.refused.startswith("was moved")
        outcome.state, outcome.reason = (State.PART if moved_before else State.REFUSED), item.refused
        return outcome
    if here is None or item.text is None:
        return outcome
    active = {id(site.node): site for site in here.sites if id(site.node) in plan.active}
    held = [site for site in here.sites if id(site.node) not in plan.active and not site.role]
    outcome.left = _left(here, held, item.notebook)
    if not active and not here.blockers and not here.source.added_names:
        if held or here.references:
            outcome.state = State.LEFT
        return outcome
    try:
        _check(item.program, f"does not parse with Python {sys.version_info[0]}.{sys.version_info[1]}")
        program = _written(here, active, direction, restarts)
        _check(program, "cannot be moved: what came out does not parse")
    except RefusedError as error:
        outcome.state, outcome.reason = State.REFUSED, str(error)
        return outcome
    except RecursionError:
        outcome.state, outcome.reason = State.REFUSED, "cannot be moved: its expressions are nested too deeply"
        return outcome
    except cst.CSTValidationError as error:
        outcome.state, outcome.reason = State.REFUSED, f"cannot be moved: what came out does not parse ({error})"
        return outcome
    outcome.before_text = item.text.text if item.notebook is None else item.notebook.program
    outcome.after_text = program
    if item.notebook is None:
        outcome.after = item.text.encode(program)
    elif program != item.notebook.program:
        outcome.after = item.text.encode(item.notebook.with_program(program))
    whole = not here.blockers and not held
    outcome.state = State.MOVED if whole else State.PART if active else State.LEFT
    return outcome


def _left(here: Found, held: Sequence[Site], notebook: Notebook | None) -> list[Left]:
    found: dict[tuple[int, str], Left] = {}
    for blocker in here.blockers:
        line, cell = _line(here.source, blocker.node, notebook)
        reason = blocker.reason
        found.setdefault((here.source.line(blocker.node), reason.why), Left(line, reason.why, reason.what, cell))
    if held and not any(not blocker.reason.apart for blocker in here.blockers):
        line, cell = _line(here.source, held[0].node, notebook)
        why = f"{_count(len(held))} of Ray from here on may meet refs of what stays"
        found[0, ""] = Left(line, why, "move that first", cell)
    return [found[key] for key in sorted(found)]


def _count(number: int) -> str:
    return f"{number} use" + ("" if number == 1 else "s")


def _line(source: Source, node: cst.CSTNode, notebook: Notebook | None) -> tuple[int, int | None]:
    line = source.line(node)
    if notebook is None:
        return line, None
    start, cell = 0, 0
    for statement in source.module.body:
        mark = mark_of(statement)
        if mark is not None and source.line(statement) <= line:
            start, cell = source.line(statement), mark.cell + 1
    return line - start, cell


def _written(here: Found, active: dict[int, Site], direction: Direction, restarts: Restarts) -> str:
    source = here.source
    consumed = {id(use) for site in active.values() for use in site.uses}
    kept = {_first_name(node) for node, _ in here.references if id(node) not in consumed}
    kept |= _unused_libraries(here)
    needs = [site.node for site in active.values() if site.needs_import()]
    further = [text for site in active.values() for text in site.imports]
    imports = plan_imports(source, direction.packages, kept, needs, direction.new_import, further)
    if not active:
        imports.changes = {key: value for key, value in imports.changes.items() if source.added_names.get(key)}
        imports.header = []
    places = place_contexts(
        source,
        [site.node for site in active.values() if site.context],
        [*(site.node for site in active.values() if site.role == "init"), *restarts.places(source)],
        [site.node for site in active.values() if site.role == "shutdown"],
    )
    rewrite = Rewrite(source, active, places, direction.get_context, _notes(here), imports.changes)
    module = imports.apply_header(rewrite.run())
    return module.code


def _first_name(node: cst.CSTNode) -> str:
    while isinstance(node, cst.Attribute):
        node = node.value
    return node.value if isinstance(node, cst.Name) else ""


def _unused_libraries(here: Found) -> set[str]:
    """Return the names that blocked import statements bind: such an import stays for its side effects."""
    return {
        bound
        for blocker in here.blockers
        if isinstance(blocker.node, (cst.Import, cst.ImportFrom))
        for _, _, bound in imported_names(blocker.node)
    }


def _notes(here: Found) -> dict[int, list[str]]:
    notes: dict[int, list[str]] = {}
    for blocker in here.blockers:
        texts = notes.setdefault(id(here.source.statement_of(blocker.node)), [])
        if blocker.reason.text() not in texts:
            texts.append(blocker.reason.text())
    return notes


def _check(program: str, otherwise: str) -> None:
    """Raise RefusedError with the clause `otherwise` if a program does not parse."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(program)
    except SyntaxError as error:
        raise RefusedError(f"{otherwise} ({error})") from None
