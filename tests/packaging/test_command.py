"""The command `fray` finds the program of its package in each layout that installers make."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.waiting import LONG_PATIENCE

PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
ANOTHER = f"python{sys.version_info.major}.{sys.version_info.minor - 1}"

LAYOUTS = {
    "a virtual environment": ("venv/bin", f"venv/lib/{PYTHON}/site-packages"),
    "one on a system with lib64": ("venv/bin", f"venv/lib64/{PYTHON}/site-packages"),
    "Debian's system": ("usr/local/bin", f"usr/local/lib/{PYTHON}/dist-packages"),
    "a user's installation": (".local/bin", f".local/lib/{PYTHON}/site-packages"),
    "pip install --target": ("target/bin", "target"),
    "a path with spaces and signs": ("my $HOME; 'x' *\n/bin", f"my $HOME; 'x' *\n/lib/{PYTHON}/site-packages"),
}


@pytest.fixture
def script(wheel: Path, tmp_path: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".data/scripts/fray")]
        path = Path(archive.extract(name, tmp_path / "wheel"))
    path.chmod(0o755)
    return path


def install(base: Path, script: Path, scripts: str, packages: str, says: str = "the program") -> Path:
    """Lays the command and, as its program, one that shows its arguments; returns the command."""
    program = base / packages / "fray" / "_bin" / "fray"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\necho {says}\nfor word in "$@"; do echo "<$word>"; done\nexit 7\n')
    program.chmod(0o755)
    (base / scripts).mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(script, base / scripts / "fray"))


def run(*command: str | Path, cwd: Path, path: str = "/usr/bin:/bin") -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, env={"PATH": path}, capture_output=True, text=True, timeout=LONG_PATIENCE)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_arguments_and_exit_code_go_through(tmp_path: Path, script: Path, layout: str) -> None:
    command = install(tmp_path, script, *LAYOUTS[layout])
    done = run(command, "job", "two words", "", "*", "--", "$HOME", cwd=tmp_path)
    assert done.stdout.splitlines() == ["the program", "<job>", "<two words>", "<>", "<*>", "<-->", "<$HOME>"]
    assert (done.returncode, done.stderr) == (7, "")


def test_links_to_the_command_lead_to_its_own_package(tmp_path: Path, script: Path) -> None:
    command = install(tmp_path, script, *LAYOUTS["a virtual environment"])
    install(tmp_path, script, *LAYOUTS["a user's installation"], says="another program")
    (tmp_path / ".local/bin/fray").unlink()
    (tmp_path / "between").symlink_to(command)
    (tmp_path / ".local/bin/fray").symlink_to("../../between")
    assert run(tmp_path / ".local/bin/fray", cwd=tmp_path).stdout == "the program\n"


def test_command_is_found_on_the_path_and_in_the_folder_itself(tmp_path: Path, script: Path) -> None:
    command = install(tmp_path, script, *LAYOUTS["a virtual environment"])
    assert run("fray", cwd=tmp_path, path=f"{command.parent}:/bin").stdout == "the program\n"
    assert run("/bin/sh", "fray", cwd=command.parent).stdout == "the program\n"
    assert run("venv/bin/fray", cwd=tmp_path).stdout == "the program\n"


def test_package_of_another_python_beside_it_is_not_taken(tmp_path: Path, script: Path) -> None:
    install(tmp_path, script, "venv/bin", f"venv/lib/{ANOTHER}/site-packages", says="another program")
    command = install(tmp_path, script, *LAYOUTS["a virtual environment"])
    assert run(command, cwd=tmp_path).stdout == "the program\n"


def test_without_its_package_it_says_how_to_get_it(tmp_path: Path, script: Path) -> None:
    command = install(tmp_path, script, *LAYOUTS["a virtual environment"])
    shutil.rmtree(tmp_path / "venv" / "lib")
    done = run(command, "status", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (127, "")
    assert f"{PYTHON} -m pip install --force-reinstall fray" in done.stderr
