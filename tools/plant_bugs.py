"""tools/plant_bugs.py LIST --output FOLDER: writes copies of sources with bugs planted in them, for a simulator.

A simulator is worth something only while it finds bugs, so each module that has one keeps a list of them, beside it:

    bug failed_start_is_awaited: a worker whose start has failed is still counted as coming
    in worker_table.cc
    -   --info.asked;
    + if (!BUG) --info.asked;

The lines after `-`, as they are in that file of the module, become those after `+`. BUG is true when the environment
variable FRAY_BUG names the bug (base/sim/planted_bug.h), so one program has all of them. The lines must be in the file
exactly once: whoever changes them writes the bug anew. A bug may have several places.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

_BUG = re.compile(r"bug (\w+): \S.*")


class ListError(Exception):
    """What is wrong with a list, with the place."""


@dataclass
class Change:
    """Lines of a file, and the same lines with the bug."""

    bug: str
    file: str
    place: str
    old: list[str] = field(default_factory=list[str])
    new: list[str] = field(default_factory=list[str])


def read_list(path: Path) -> list[Change]:
    changes: list[Change] = []
    names: set[str] = set()
    bug = ""
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        place = f"{path}:{number}"
        if match := _BUG.fullmatch(line):
            bug = match[1]
            if bug in names:
                raise ListError(f"{place}: the bug {bug} is listed twice")
            names.add(bug)
        elif line.startswith("in ") and bug:
            changes.append(Change(bug, line.removeprefix("in ").strip(), place))
        elif line[:1] in ("-", "+") and changes and changes[-1].bug == bug:
            (changes[-1].old if line[0] == "-" else changes[-1].new).append(line[2:])
        elif line and not line.startswith("#"):
            raise ListError(f"{place}: expected `bug NAME: what goes wrong`, `in FILE`, or lines after - and +: {line}")
    for change in changes:
        if not change.old or not any("BUG" in line for line in change.new):
            raise ListError(f"{change.place}: needs lines after - and lines after +, with BUG in them")
    if missing := names - {change.bug for change in changes}:
        raise ListError(f"{path}: no change is listed for {', '.join(sorted(missing))}")
    return changes


def planted(text: str, changes: list[Change]) -> str:
    """The text of one file with its bugs in it."""
    for change in changes:
        old = "\n".join(change.old) + "\n"
        count = ("\n" + text).count("\n" + old)
        if count != 1:
            raise ListError(
                f"{change.place}: the lines of the bug {change.bug} are {count} times in {change.file}, not once: "
                "write the bug anew, after what the code is now"
            )
        new = "\n".join(change.new) + "\n"
        at = ("\n" + text).index("\n" + old)
        text = text[:at] + re.sub(r"\bBUG\b", f'FRAY_PLANTED("{change.bug}")', new) + text[at + len(old) :]
    return text


def write_copies(path: Path, output: Path) -> None:
    """Writes the changed files of the list's module to a folder, and removes those of an earlier list."""
    module = path.parent.parent
    by_file: dict[str, list[Change]] = {}
    for change in read_list(path):
        by_file.setdefault(change.file, []).append(change)
    output.mkdir(parents=True, exist_ok=True)
    for file, changes in by_file.items():
        source = module / file
        if not source.is_file():
            raise ListError(f"{changes[0].place}: {module.name} has no file {file}")
        text = planted(source.read_text(), changes)
        (output / file).parent.mkdir(exist_ok=True)
        (output / file).write_text(f'#include "base/sim/planted_bug.h"\n#line 1 "src/{module.name}/{file}"\n{text}')
    for old in output.rglob("*.*"):
        if str(old.relative_to(output)) not in by_file:
            old.unlink()


def main() -> int:
    parser = argparse.ArgumentParser(description="Plants bugs into copies of sources, for a simulator.")
    parser.add_argument("list", type=Path)
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER")
    arguments = parser.parse_args()
    try:
        write_copies(arguments.list, arguments.output)
    except ListError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
