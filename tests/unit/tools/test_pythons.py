"""Which Pythons get a wheel; those of the machine are played by scripts that answer as a Python would."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tools import pythons

FIT: dict[str, Any] = {"kind": "cpython", "free_threaded": False, "headers": True}

Place = Callable[..., Path]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Puts a Python into `tmp_path / folder`; the PATH and pyenv's folder are below `tmp_path`."""
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))

    def make(folder: str, version: tuple[int, int, int], **facts: Any) -> Path:
        program = tmp_path / folder / f"python3.{version[1]}"
        program.parent.mkdir(parents=True, exist_ok=True)
        answer = json.dumps({**FIT, "version": version, "program": str(program), **facts})
        program.write_text(f"#!{sys.executable}\nprint({answer!r})\n")
        program.chmod(0o755)
        return program

    return make


def test_pythons_on_the_path_and_of_pyenv_are_found_oldest_first(place: Place) -> None:
    of_pyenv = place("pyenv/versions/3.13.0/bin", (3, 13, 0))
    on_path = place("path", (3, 11, 2))
    found = pythons.find()
    assert [(each.version, each.full_version, each.program) for each in found] == [
        ("3.11", "3.11.2", on_path),
        ("3.13", "3.13.0", of_pyenv),
    ]


def test_of_one_version_that_on_the_path_is_taken_and_of_pyenvs_the_newest(place: Place) -> None:
    on_path = place("path", (3, 11, 2))
    place("pyenv/versions/3.11.7/bin", (3, 11, 7))
    place("pyenv/versions/3.12.9/bin", (3, 12, 9))
    newest = place("pyenv/versions/3.12.10/bin", (3, 12, 10))
    assert [each.program for each in pythons.find()] == [on_path, newest]


def test_python_older_than_311_is_not_asked_and_one_that_does_not_run_is_passed_over(
    place: Place, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    place("path", (3, 10, 1))
    stand_in = tmp_path / "path" / "python3.12"
    stand_in.write_text("#!/bin/sh\nexit 127\n")
    stand_in.chmod(0o755)
    real = place("pyenv/versions/3.12.1/bin", (3, 12, 1))
    assert [each.program for each in pythons.find()] == [real]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"headers": False}, "no headers.*apt-get install python3.12-dev"),
        ({"free_threaded": True}, "no global interpreter lock"),
        ({"kind": "pypy"}, "is pypy"),
    ],
)
def test_python_that_cannot_have_a_wheel_is_left_out_with_the_reason(
    place: Place, capfd: pytest.CaptureFixture[str], facts: dict[str, Any], words: str
) -> None:
    place("path", (3, 12, 4), **facts)
    place("path", (3, 11, 2))
    assert [each.version for each in pythons.find()] == ["3.11"]
    assert re.search(words, capfd.readouterr().err)
    with pytest.raises(pythons.Trouble, match=words):
        pythons.find(["3.12"])


def test_unfit_python_gives_way_to_a_fit_one_of_its_version(place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    place("path", (3, 12, 4), headers=False)
    fit = place("pyenv/versions/3.12.1/bin", (3, 12, 1))
    assert [each.program for each in pythons.find()] == [fit]
    assert capfd.readouterr().err == ""


def test_version_that_is_not_there_is_named_with_what_brings_it_and_what_there_is(place: Place) -> None:
    place("path", (3, 11, 2))
    with pytest.raises(pythons.Trouble, match=r"no Python 3\.14.*apt-get install python3\.14-dev.*found"):
        pythons.find(["3.11", "3.14"])


def test_machine_without_any_python_is_told_which_to_install(place: Place) -> None:
    with pytest.raises(pythons.Trouble, match=r"no Python 3\.11.*apt-get install python3\.11-dev"):
        pythons.find()


@pytest.mark.parametrize("text", ["3.10", "2.7", "python3.12", "3", "3.12.1", "", "3.x"])
def test_what_is_no_version_from_311_on_is_refused(place: Place, text: str) -> None:
    with pytest.raises(pythons.Trouble, match=r"PYTHONS names versions from 3\.11 on"):
        pythons.find([text])
