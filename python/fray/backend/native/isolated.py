"""Isolated environments of jobs: virtual environments that have what the workspace and the request name, and no more.

uv makes them in the user's cache. They are named after their content, so jobs that ask for the same packages share one.
Each has a symbolic link to Fray, so that a job has the same release as the program that launches it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from fray.backend.native.job_environment import requirements_of_extras
from fray.cluster.environment import EnvironmentConfig
from fray.errors import RuntimeEnvError, UnsupportedError

__all__ = ["isolated_environment", "variables_of", "without_packages"]

_LINKED = ("fray", "cloudpickle", "packaging")
"""The packages that the process of a job itself needs; they are linked from this environment."""
_COMPLETE = ".fray-complete"
_SHOWN_LINES = 30


def isolated_environment(environment: EnvironmentConfig) -> str:
    """Return the folder of the virtual environment for a job, which is made unless it is there.

    It has the dependencies of the workspace's package, with the extras asked for, and the further packages.

    Raises:
        UnsupportedError: a container image is asked for too, or uv is not installed.
        RuntimeEnvError: uv cannot install the packages; the message has its last lines.
        ValueError: an extra that the package does not have.
    """
    if environment.docker_image is not None:
        raise UnsupportedError(
            f"use_isolated_env and the image {environment.docker_image!r} both say which packages there are; "
            "leave one of them out"
        )
    workspace = environment.workspace or os.getcwd()
    lines = [*_dependencies(workspace), *requirements_of_extras(workspace, environment.extras)]
    lines += [_with_whole_path(line, workspace) for line in environment.pip_packages]
    place = _cache() / _name_of(lines)
    place.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{place}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second process waits here and finds the environment complete
        if not (place / _COMPLETE).exists():
            shutil.rmtree(place, ignore_errors=True)
            try:
                _make(place, lines, workspace)
            except BaseException:
                shutil.rmtree(place, ignore_errors=True)
                raise
    return str(place)


def variables_of(folder: str, given: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a job in that environment; `given` are those that it would have without it."""
    kept = {name: value for name, value in given.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    path = os.pathsep.join([os.path.join(folder, "bin"), given.get("PATH", os.defpath)])
    return {**kept, "VIRTUAL_ENV": folder, "PATH": path, "PYTHONNOUSERSITE": "1"}


def without_packages(module_path: Sequence[str]) -> list[str]:
    """Return a module path without this interpreter's own folders and those of packages."""
    own = {os.path.realpath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return [
        entry
        for entry in module_path
        if not entry.endswith(("site-packages", "dist-packages", ".zip"))
        and not any(os.path.realpath(entry).startswith(folder) for folder in own)
    ]


def _dependencies(workspace: str) -> list[str]:
    try:
        project: dict[str, Any] = tomllib.loads((Path(workspace) / "pyproject.toml").read_text()).get("project", {})
    except FileNotFoundError:
        return []
    except tomllib.TOMLDecodeError as error:
        raise RuntimeEnvError(f"use_isolated_env: {workspace}/pyproject.toml cannot be read: {error}") from None
    return list(project.get("dependencies", []))


def _with_whole_path(line: str, workspace: str) -> str:
    return os.path.abspath(os.path.join(workspace, line)) if line.startswith(("./", "../")) else line


def _name_of(lines: Sequence[str]) -> str:
    """Return a name that is a hash of the lines, and of the content of files that they name."""
    digest = hashlib.sha256(f"{sys.version}\n{sys.executable}\n{_package_folder('fray')}".encode())
    for line in lines:
        digest.update(f"\n{line}".encode())
        path = Path(line)
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()[:24]


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(home) / "fray" / "isolated"


def _make(place: Path, lines: Sequence[str], workspace: str) -> None:
    uv = _uv()
    _run([uv, "venv", "--quiet", "--python", sys.executable, str(place)], workspace)
    if lines:
        requirements = place / "fray-requirements.txt"
        requirements.write_text("".join(f"{line}\n" for line in lines))
        python = str(place / "bin" / "python")
        _run([uv, "pip", "install", "--quiet", "--python", python, "-r", str(requirements)], workspace)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = place / "lib" / version / "site-packages"
    for name in _LINKED:
        with suppress(FileExistsError):  # the job asks for this package itself
            (packages / name).symlink_to(_package_folder(name))
    (place / _COMPLETE).touch()


def _package_folder(name: str) -> str:
    return str(Path(import_module(name).__path__[0]).resolve())


def _uv() -> str:
    try:
        return str(import_module("uv").find_uv_bin())
    except (ImportError, FileNotFoundError):
        found = shutil.which("uv")
    if found is None:
        raise UnsupportedError("use_isolated_env needs uv, which makes the environments; run `pip install uv`")
    return found


def _run(command: Sequence[str], folder: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = "\n".join(done.stderr.strip().splitlines()[-_SHOWN_LINES:])
        raise RuntimeEnvError(f"use_isolated_env: `{' '.join(command[:3])}` ended with code {done.returncode}:\n{last}")
