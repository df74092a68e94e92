"""Reinforcement learning: the return rises, and whichever job or actor is killed, nothing ends but the experiment."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from statistics import mean
from typing import Any

from tests.examples.conftest import LOCAL
from tests.examples.places import Place, run, running
from tests.waiting import LONG_PATIENCE, eventually

UPDATES = 45
KILLED = ("rollout-0", "curriculum", "weight-transfer", "trainer")


def returns(out: Path) -> list[dict[str, Any]]:
    file = out / "returns.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def processes(out: Path, name: str) -> list[int]:
    """The processes that a job or an actor has had, in their order."""
    return [
        int(pid) for pid in re.findall(rf"^{name}: process (\d+) of", (out / "processes").read_text(), re.MULTILINE)
    ]


def test_return_rises_while_jobs_and_actors_are_killed(place: Place, tmp_path: Path) -> None:
    with running(place, "rl.py", "--out", tmp_path, "--updates", UPDATES) as program:
        for number, name in enumerate(KILLED, 1):
            eventually(lambda updates=5 * number: len(returns(tmp_path)) >= updates, LONG_PATIENCE, every=0.02)
            os.kill(processes(tmp_path, name)[0], signal.SIGKILL)
        output = program.result()
    assert {name: len(processes(tmp_path, name)) for name in (*KILLED, "rollout-1")} == {
        **dict.fromkeys(KILLED, 2),
        "rollout-1": 1,
    }
    found = returns(tmp_path)
    assert [row["update"] for row in found] == list(range(1, UPDATES + 1))
    assert mean(row["return"] for row in found[:3]) < 60
    assert mean(row["return"] for row in found[-5:]) > 200, output
    assert found[0]["lesson"] == "short" and found[-1]["lesson"] != "short"


def test_run_goes_on_where_it_was_and_is_drawn(tmp_path: Path) -> None:
    run(LOCAL, "rl.py", "--out", tmp_path, "--updates", 4, "--rollouts", 1)
    output = run(LOCAL, "rl.py", "--out", tmp_path, "--updates", 6, "--rollouts", 1, "--plot", tmp_path / "plot.html")
    assert "the trainer goes on after update 4" in output
    assert [row["update"] for row in returns(tmp_path)] == list(range(1, 7))
    assert "Plotly.newPlot" in (tmp_path / "plot.html").read_text()


def test_wrong_options_are_told_in_one_line(tmp_path: Path) -> None:
    with running(LOCAL, "rl.py", "--out", tmp_path, "--rollouts", 0) as program:
        assert program.code() == 2
    assert "must be at least 1" in program.output and "Traceback" not in program.output


def test_place_without_jobs_is_told_in_one_line(tmp_path: Path) -> None:
    with running(Place("sync", {"FRAY_CLUSTER_SPEC": "sync"}), "rl.py", "--out", tmp_path) as program:
        assert program.code() == 2
    assert "starts no jobs" in program.output and "Traceback" not in program.output
