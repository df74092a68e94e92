"""The command line of `fray migrate`."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import io
import os
import sys
from collections.abc import Generator, Sequence
from pathlib import Path

from fray._command_end import show, show_json
from fray.migrate.directions import from_ray, to_ray
from fray.migrate.files import RefusedError, find_files, write_all
from fray.migrate.program import move
from fray.migrate.report import Outcome, State, as_json, as_text

__all__ = ["main"]

# The exit codes are those of src/cli/exit_codes.h.
OK, FAILED, USAGE, NOT_FOUND = 0, 1, 2, 3

_MOST_CALLS = 5000
"""The recursion limit while programs are moved: a call may take 1 KB of stack, and a thread has a stack of 8 MB."""


def main(words: Sequence[str]) -> int:
    """Run the command line `words` and return the exit code."""
    options = _parser().parse_args(words)
    paths: list[Path] = options.paths
    missing = [path for path in paths if not os.path.lexists(path)]
    if missing:
        print(f"fray migrate: there is no file or folder {missing[0]}", file=sys.stderr)
        return NOT_FOUND
    found = [file for path in paths for file in find_files(path)]
    files = list({_place(file): file for file in reversed(found)}.values())[::-1]
    try:
        with _deep_programs():
            outcomes = move(files, to_ray() if options.to_ray else from_ray(options.sync_tests))
    except RecursionError:
        print(
            "fray migrate: the variables of these programs are made of one another over too many steps to be followed; "
            "nothing is written; give fewer files at once",
            file=sys.stderr,
        )
        return FAILED
    if options.diff:
        for outcome in outcomes:
            diff = _diff(outcome)
            if diff:
                show(diff.removesuffix("\n"))
    checked = options.check or options.diff
    if not checked:
        changes = {item.path: (item.before, item.after) for item in outcomes if item.changed}
        try:
            write_all(changes)
        except RefusedError as error:
            print(f"fray migrate: {error}", file=sys.stderr)
            return FAILED
    if options.json:
        show_json(as_json(outcomes), indent=2)
    elif options.diff:
        print(as_text(outcomes, checked), file=sys.stderr)
    else:
        show(as_text(outcomes, checked))
    refused = any(item.state is State.REFUSED for item in outcomes)
    would_change = options.check and any(item.changed for item in outcomes)
    return FAILED if refused or would_change else OK


def _place(file: Path) -> Path:
    """Return one path for all that lead to the same file; a link stays itself."""
    return file.parent.resolve() / file.name


def _path(word: str) -> Path:
    if not word:
        raise argparse.ArgumentTypeError("a path is empty; write . for this folder")
    return Path(word)


@contextlib.contextmanager
def _deep_programs() -> Generator[None]:
    """Raise the recursion limit, so that a value can be followed through some hundred variables.

    Each of these steps takes a dozen nested Python calls.
    """
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _MOST_CALLS))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fray migrate",
        description="Rewrite programs for Ray to Fray's own API. What has no counterpart stays, with a comment.",
        epilog="Exit codes: 0 done; 1 a file was refused, or --check found something to do; 2 wrong use; 3 no file",
    )
    parser.add_argument("paths", nargs="+", type=_path, metavar="PATH", help="Programs, notebooks, or folders of them")
    parser.add_argument("--check", action="store_true", help="Write nothing; exit code 1 where something would change")
    parser.add_argument("--diff", action="store_true", help="Write nothing; show what would change")
    parser.add_argument("--json", action="store_true", help="Print the report as JSON")
    parser.add_argument("--to-ray", action="store_true", help="The other way: from Fray's API to Ray's")
    parser.add_argument(
        "--sync-tests", action="store_true", help="Tests start a LocalJobContext, in their own process, and no engine"
    )
    return parser


def _diff(outcome: Outcome) -> str:
    if not outcome.changed:
        return ""
    name = str(outcome.path).lstrip("/")
    lines = difflib.unified_diff(
        list(io.StringIO(outcome.before_text)),  # whose lines end at a newline alone, as those of `patch`
        list(io.StringIO(outcome.after_text)),
        f"a/{name}",
        f"b/{name}",
    )
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)
