"""The node killed at each step of a job's life: what was accepted ends as it should, and nothing is left behind."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.harness import current_marker, eventually, marked_processes
from tests.chaos.started import command, process_of, start

pytestmark = pytest.mark.usefixtures("started_nodes")

ACCEPTED = [
    "node.dies.accepted",
    "node.dies.starting",
    "node.dies.started",
    "node.dies.attempt_ended",
    "node.dies.attempt_over",
    "node.dies.end_recorded",
    "node.dies.end_kept",
]


def submit(script: str) -> int:
    return command("job", "submit", "--no-wait", "--id", "x", "--cpus", "0", "--", "sh", "-c", script).code


def die_at(point: str, script: str, *commands: tuple[str, ...]) -> None:
    """Start a node that dies at a step, submit a job, and start the next node when it has died."""
    process = process_of(start("--cpus", "2", env={"FRAY_FAULT": f"{point}:1"}))
    submit(script)
    for words in commands:
        command(*words)
    eventually(lambda: not process.is_alive())
    start("--cpus", "2")


def described() -> dict[str, Any]:
    return json.loads(command("job", "wait", "--timeout", "30s", "--json", "x").stdout)["jobs"][0]


def check_nothing_is_left() -> None:
    eventually(lambda: not [p for p in marked_processes(current_marker()) if "fray-supervisor" in p.command])


def accepted_job_ends_once(point: str, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    die_at(point, f"echo run >> {runs}; exit 5")
    job = described()
    assert (job["status"], job["exit_code"], job["attempt"]) == ("failed", 5, 1), job
    assert runs.read_text() == "run\n"
    assert submit("true") == 7, "the id is taken"
    check_nothing_is_left()


def job_that_was_not_accepted_is_as_if_it_had_never_been(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    die_at("node.dies.unrecorded", f"echo run >> {runs}; exit 5")
    assert command("job", "status", "x").code == 3
    assert not runs.exists()
    assert submit(f"echo run >> {runs}; exit 5") == 0, "the same id can be submitted again"
    assert described()["exit_code"] == 5
    assert runs.read_text() == "run\n"
    check_nothing_is_left()


def job_that_was_to_stop_is_stopped(tmp_path: Path) -> None:
    begun = f"touch {tmp_path}/begun; sleep 1000"
    die_at("node.dies.stopping", begun, ("job", "stop", "x"))
    assert described()["status"] == "stopped"
    check_nothing_is_left()


def job_that_was_to_be_forgotten_is_forgotten() -> None:
    die_at("node.dies.removing", "true", ("job", "wait", "x"), ("job", "delete", "x"))
    assert command("job", "status", "x").code == 3
    assert not (Path(os.environ["FRAY_HOME"]) / "jobs" / "x").exists()
    assert submit("true") == 0
    check_nothing_is_left()


def pass_through_all(tmp_path: Path, point: str) -> None:
    if point in ACCEPTED:
        accepted_job_ends_once(point, tmp_path)
    elif point == "node.dies.unrecorded":
        job_that_was_not_accepted_is_as_if_it_had_never_been(tmp_path)
    elif point == "node.dies.stopping":
        job_that_was_to_stop_is_stopped(tmp_path)
    else:
        job_that_was_to_be_forgotten_is_forgotten()


POINTS = ["node.dies.unrecorded", *ACCEPTED, "node.dies.stopping", "node.dies.removing"]


@pytest.mark.parametrize("point", POINTS)
def test_node_that_dies_at_a_step_of_a_jobs_life_loses_nothing(point: str, tmp_path: Path) -> None:
    pass_through_all(tmp_path, point)


@pytest.mark.long
@pytest.mark.parametrize("time", range(20))
@pytest.mark.parametrize("point", POINTS)
def test_node_that_dies_at_a_step_of_a_jobs_life_loses_nothing_twenty_times(
    point: str, time: int, tmp_path: Path
) -> None:
    pass_through_all(tmp_path, point)
