"""The dataflow example: the same counts on every cluster, finished shards kept, errors that name the shard."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import fray
import pytest

from tests.examples.places import EXAMPLES, Place, run, running

sys.path.insert(0, str(EXAMPLES))
zephyr_like = importlib.import_module("zephyr_like")

EXAMPLE = "zephyr_like.py"
HERE = Place("sync", {"FRAY_CLUSTER_SPEC": "sync"})
MODULES = ("os", "sys", "json", "re", "ast", "time", "zlib")


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Files of which the n-th imports the first n modules, and one that is no Python."""
    folder = tmp_path / "sources"
    (folder / "inner").mkdir(parents=True)
    for number in range(1, 15):
        lines = [f"import {module}\n" for module in MODULES[: number % 8]] + [
            "from . import near\n",
            "import os.path\n",
        ]
        (folder / ("inner" if number % 2 else "") / f"{number:02}.py").write_text("".join(lines))
    (folder / "no_python.py").write_text("def (:\n")
    (folder / "none.txt").write_text("import antigravity\n")
    return folder


def expected() -> dict[str, tuple[int, int]]:
    """By module: how many files import it, and how often."""
    files = Counter(module for number in range(1, 15) for module in MODULES[: number % 8])
    counts = {module: (count, count) for module, count in files.items()}
    counts["os"] = (14, counts["os"][1] + 14)
    return counts


def rows_in(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for part in sorted(folder.iterdir()) for line in part.read_text().splitlines()]


def counted(out: Path) -> dict[str, tuple[int, int]]:
    rows = rows_in(out / "modules")
    assert len({row["module"] for row in rows}) == len(rows)
    return {row["module"]: (row["files"], row["imports"]) for row in rows}


def times_in(folder: Path) -> dict[str, int]:
    return {part.name: part.stat().st_mtime_ns for part in folder.iterdir()}


def test_modules_are_counted_and_an_error_names_the_shard(place: Place, sources: Path, tmp_path: Path) -> None:
    options = ("--input", sources, "--shards", 4)
    output = run(place, EXAMPLE, "--out", tmp_path / "out", *options)
    assert counted(tmp_path / "out") == expected()
    assert len(times_in(tmp_path / "out" / "imports")) == len(times_in(tmp_path / "out" / "modules")) == 4
    assert "parse      4 of 4 shards" in output
    assert [line.split() for line in output.splitlines() if line.startswith("os ")] == [["os", "14", "27"]]
    with running(place, EXAMPLE, "--out", tmp_path / "strict", *options, "--strict") as program:
        assert program.code() == 1
        program.wait_for(r"stage parse, shard 2, item .*no_python\.py.*: SyntaxError")


def test_run_that_was_killed_goes_on_where_it_was(sources: Path, tmp_path: Path) -> None:
    long = "".join(f"import {module}\n" for module in MODULES) * 3000
    for number in range(12):
        (sources / f"long{number}.py").write_text(long)
    place = Place("local", {"FRAY_CLUSTER_SPEC": "local?cpus=1"})
    for attempt in range(5):  # a busy machine may let the program end before it is killed
        out = tmp_path / f"out{attempt}"
        options = ("--out", out, "--input", sources, "--shards", 12)
        with running(place, EXAMPLE, *options) as program:
            program.wait_for(r"^parse +2 of 12 shards")
            program.close()
        finished = {name: time for name, time in times_in(out / "imports").items() if name[0] != "."}
        if len(finished) < 12:
            break
    assert 2 <= len(finished) < 12
    output = run(place, EXAMPLE, *options)
    kept = re.search(r"^parse +(\d+) of 12 shards were there", output, re.MULTILINE)
    assert kept and int(kept[1]) >= len(finished), output  # the worker may have finished one more
    now = times_in(out / "imports")
    assert len(now) == 12
    assert {name: now[name] for name in finished} == finished
    assert counted(out)["re"][1] == expected()["re"][1] + 12 * 3000


def test_only_shards_that_are_missing_are_made(sources: Path, tmp_path: Path) -> None:
    options = ("--out", tmp_path / "out", "--input", sources, "--shards", 4)
    run(HERE, EXAMPLE, *options)
    modules = tmp_path / "out" / "modules"
    before, lost = times_in(modules), next(part for part in sorted(modules.iterdir()) if part.stat().st_size)
    text = lost.read_text()
    lost.unlink()
    output = run(HERE, EXAMPLE, *options)
    assert "parse      4 of 4 shards were there" in output
    assert "count      3 of 4 shards were there" in output
    assert lost.read_text() == text
    now = times_in(modules)
    assert {name for name in before if now[name] != before[name]} == {lost.name}


