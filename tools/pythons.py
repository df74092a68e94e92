"""The Pythons of this machine for which wheels are made, and a virtual environment for each in build/pythons.

pythons.py [3.12 ...]     lists those that are found, and why others are left out
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = ROOT / "build" / "pythons"
OLDEST = (3, 11)

_PROGRAM = re.compile(r"python(3)\.(\d+)")
# Printed by a candidate: what decides whether the bindings can be compiled for it.
_QUESTION = """
import json, os, sys, sysconfig
print(json.dumps({
    "version": sys.version_info[:3],
    "program": sys.executable,
    "kind": sys.implementation.name,
    "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    "headers": os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")),
}))
"""


class Trouble(Exception):
    """Something that the user can repair: one sentence that says with what command."""


@dataclass(frozen=True)
class Interpreter:
    """A Python for which a wheel can be made."""

    minor: int
    full_version: str
    program: Path

    @property
    def version(self) -> str:
        return f"3.{self.minor}"

    @property
    def tag(self) -> str:
        return f"cp3{self.minor}"

    @property
    def environment(self) -> Path:
        return ENVIRONMENTS / self.version

    @property
    def own_program(self) -> Path:
        """The Python of its environment."""
        return self.environment / "bin" / "python"


def find(wanted: Sequence[str] = ()) -> list[Interpreter]:
    """Return one Python a version, oldest first: those that are `wanted`, or all.

    Raises:
        Trouble: one that is wanted, or any at all, cannot be had.
    """
    versions = [_checked(text) for text in wanted]
    found: dict[int, Interpreter] = {}
    left_out: dict[int, str] = {}
    for minor, program in _candidates():
        if minor in found or (versions and minor not in versions):
            continue
        answer = _ask(program)
        if answer is None or answer["version"][1] != minor:
            continue
        if reason := _unfit(answer, program):
            left_out.setdefault(minor, reason)
        else:
            full = ".".join(map(str, answer["version"]))
            found[minor] = Interpreter(minor, full, Path(answer["program"]))
    reasons = [reason for minor, reason in sorted(left_out.items()) if minor not in found]
    missing = [minor for minor in versions or ([] if found else [OLDEST[1]]) if minor not in found]
    if missing:
        minor = missing[0]
        raise Trouble(left_out.get(minor) or _not_found(minor, found))
    for reason in reasons:
        print(f"left out: {reason}", file=sys.stderr)
    return [found[minor] for minor in sorted(found)]


def prepare(python: Interpreter, *extras: str) -> None:
    """Make the environment of `python` hold what builds a wheel, and these extras of pyproject.toml.

    Raises:
        Trouble: the packages cannot be had.
    """
    # The mark is written last: an environment without it is half done, and made anew.
    mark = python.environment / "packages.json"
    known = json.loads(mark.read_text()) if mark.exists() else {}
    if known.get("python") != python.full_version or not python.own_program.exists():
        known = {"extras": [], "packages": []}
    wanted = sorted({*known["extras"], *extras})
    lines = _packages(wanted)
    if known["packages"] == lines:
        return
    mark.unlink(missing_ok=True)
    # uv takes seconds where pip takes minutes: it compiles no bytecode, and links files that other environments have.
    uv = str(Path(sys.executable).parent / "uv")
    if not known["packages"]:
        _step(
            f"environment of Python {python.version}",
            [uv, "venv", "--quiet", "--seed", "--clear", "--python", str(python.program), str(python.environment)],
            f"{python.program} could not make a virtual environment in {python.environment}; see what is said above, "
            "then run the same command again",
        )
    _step(
        f"packages of Python {python.version}",
        [uv, "pip", "install", "--quiet", "--python", str(python.own_program), *lines],
        f"the packages for Python {python.version} could not be installed; see that the package registry is reached "
        "(`.venv/bin/uv pip install --dry-run pytest`), then run the same command again",
    )
    mark.write_text(json.dumps({"python": python.full_version, "extras": wanted, "packages": lines}, indent=1))


def _packages(extras: Sequence[str]) -> list[str]:
    command = [sys.executable, str(ROOT / "tools" / "python_packages.py"), *extras]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def _step(name: str, command: Sequence[str], trouble: str) -> None:
    if subprocess.run([str(ROOT / "tools" / "step"), name, *command], cwd=ROOT, check=False).returncode != 0:
        raise Trouble(trouble)


def _checked(text: str) -> int:
    match = re.fullmatch(r"3\.(\d+)", text)
    if match is None or (3, int(match[1])) < OLDEST:
        raise Trouble(f"PYTHONS names versions from 3.{OLDEST[1]} on, such as `PYTHONS='3.12 3.13'`; got {text!r}")
    return int(match[1])


def _candidates() -> Iterator[tuple[int, Path]]:
    """Programs that may be Pythons: those on the PATH first, then pyenv's, the newest of a version first."""
    folders = [Path(folder) for folder in os.get_exec_path() if folder]
    for folder in [*folders, *_pyenv_folders()]:
        try:
            programs = sorted(folder.iterdir())
        except OSError:
            continue
        for program in programs:
            match = _PROGRAM.fullmatch(program.name)
            if match and (int(match[1]), int(match[2])) >= OLDEST and os.access(program, os.X_OK):
                yield int(match[2]), program


def _pyenv_folders() -> list[Path]:
    versions = _pyenv_versions()
    try:
        found = [
            (tuple(int(part) for part in re.findall(r"\d+", path.name)), path / "bin") for path in versions.iterdir()
        ]
    except OSError:
        return []
    return [path for _, path in sorted(found, reverse=True)]


def _pyenv_versions() -> Path:
    return Path(os.environ.get("PYENV_ROOT") or "~/.pyenv").expanduser() / "versions"


def _ask(program: Path) -> dict[str, object] | None:
    """What a candidate says of itself; None: it does not run, as pyenv's stand-ins for versions that are not chosen."""
    # In no folder of the user's, and without the variables that would give it the modules of another Python.
    try:
        done = subprocess.run(
            [str(program), "-I", "-c", _QUESTION], capture_output=True, text=True, timeout=30, cwd="/"
        )
        return json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None


def _unfit(answer: dict[str, object], program: Path) -> str:
    version = ".".join(map(str, answer["version"][:2]))  # type: ignore[index]
    if answer["kind"] != "cpython":
        return f"{program} is {answer['kind']}, and Fray runs on CPython; put a CPython {version} on the PATH before it"
    if answer["free_threaded"]:
        return (
            f"{program} has no global interpreter lock, which Fray needs; put the usual build of {version} on the PATH"
        )
    if not answer["headers"]:
        return f"{program} has no headers to compile against; `apt-get install python{version}-dev` brings Debian's"
    return ""


def _not_found(minor: int, found: dict[int, Interpreter]) -> str:
    others = ", ".join(f"3.{each}" for each in sorted(found))
    return (
        f"no Python 3.{minor} was found on the PATH or in {_pyenv_versions()}; `apt-get install python3.{minor}-dev` "
        f"or `pyenv install 3.{minor}` brings one" + (f" (found: {others})" if others else "")
    )


def main() -> int:
    try:
        for python in find(sys.argv[1:]):
            print(f"{python.version:6} {python.full_version:8} {python.program}")
    except Trouble as trouble:
        print(trouble, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
