"""C++ programs and libraries, compiled against the installed package as a user would."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import fray
import pytest

PACKAGE = Path(fray.__file__).parent / "_cpp"
ROOT = Path(__file__).resolve().parents[2]


def shell(command: str, folder: Path) -> str:
    """Run a line of bash, with this interpreter's programs on the path, and return what it prints."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=110
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


def compile_cpp(source: Path, target: Path, *flags: str, compiler: str = "g++") -> Path:
    """Compile one file into a program, or with ``-shared`` into a library."""
    library = PACKAGE / "lib"
    command = [
        compiler,
        "-std=c++20",
        "-O1",
        "-fPIC",
        f"-I{PACKAGE / 'include'}",
        *flags,
        str(source),
        "-o",
        str(target),
    ]
    command += [f"-L{library}", "-lfray", f"-Wl,-rpath,{library}", "-rdynamic"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="session")
def jobs_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of tests/cpp/library.cc."""
    source = Path(__file__).parent / "programs" / "library.cc"
    return compile_cpp(source, tmp_path_factory.mktemp("cpp") / "libjobs.so", "-shared")


@pytest.fixture(scope="session")
def caller_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of tests/cpp/programs/caller.cc, which calls Python."""
    source = Path(__file__).parent / "programs" / "caller.cc"
    return compile_cpp(source, tmp_path_factory.mktemp("cpp") / "caller")


@pytest.fixture(scope="session")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the C++ examples, built."""
    build = tmp_path_factory.mktemp("examples")
    program = Path(fray.__file__).parent / "_bin" / "fray"
    shell(
        f"cmake -G Ninja -S {ROOT / 'examples' / 'cpp'} -B . -D fray_DIR=$({program} config --cmake-dir) "
        "-D CMAKE_BUILD_TYPE=Release && cmake --build .",
        build,
    )
    return build


@pytest.fixture
def ctx() -> Iterator[fray.JobContext]:
    """A native context of two CPUs."""
    from fray.backend.native import NativeJobContext

    with NativeJobContext(cpus=2) as context:
        yield context
