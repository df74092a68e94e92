"""What a program is started with on a Ray, run by a shell as Ray does."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from fray import ResourceConfig
from fray.backend.ray.job_program import command_line, demand_of, name_in_id, variables_of


def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(line, shell=True, capture_output=True, text=True, cwd=folder)


def test_words_reach_the_program_as_they_are(tmp_path: Path):
    words = ["a b", "$HOME", "it's", "*", "", "&& exit 9"]
    done = run(command_line(["printf", "<%s>", *words], None, 0), tmp_path)
    assert done.stdout == "".join(f"<{word}>" for word in words)


def test_program_runs_in_its_folder_where_there_is_one(tmp_path: Path):
    folder = tmp_path / "it's a folder"
    folder.mkdir()
    assert run(command_line(["pwd"], str(folder), 0), tmp_path).stdout == f"{folder}\n"
    assert run(command_line(["pwd"], str(tmp_path / "gone"), 0), tmp_path).stdout == f"{tmp_path}\n"


@pytest.mark.parametrize("folder", [None, "/"])
def test_program_takes_the_place_of_its_shell(tmp_path: Path, folder: str | None):
    line = command_line(["sh", "-c", "echo $PPID"], folder, 0)
    assert int(run(line, tmp_path).stdout) == os.getpid()


@pytest.mark.parametrize(("retries", "code", "attempts"), [(0, 4, 1), (1, 0, 2), (2, 0, 2)])
def test_program_is_tried_as_often_as_it_may_be(tmp_path: Path, retries: int, code: int, attempts: int):
    script = 'echo "${FRAY_JOB_ATTEMPT:-1}" >> notes; [ "$(wc -l < notes)" -ge 2 ] || exit 4'
    done = run(command_line(["sh", "-c", script], None, retries), tmp_path)
    assert done.returncode == code
    assert (tmp_path / "notes").read_text().split() == [str(number + 1) for number in range(attempts)]


def test_code_of_the_last_attempt_is_the_jobs(tmp_path: Path):
    assert run(command_line(["sh", "-c", "exit $((6 + FRAY_JOB_ATTEMPT))"], None, 1), tmp_path).returncode == 8


@pytest.mark.parametrize(
    ("name", "shown"),
    [("train-1.5_b", "train-1.5_b"), ("計数", "job--"), ("..", "job.."), ("a b/c?", "a-b-c-"), ("n" * 255, "n" * 64)],
)
def test_name_stands_in_the_id_as_far_as_it_can(name: str, shown: str):
    assert name_in_id(name) == shown


def test_memory_is_asked_for_only_where_it_was_said():
    assert demand_of(ResourceConfig(cpu=2)) == {"CPU": 2}
    assert demand_of(ResourceConfig.with_gpu("A100", 2, cpu=0, ram="1g")) == {"CPU": 0, "GPU": 2, "memory": 1 << 30}


def test_processes_are_told_who_they_are():
    assert variables_of("x-1", "x", 2) == {"FRAY_JOB_ID": "x-1", "FRAY_JOB_NAME": "x", "FRAY_JOB_ATTEMPT": "2"}
