"""`fray doctor` on this very machine; its rules are tested in src/cli/doctor_rules_test.cc."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.unit.cli.conftest import Program


def checks_of(text: str) -> dict[str, dict[str, Any]]:
    report = json.loads(text)
    assert report["schema"] == "fray/v1"
    return {check["check"]: check for check in report["checks"]}


def test_the_machine_of_the_tests_is_fit(fray_program: Program) -> None:
    done = fray_program("doctor", "--json")
    failed = [check for check in checks_of(done.stdout).values() if check["verdict"] == "failed"]
    assert (done.returncode, failed, done.stderr) == (0, [], "")


def test_each_line_has_a_mark_and_no_colour_in_a_pipe(fray_program: Program) -> None:
    lines = fray_program("doctor").stdout.splitlines()
    marked = [line for line in lines if line[:2] in ("✓ ", "! ", "✗ ")]
    assert len(marked) >= 15
    assert "\x1b" not in "".join(lines)


def test_a_run_folder_that_others_can_enter_fails_with_the_remedy(fray_program: Program, home: Path) -> None:
    (home / "run").mkdir()
    (home / "run").chmod(0o777)
    done = fray_program("doctor", "--json")
    check = checks_of(done.stdout)["run folder"]
    assert done.returncode == 1
    assert check["verdict"] == "failed"
    assert "0777" in check["found"]
    assert "FRAY_HOME" in check["remedy"]


def test_a_home_with_a_path_too_long_for_sockets_fails(fray_program: Program, home: Path) -> None:
    done = fray_program("doctor", "--json", env={"FRAY_HOME": str(home / ("x" * 90))})
    assert checks_of(done.stdout)["run folder"]["verdict"] == "failed"


def test_it_makes_no_folder(fray_program: Program, home: Path) -> None:
    fray_program("doctor")
    assert list(home.iterdir()) == []


def test_a_package_of_another_release_fails(fray_program: Program, home: Path) -> None:
    package = home / "fray"
    package.mkdir()
    (package / "__init__.py").write_text("__version__ = '0.0.1'\n")
    (package / "_native.py").write_text("RELEASE = '0.0.1'\n")
    done = fray_program("doctor", "--json", env={"PYTHONPATH": str(home)})
    check = checks_of(done.stdout)["python"]
    assert (done.returncode, check["verdict"]) == (1, "failed")
    assert "0.0.1" in check["found"]


def test_a_wrong_colour_is_wrong_usage(fray_program: Program) -> None:
    assert fray_program("doctor", "--color", "blue").returncode == 2
