"""Training as a job: it learns, and what takes it away changes nothing."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import sysconfig
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.examples.conftest import LOCAL
from tests.examples.places import Place, Program, run, running
from tests.iris.controller import Controller
from tests.waiting import LONG_PATIENCE, eventually

STEPS, EVERY = 80, 10
OPTIONS = ("--steps", STEPS, "--every", EVERY, "--width", 32)


def rows(out: Path) -> list[dict[str, Any]]:
    file = out / "metrics.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def losses(out: Path) -> list[tuple[int, float, float]]:
    return [(row["step"], row["loss"], row["eval_loss"]) for row in rows(out)]


def nats_by_counts() -> float:
    """The loss of a model that knows how often each byte occurs and nothing else, on some of the text."""
    library = Path(sysconfig.get_path("stdlib"))
    counts = Counter(b"".join(path.read_bytes() for path in sorted(library.glob("*.py"))[:30]))
    total = counts.total()
    return -sum(count / total * math.log(count / total) for count in counts.values())


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nobody has disturbed; what it has compiled serves the other runs."""
    out = tmp_path_factory.mktemp("undisturbed")
    run(LOCAL, "train_lm.py", "--out", out, *OPTIONS)
    return out


@pytest.fixture
def take_away(place: Place, request: pytest.FixtureRequest) -> Callable[[Program], None]:
    """Ends the process of a job by force; on Iris it takes the job's machine away."""
    if place.name == "iris":
        controller: Controller = request.getfixturevalue("stand_in")
        return lambda program: [controller.preempt(worker) for worker in controller.workers] and None
    return lambda program: os.kill(int(program.wait_for(r"process (\d+) of")[1]), signal.SIGKILL)


def test_a_run_that_was_taken_away_ends_as_one_that_was_not(
    place: Place, undisturbed: Path, take_away: Callable[[Program], None], tmp_path: Path
) -> None:
    (tmp_path / "compiled").symlink_to(undisturbed / "compiled")
    with running(place, "train_lm.py", "--out", tmp_path, *OPTIONS) as program:
        eventually(lambda: len(rows(tmp_path)) > 1, LONG_PATIENCE, every=0.02)
        take_away(program)
        output = program.result()
    resumed = re.findall(r"^resumed at step (\d+)$", output, re.MULTILINE)
    assert len(resumed) == 1 and EVERY <= int(resumed[0]) < STEPS and int(resumed[0]) % EVERY == 0, output
    assert [step for step, _, _ in losses(tmp_path)] == list(range(EVERY, STEPS + 1, EVERY))
    assert losses(tmp_path) == losses(undisturbed)


def test_loss_falls_below_what_counts_of_bytes_explain(undisturbed: Path) -> None:
    found = losses(undisturbed)
    bound = nats_by_counts()
    assert found[0][1] > bound > 2.9
    assert found[-1][2] < bound - 0.15
    assert all(0.0 < row["mfu"] < 1.5 for row in rows(undisturbed))


def test_folder_of_a_run_with_other_settings_is_refused_in_one_line(undisturbed: Path) -> None:
    with running(LOCAL, "train_lm.py", "--out", undisturbed, *OPTIONS, "--seed", 1) as program:
        assert program.code() == 2
    assert "is of another run" in program.output and program.output.count("\n") == 1