def test_folder_of_other_files_or_shards_is_refused(sources: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ("--out", out, "--input", sources, "--shards", 4)
    run(HERE, EXAMPLE, *options)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("precious")
    (tmp_path / "empty").mkdir()
    for other in (("--shards", 5), ("--files", 3), ("--out", tmp_path / "full"), ("--input", tmp_path / "empty")):
        with running(HERE, EXAMPLE, *options, *other) as program:
            assert program.code() == 1
            program.wait_for(r"^zephyr_like\.py: .*(choose another --out|no Python files)")
    (sources / "01.py").write_text("import this\n")
    with running(HERE, EXAMPLE, *options) as program:
        assert program.code() == 1
    assert counted(out) == expected()
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine"]


@pytest.mark.parametrize(
    ("spec", "words"),
    [("iris?controller=http://127.0.0.1:1", "nobody listens"), ("cloud", "Unknown"), ("local?cpus=none", "cpus")],
)
def test_cluster_that_is_not_there_is_one_line(spec: str, words: str, sources: Path, tmp_path: Path) -> None:
    place = Place("wrong", {"FRAY_CLUSTER_SPEC": spec})
    with running(place, EXAMPLE, "--out", tmp_path / "out", "--input", sources) as program:
        assert program.code() == 1
        (line,) = program.output.splitlines()
    assert line.startswith("zephyr_like.py: ")
    assert words in line


@pytest.mark.parametrize("words", [("--shards", 0), ("--files", 0), ("--files", "all"), ()])
def test_options_that_make_no_sense_are_refused(words: tuple[object, ...], tmp_path: Path) -> None:
    out = ("--out", tmp_path / "out") if words else ()
    with running(HERE, EXAMPLE, *out, *words) as program:
        assert program.code() == 2
        program.wait_for(r"^zephyr_like\.py: error: ")
    assert not (tmp_path / "out").exists()


def test_file_that_cannot_be_an_output_folder_is_one_line(sources: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("precious")
    for example in (EXAMPLE, "executor.py"):
        with running(HERE, example, "--out", tmp_path / "out", "--input", sources) as program:
            assert program.code() == 1
            assert len(program.output.splitlines()) == 1
    assert (tmp_path / "out").read_text() == "precious"


@pytest.mark.parametrize("shards", [1, 3, 20])
def test_library_does_what_plain_python_does(shards: int) -> None:
    words = ["to", "be", "or", "not", "to", "be", "that", "is", "the", "question"]
    with fray.ThreadContext(max_workers=2) as ctx:
        plan = zephyr_like.Dataset.of("words", words, shards).flat_map(lambda word: [word, word.upper()])
        plan = plan.filter(str.islower).map(lambda word: (len(word), word))
        groups = plan.group_by("by size", lambda pair: pair[0], lambda size, pairs: (size, len(pairs)), shards)
        assert sorted(groups.collect(ctx)) == sorted(Counter(map(len, words)).items())
        assert plan.map(lambda pair: pair[0]).reduce("sum", sum).collect(ctx) == [sum(map(len, words))]
        assert plan.filter(lambda pair: False).reduce("none", sum).collect(ctx) == []
        assert len(plan.then(lambda items: [list(items)]).collect(ctx)) == shards


def test_shard_that_another_run_writes_at_the_same_time_is_whole(tmp_path: Path) -> None:
    (tmp_path / ".part-00000-of-00001.jsonl.0123").write_text("half")  # of a run that was killed

    def write_too(item: int) -> int:
        zephyr_like.Dataset.of("theirs", [1, 2], 1).write(ctx, tmp_path)
        return item

    with fray.LocalJobContext() as ctx:
        zephyr_like.Dataset.of("ours", [1, 2], 1).map(write_too).write(ctx, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["part-00000-of-00001.jsonl"]
    assert rows_in(tmp_path) == [1, 2]


def test_error_of_a_group_names_stage_and_shard() -> None:
    def fail(key: int, items: list[int]) -> None:
        raise LookupError(f"no {key}")

    with fray.LocalJobContext(serialize=True) as ctx, pytest.raises(zephyr_like.ShardError) as caught:
        zephyr_like.Dataset.of("in", [7], 2).group_by("out", lambda item: item, fail, 1).collect(ctx)
    assert str(caught.value) == "stage out, shard 0: LookupError: no 7"
