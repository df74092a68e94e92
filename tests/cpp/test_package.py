"""The C++ package: found by CMake and pkg-config, with g++ and clang, from a wheel and from an installation."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import fray
import pytest

from tests.cpp.conftest import PACKAGE
from tools.docs.cpp_pages import cpp_pages

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CLANG = shutil.which("clang++-16") or shutil.which("clang++")


def run(*command: str | Path, **environment: str) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=110, env={**os.environ, **environment}, cwd="/"
    )
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def fray_config(option: str) -> str:
    return run(Path(fray.__file__).parent / "_bin" / "fray", "config", option).strip()


def build_consumer(folder: Path, compiler: str, cmake_dir: str) -> Path:
    source = folder / "source"
    shutil.copytree(HERE / "consumer", source)  # nothing of the tree may be found by accident
    build = folder / "build"
    run(
        "cmake", "-G", "Ninja", "-S", source, "-B", build, f"-Dfray_DIR={cmake_dir}", f"-DCMAKE_CXX_COMPILER={compiler}"
    )
    run("cmake", "--build", build)
    return build


@pytest.mark.parametrize("compiler", ["g++", pytest.param(CLANG, marks=pytest.mark.skipif(CLANG is None, reason=""))])
def test_consumer_project_finds_the_wheel_and_runs(tmp_path: Path, compiler: str) -> None:
    build = build_consumer(tmp_path, compiler, fray_config("--cmake-dir"))
    assert run(build / "consumer") == "110\n"
    assert run(build / "consumer", build / "libjobs.so") == "110\n"
    with fray.init(cpus=1) as ctx:
        price = fray.cpp(build / "libjobs.so").function("price")
        assert ctx.get(ctx.run(price, {"item": "pear", "count": 2})) == 5.0


def test_installation_can_be_moved_and_its_programs_run(tmp_path: Path) -> None:
    first, moved = tmp_path / "first", tmp_path / "moved"
    run("cmake", "--install", ROOT / "build" / "dev", "--component", "cpp", "--prefix", first)
    first.rename(moved)
    cmake_dir = run(moved / "bin" / "fray", "config", "--cmake-dir").strip()
    assert cmake_dir == str(moved / "lib" / "cmake" / "fray")
    build = build_consumer(tmp_path, "g++", cmake_dir)
    assert run(build / "consumer") == "110\n"


def test_pkg_config_gives_the_flags_of_a_c_program(tmp_path: Path) -> None:
    flags = run("pkg-config", "--cflags", "--libs", "fray", PKG_CONFIG_PATH=fray_config("--pkg-config-dir")).split()
    flags.remove("-std=c++20")
    program = tmp_path / "plain"
    run("gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", HERE / "programs" / "plain.c", "-o", program, *flags)
    assert run(program) == "-42\n"


def test_library_exports_its_c_interface_and_nothing_else() -> None:
    listing = run("nm", "-D", "--defined-only", PACKAGE / "lib" / "libfray.so.1")
    names = [line.split()[-1] for line in listing.splitlines()]
    assert "fray_submit@@FRAY_1" in names
    assert [name for name in names if not name.startswith(("fray_", "FRAY_1"))] == []


def test_every_function_of_the_header_is_exported() -> None:
    import re

    header = (PACKAGE / "include" / "fray.h").read_text()
    declared = set(re.findall(r"\b(fray_[a-z0-9_]+)\(", re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)))
    listing = run("nm", "-D", "--defined-only", PACKAGE / "lib" / "libfray.so.1")
    assert declared - {line.split()[-1].split("@")[0] for line in listing.splitlines()} == set()


HEADERS = [path.name for path in (ROOT / "include" / "fray").glob("*.h")]


@pytest.mark.parametrize("name", HEADERS)
def test_every_header_stands_alone_and_has_its_contract(tmp_path: Path, name: str) -> None:
    source = tmp_path / "alone.cc"
    source.write_text(f"#include <fray/{name}>\n")
    include = PACKAGE / "include"
    run("g++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{include}", source)
    text = (include / "fray" / name).read_text()
    assert "// Threading" in text
    assert "Ownership" in text
    assert "Failure" in text


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("struct Own { int x; }; int f(Own) { return 1; } FRAY_TASK(f);", "a parameter's type cannot travel"),
        ("int f(int& out) { return out; } FRAY_TASK(f);", "a parameter's type cannot travel"),
        ("struct Own { int x; }; Own f() { return {}; } FRAY_TASK(f);", "the result's type cannot travel"),
        ("int f(int a) { return a; } auto r = fray::submit(f, std::string());", "another type than the parameter"),
        ("int f(int a) { return a; } auto r = fray::submit(f);", "another number of arguments"),
        (
            "int f(int a) { return a; } auto r = fray::submit(f, fray::ObjectRef<std::string>());",
            "the ref stands for a value of another type",
        ),
    ],
)
def test_what_cannot_travel_does_not_compile_and_says_why(tmp_path: Path, code: str, said: str) -> None:
    source = tmp_path / "wrong.cc"
    source.write_text(f"#include <fray/api.h>\n{code}\n")
    command = ["g++", "-std=c++20", "-fsyntax-only", f"-I{PACKAGE / 'include'}", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode != 0
    assert said in done.stderr


@pytest.mark.skipif(shutil.which("doxygen") is None, reason="doxygen is not installed")
def test_headers_are_clean_for_doxygen_and_have_a_page_each(tmp_path: Path) -> None:
    settings = (ROOT / "tools" / "docs" / "Doxyfile").read_text() + f"OUTPUT_DIRECTORY = {tmp_path}\n"
    (tmp_path / "Doxyfile").write_text(settings)
    done = subprocess.run(["doxygen", tmp_path / "Doxyfile"], cwd=ROOT, capture_output=True, text=True, timeout=110)
    assert (done.returncode, done.stderr) == (0, "")
    pages = cpp_pages(tmp_path / "xml")
    assert {f"{header.name}.md" for header in (ROOT / "include").rglob("*.h")} == set(pages)
    assert "for a task whose worker died; -1 for no limit" in pages["task.h.md"]
    assert (
        "Returns the last failure of this thread. The texts are valid until the next call that fails."
        in pages["fray.h.md"]
    )
