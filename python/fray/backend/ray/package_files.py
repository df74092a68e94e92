"""Makes the environment of a program complete for other machines: local files that it names are sent with it.

A file of requirements becomes its lines. Wheels, archives and folders among the packages become part of the package
that the working folder is sent as, in a folder of their own, and pip finds them there.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

__all__ = ["self_contained", "with_lines", "with_whole_paths"]

_FOLDER = "fray_packages"
_THERE = "${RAY_RUNTIME_ENV_CREATE_WORKING_DIR}"
"""The variable with the folder in which Ray unpacks the package; pip expands it."""
_LINE = re.compile(
    r"^(?P<before>(?:-e|--editable)[ =]+|(?:[A-Za-z0-9._-]+(?:\[[^]]*\])? *@ *))?"
    r"(?P<place>[^;#]+?)(?P<after>\s*;.*)?$"
)
"""A requirement line with a path: what precedes the path, the path, and the environment marker."""


def with_lines(runtime_env: Mapping[str, Any]) -> dict[str, Any]:
    """Return an equal environment with the lines of a file of requirements in the place of its path."""
    found = dict(runtime_env)
    for installer in ("pip", "uv"):
        given = found.get(installer)
        if isinstance(given, Mapping):
            found[installer] = {**given, "packages": _lines(given.get("packages", []))}  # pyright: ignore
        elif given:
            found[installer] = _lines(given)
    return found


def with_whole_paths(packages: Sequence[str]) -> list[str]:
    """Return the lines, for a file in any folder: paths whole, and files of requirements replaced by their lines."""
    return [line for each in packages for line in _expanded(each.strip(), os.getcwd())]


@contextmanager
def self_contained(runtime_env: Mapping[str, Any]) -> Generator[dict[str, Any]]:
    """Give, inside the block, an equal environment that another machine can build.

    Raises:
        ValueError: a file or folder among the packages that is not there.
    """
    found = with_lines(runtime_env)
    installer = next((name for name in ("pip", "uv") if found.get(name)), "")
    given: Any = found.get(installer) or []
    options = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    lines = cast("list[str]", options["packages"] if options else given)
    local = {line: path for line in lines if (path := _local_path(line)) is not None}
    if not local:
        yield found
        return
    with tempfile.TemporaryDirectory(prefix="fray-package-") as staged:
        names = _stage(staged, found.get("working_dir"), list(local.values()))
        renamed = [_renamed(line, names[local[line]]) if line in local else line for line in lines]
        found[installer] = {**options, "packages": renamed} if options else renamed
        found["working_dir"] = staged
        yield found


def _lines(packages: str | Sequence[str]) -> list[str]:
    """Return the requirement lines of a file and of the files that it names, or the lines given."""
    if not isinstance(packages, str):
        return [line for each in packages for line in _expanded(each, "")]
    return _lines_of_file(packages)


def _lines_of_file(path: str) -> list[str]:
    text = Path(path).read_text()
    folder = os.path.dirname(os.path.abspath(path))
    lines = [line.strip() for line in text.replace("\\\n", " ").splitlines()]
    return [found for line in lines if line and not line.startswith("#") for found in _expanded(line, folder)]


def _expanded(line: str, folder: str) -> list[str]:
    """Return a line with its path whole, or the lines of the file that it names."""
    named = re.match(r"^(?:-r|--requirement)[ =]+(.+)$", line)
    if named:
        return _lines_of_file(os.path.join(folder, named.group(1).strip()))
    match = _LINE.match(line)
    if folder and match and match.group("place").startswith(("./", "../", ".\\")):
        whole = os.path.join(folder, match.group("place"))
        return [f"{match.group('before') or ''}{os.path.normpath(whole)}{match.group('after') or ''}"]
    return [line]


def _local_path(line: str) -> str | None:
    """Return the file or folder on this disk that a requirement line names."""
    match = _LINE.match(line.strip())
    if match is None or (line.startswith(("--", "-i", "-f", "-c")) and not line.startswith("--editable")):
        return None
    place = match.group("place").strip()
    if place.startswith("file:"):
        place = unquote(urlsplit(place).path)
    elif "://" in place or (not place.startswith((".", "/", "~")) and not place.endswith((".whl", ".tar.gz", ".zip"))):
        return None
    extras = re.match(r"^(.*?)(\[[^]]*\])$", place)
    path = os.path.abspath(os.path.expanduser(extras.group(1) if extras else place))
    if not os.path.exists(path):
        raise ValueError(f"the requirement {line!r} names {path}, which is not there")
    return path


def _stage(staged: str, working_dir: str | None, paths: Sequence[str]) -> dict[str, str]:
    """Fill a folder with links to what the working folder has and to `paths`; return what those are called there."""
    if working_dir and os.path.isdir(working_dir):
        for entry in os.scandir(working_dir):
            if entry.name != _FOLDER:
                os.symlink(os.path.abspath(entry.path), os.path.join(staged, entry.name))
    elif working_dir:
        shutil.unpack_archive(working_dir, staged)
    folder = os.path.join(staged, _FOLDER)
    os.mkdir(folder)
    for ignoring in (".gitignore", ".rayignore"):
        # Include all: files that the workspace ignores, such as wheels, are needed here.
        Path(folder, ignoring).write_text("!*\n!**\n")
    names: dict[str, str] = {}
    for number, path in enumerate(dict.fromkeys(paths)):
        os.mkdir(os.path.join(folder, str(number)))
        # The file keeps its name, because the name of a wheel has its version and platform.
        names[path] = f"{_FOLDER}/{number}/{os.path.basename(path)}"
        os.symlink(path, os.path.join(staged, names[path]))
    return names


def _renamed(line: str, name: str) -> str:
    match = _LINE.match(line.strip())
    assert match is not None
    before = match.group("before") or ""
    extras = re.search(r"\[[^]]*\]$", match.group("place").strip())
    there = f"{_THERE}/{name}"
    place = f"file://{there}" if "@" in before else f"{there}{extras.group() if extras else ''}"
    return f"{before}{place}{match.group('after') or ''}"
