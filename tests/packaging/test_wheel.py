"""What is in the wheel, and what is not."""

from __future__ import annotations

import email
import re
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def archive(wheel: Path) -> Iterator[zipfile.ZipFile]:
    with zipfile.ZipFile(wheel) as opened:
        yield opened


def files(archive: zipfile.ZipFile) -> list[str]:
    return [name for name in archive.namelist() if not name.endswith("/")]


def metadata(archive: zipfile.ZipFile) -> email.message.Message:
    (name,) = [name for name in files(archive) if name.endswith(".dist-info/METADATA")]
    return email.message_from_string(archive.read(name).decode())


def test_the_extension_the_program_and_the_stubs_are_in_it(archive: zipfile.ZipFile) -> None:
    names = files(archive)
    assert len([name for name in names if re.fullmatch(r"fray/_native\.[^/]*so", name)]) == 1
    assert "fray/_native.pyi" in names
    assert "fray/py.typed" in names
    assert "fray/_bin/fray" in names


@pytest.mark.parametrize("name", ["fray", "fray-supervisor", "fray-guardian"])
def test_a_program_is_in_it_once_and_may_be_executed(archive: zipfile.ZipFile, name: str) -> None:
    copies = [entry for entry in files(archive) if Path(entry).name == name]
    programs = [entry for entry in copies if archive.read(entry).startswith(b"\x7fELF")]
    assert programs == [f"fray/_bin/{name}"]
    for copy in copies:
        assert (archive.getinfo(copy).external_attr >> 16) & stat.S_IXUSR


def test_the_command_is_a_few_lines_that_become_the_program(archive: zipfile.ZipFile) -> None:
    scripts = [name for name in files(archive) if ".data/scripts/" in name]
    assert [Path(name).name for name in scripts] == ["fray"]
    assert archive.getinfo(scripts[0]).file_size < 2000
    assert "exec" in archive.read(scripts[0]).decode()


def test_each_plug_has_an_extra_and_all_of_them_are_one(archive: zipfile.ZipFile) -> None:
    fields = metadata(archive)
    extras = set(fields.get_all("Provides-Extra", []))
    plugs = {"dask", "joblib", "migrate", "numpy", "otel", "profile", "pytest", "ray", "report", "top"}
    assert plugs | {"all"} <= extras
    (everything,) = [line for line in fields.get_all("Requires-Dist", []) if re.search(r"extra == .all.", line)]
    assert set(re.findall(r"\w+", everything.partition("[")[2].partition("]")[0])) == plugs


def test_what_users_get_is_small_and_without_debug_information(users_wheel: Path, tmp_path: Path) -> None:
    assert users_wheel.stat().st_size <= 12_000_000
    with zipfile.ZipFile(users_wheel) as archive:
        assert sum(entry.file_size for entry in archive.infolist()) <= 30_000_000
        for name in files(archive):
            if archive.read(name).startswith(b"\x7fELF"):
                path = archive.extract(name, tmp_path)
                listing = subprocess.run(["readelf", "-WS", path], capture_output=True, text=True, check=True).stdout
                assert not re.findall(r"\.debug_\w+|\.symtab", listing), name


def test_what_users_get_is_for_systems_as_old_as_debian_12(users_wheel: Path) -> None:
    assert re.search(r"-manylinux_2_(\d+)_x86_64\.whl$", users_wheel.name)
    assert int(re.findall(r"manylinux_2_(\d+)", users_wheel.name)[0]) <= 36
    with zipfile.ZipFile(users_wheel) as archive:
        assert not [name for name in files(archive) if name.startswith("fray.libs/")]


def test_every_module_of_the_package_is_in_it_and_nothing_else(archive: zipfile.ZipFile) -> None:
    source = {str(path.relative_to(ROOT / "python")) for path in (ROOT / "python" / "fray").rglob("*.py")}
    assert {name for name in files(archive) if name.endswith(".py")} == source
    top = {name.split("/")[0] for name in files(archive)}
    assert {name for name in top if not name.startswith("fray-")} == {"fray", "fray_as_ray.pth"}
    others = [name for name in files(archive) if not name.startswith("fray/_cpp/")]
    assert not [name for name in others if re.search(r"__pycache__|\.(pyc|cc|h|o|a|cmake|orig)$", name)]


def test_the_cpp_package_is_in_it(archive: zipfile.ZipFile) -> None:
    package = {name.removeprefix("fray/_cpp/") for name in files(archive) if name.startswith("fray/_cpp/")}
    headers = {f"include/fray/{path.name}" for path in (ROOT / "include" / "fray").glob("*.h")}
    assert package == headers | {
        "include/fray.h",
        "lib/libfray.so",
        "lib/libfray.so.1",
        "lib/cmake/fray/frayConfig.cmake",
        "lib/cmake/fray/frayConfigVersion.cmake",
        "lib/pkgconfig/fray.pc",
        "libexec/fray/fray-cpp-worker",
    }


def test_the_dashboards_page_is_in_it_with_all_that_it_loads(archive: zipfile.ZipFile) -> None:
    built = ROOT / "build" / "dashboard"
    if not (built / "index.html").exists():
        pytest.skip("the page is not built: there is no Node.js, or DASHBOARD=no was given")
    names = {name.removeprefix("fray/_dashboard/") for name in files(archive) if name.startswith("fray/_dashboard/")}
    assert names == {str(path.relative_to(built)) for path in built.rglob("*") if path.is_file()}
    page = archive.read("fray/_dashboard/index.html").decode()
    loaded = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert len(loaded) >= 3
    assert {url.removeprefix("/dashboard/") for url in loaded} <= names
    assert "licences.md" in names
    assert sum(archive.getinfo(f"fray/_dashboard/{name}").file_size for name in names) < 600_000


def test_name_version_licence_and_dependencies_are_those_of_the_project(archive: zipfile.ZipFile) -> None:
    version = re.search(r'^VERSION = "(.*)"$', (ROOT / "python" / "fray" / "_version.py").read_text(), re.MULTILINE)
    assert version is not None
    fields = metadata(archive)
    assert (fields["Name"], fields["Version"]) == ("fray", version[1])
    assert fields["License-Expression"] == "Apache-2.0"
    assert any(name.endswith("LICENSE") for name in files(archive))
    needed = [line for line in fields.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert [re.split(r"[<>=!~ ;\[]", line)[0] for line in needed] == ["cloudpickle", "packaging", "uv"]


def test_no_path_of_the_machine_it_was_built_on_is_in_it(archive: zipfile.ZipFile) -> None:
    needle = str(ROOT).encode()
    for name in files(archive):
        assert needle not in archive.read(name), name


def test_its_name_says_which_python_and_which_system(wheel: Path) -> None:
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert re.fullmatch(rf"fray-[0-9.]+-{python}-(abi3|{python})-(many)?linux\w+\.whl", wheel.name)


def test_its_binaries_need_only_libraries_that_a_plain_system_has(archive: zipfile.ZipFile, tmp_path: Path) -> None:
    """A wheel that needs boost or spdlog from the machine does not run on another one."""
    allowed = re.compile(r"(libfray|libc|libm|libstdc\+\+|libgcc_s|libpthread|libdl|librt|ld-linux-[\w-]+)\.so\.\d+")
    for name in files(archive):
        if archive.read(name).startswith(b"\x7fELF"):
            path = Path(archive.extract(name, tmp_path))
            listing = subprocess.run(["readelf", "-d", str(path)], capture_output=True, text=True, check=True).stdout
            needed = re.findall(r"\(NEEDED\).*\[(.*)\]", listing)
            assert [library for library in needed if not allowed.fullmatch(library)] == []
