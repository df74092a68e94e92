"""What workers mirror of their driver."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from fray.backend.native.launch import worker_key
from fray.errors import SettingsError


def flat_to_dict(flat: list[str]) -> dict[str, str]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def test_workers_get_the_interpreter_the_path_the_folder_and_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAY_UNIT_TEST", "a=b\n")
    command, path, folder, flat = worker_key()
    assert command[0] == sys.executable
    assert [entry for entry in sys.path if entry] == [entry for entry in path if entry in sys.path]
    assert folder == os.getcwd()
    assert flat_to_dict(flat) == dict(os.environ)


def test_a_runtime_env_adds_to_the_environment_and_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAY_UNIT_TEST", "of the driver")
    environment = flat_to_dict(worker_key({"FRAY_UNIT_TEST": "of the task", "FRAY_UNIT_NEW": "1"})[3])
    assert environment["FRAY_UNIT_TEST"] == "of the task"
    assert environment["FRAY_UNIT_NEW"] == "1"


def test_the_empty_entry_of_the_path_becomes_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["", "/somewhere"])
    assert worker_key()[1] == [os.getcwd(), "/somewhere"]


@pytest.mark.parametrize("nothing", ["", None])
def test_an_interpreter_that_nobody_knows_is_named_before_a_node_starts(
    monkeypatch: pytest.MonkeyPatch, nothing: str | None
) -> None:
    monkeypatch.setattr(sys, "executable", nothing)
    with pytest.raises(SettingsError, match=r"sys\.executable"):
        worker_key()


def test_the_same_surroundings_give_the_same_key() -> None:
    assert worker_key() == worker_key({})


@pytest.mark.parametrize(
    "flags",
    [
        ["-O"],
        ["-OO"],
        ["-B"],
        ["-E"],
        ["-s"],
        ["-X", "utf8=1"],
        ["-X", "dev"],
        ["-W", "error::FutureWarning"],
    ],
    ids=" ".join,
)
def test_interpreter_flags_are_handed_on(flags: list[str]) -> None:
    """An interpreter that is started with the flags found has the same flags."""
    show = (
        "import json, sys\n"
        "from fray.backend.native.launch import worker_key\n"
        "print(json.dumps([worker_key()[0][1:], list(sys.flags), sys._xoptions, sys.warnoptions]))\n"
    )
    first = json.loads(subprocess.check_output([sys.executable, *flags, "-c", show], text=True))
    second = json.loads(subprocess.check_output([sys.executable, *first[0], "-c", show], text=True))
    assert first[1:] == second[1:]
