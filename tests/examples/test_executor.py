"""The executor example: the same report on every cluster, and no step done twice, whoever is killed."""

from __future__ import annotations

import importlib
import json
import math
import random
import re
import sys
from collections import Counter
from pathlib import Path

import fray
import pytest

from tests.examples.places import EXAMPLES, Place, run, running

sys.path.insert(0, str(EXAMPLES))
executor = importlib.import_module("executor")

EXAMPLE = "executor.py"
HERE = Place("sync", {"FRAY_CLUSTER_SPEC": "sync"})
LOCAL = Place("local", {"FRAY_CLUSTER_SPEC": "local"})
RUNS_KNOWN = {"local": 1, "ray": 2, "iris": 1}
"""Of the second run: what the detached actor has seen, where it outlives the program."""


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    return write_sources(tmp_path / "sources", words=60)


def write_sources(folder: Path, words: int) -> Path:
    generator = random.Random(7)
    folder.mkdir()
    for number in range(20):
        text = " ".join(generator.choice(("import", "return", "def", "class", "yield")) for _ in range(words))
        (folder / f"{number:02}.py").write_text(text)
    return folder


def folders_in(out: Path) -> dict[str, int]:
    """By name: when the step was finished."""
    return {folder.name: folder.stat().st_mtime_ns for folder in out.iterdir()}


def folder_of(out: Path, step: str) -> Path:
    (found,) = out.glob(f"{step}-*")
    return found


def bits(out: Path, order: int) -> float:
    """What a character costs, from the texts of the split alone."""
    train, test = (
        [json.loads(line) for line in (folder_of(out, "split") / name).read_text().splitlines()]
        for name in ("train.jsonl", "test.jsonl")
    )
    assert (len(train), len(test)) == (17, 3)
    runs = Counter(text[at : at + order + 1] for text in train for at in range(len(text) - order))
    contexts = Counter[str]()
    for text, count in runs.items():
        contexts[text[:-1]] += count
    found = [text[at : at + order + 1] for text in test for at in range(len(text) - order)]
    costs = [-math.log2((runs[text] + 0.01) / (contexts[text[:-1]] + 0.01 * 128)) for text in found]
    return sum(costs) / len(costs)


def reported(output: str) -> dict[int, float]:
    return {int(order): float(cost) for order, cost in re.findall(r"^ +(\d+) +[\d,]+ +([\d.]+)$", output, re.MULTILINE)}


def test_program_that_was_killed_is_gone_on_with(place: Place, tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources", words=6000)
    for attempt in range(5):  # on a busy machine all may be done before the program is killed, or runs again
        out = tmp_path / f"out{attempt}"
        options = ("--out", out, "--input", sources, "--orders", 1, 2, 3, 4)
        with running(place, EXAMPLE, *options) as program:
            program.wait_for(r"run 1: 11 steps, 0 kept")
            program.wait_for(r"^train-\d +done")
            program.close()
        finished = {name: time for name, time in folders_in(out).items() if name[0] != "."}
        output = run(place, EXAMPLE, *options)
        if len(finished) < 11 and "11 kept" not in output:
            break
    assert 3 <= len(finished) < 11
    assert reported(output)[2] == pytest.approx(bits(out, 2), abs=0.0006)
    assert sorted(reported(output)) == [1, 2, 3, 4]
    now = folders_in(out)
    assert len(now) == 11
    assert finished.items() <= now.items()
    assert f"run {RUNS_KNOWN[place.name]}: 11 steps" in output
    if place.name == "iris":
        assert re.search(r"^job executor-\S+ is at it", output)
        return
    steps = {name.rpartition("-")[0] for name in finished}
    assert not {step for step in steps if re.search(f"^{step} +runs", output, re.MULTILINE)}


def test_steps_are_run_again_only_where_something_changed(sources: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ("--out", out, "--input", sources, "--orders", 1, 3)
    first = run(HERE, EXAMPLE, *options)
    assert reported(first) == {order: pytest.approx(bits(out, order), abs=0.0006) for order in (1, 3)}
    before = folders_in(out)
    again = run(LOCAL, EXAMPLE, *options)
    assert "run 1: 7 steps, 7 kept" in again
    assert reported(again) == reported(first)
    assert folders_in(out) == before
    more = run(LOCAL, EXAMPLE, *options, 2)
    assert "9 steps, 6 kept" in more
    assert sorted(reported(more)) == [1, 2, 3]
    assert before.items() <= folders_in(out).items()
    assert len(folders_in(out)) == len(before) + 3


def test_versions_follow_content_config_and_code(sources: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ("--out", out, "--input", sources, "--orders", 1)
    run(HERE, EXAMPLE, *options)
    assert "5 steps, 1 kept" in run(HERE, EXAMPLE, *options, "--seed", 5)
    (sources / "00.py").write_text("import os\n")
    assert "5 steps, 0 kept" in run(HERE, EXAMPLE, *options)
    assert len(folders_in(out)) == 5 + 4 + 5


def write_one(out: Path) -> None:
    (out / "one").write_text("1")


def write_two(out: Path, *needs: Path) -> None:
    (out / "two").write_text("2")


def break_off(out: Path, *needs: Path, why: str) -> None:
    (out / "half").write_text("")
    raise LookupError(why)


def test_version_depends_on_function_config_environment_and_needs() -> None:
    step = executor.Step("a", write_one)
    assert step.version == executor.Step("a", write_one).version
    other_env = executor.Step("a", write_one, environment=fray.RuntimeEnv(env={"A": "1"}))
    others = [executor.Step("a", write_two), executor.Step("a", write_one, config={"x": 1}), other_env]
    behind = [executor.Step("b", write_two, [needed]) for needed in (step, *others)]
    versions = {each.version for each in (step, *others, *behind)}
    assert len(versions) == 8


def test_step_that_fails_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    first = executor.Step("first", write_one)
    broken = executor.Step("broken", break_off, [first], {"why": "no luck"})
    last = executor.Step("last", write_two, [broken])
    with fray.ThreadContext(max_workers=2) as ctx:
        with pytest.raises(executor.StepError, match=r"^step broken: LookupError: no luck$"):
            executor.execute(ctx, [first, broken, last], tmp_path)
        assert list(folders_in(tmp_path)) == [first.folder]
        repaired = executor.Step("broken", write_two, [first])
        executor.execute(ctx, [first, repaired, executor.Step("last", write_two, [repaired])], tmp_path)
    assert len(folders_in(tmp_path)) == 3


def be_overtaken(out: Path) -> None:
    """Have another run finish the step, and clear up behind it, before this one does."""
    other = out.with_name(out.name[1:].partition(".")[0])
    other.mkdir()
    (other / "theirs").write_text("whole")
    (out / "ours").write_text("late")


def test_step_that_another_run_finishes_first_is_taken_from_there(tmp_path: Path) -> None:
    step = executor.Step("step", be_overtaken)
    (tmp_path / f".{step.folder}.0123").mkdir()  # of a run that was killed
    with fray.LocalJobContext() as ctx:
        executor.execute(ctx, [step], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [step.folder]
    assert [path.name for path in (tmp_path / step.folder).iterdir()] == ["theirs"]


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    for words, text in ((("--files", 0), "must be at least 1"), (("--input", tmp_path), "no Python files")):
        with running(HERE, EXAMPLE, "--out", tmp_path / "out", *words) as program:
            assert program.code() in (1, 2)
            program.wait_for(text)
    assert not (tmp_path / "out").exists()
