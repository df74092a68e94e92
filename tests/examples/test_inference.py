"""Inference: every document once, in order, with the score that the model gives it, whatever happens to an actor."""

from __future__ import annotations

import json
import math
import os
import random
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fray
import pytest

from tests.examples.conftest import LOCAL
from tests.examples.places import EXAMPLES, Place, run, running

sys.path.insert(0, str(EXAMPLES))

import inference

from tests.waiting import LONG_PATIENCE, eventually


def scores(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "scores.jsonl").read_text().splitlines()]


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which one actor has scored Python's own library; its model serves the other runs."""
    out = tmp_path_factory.mktemp("undisturbed")
    run(LOCAL, "inference.py", "--out", out, "--actors", 1, "--batch", 1000)
    return out


def test_actor_that_is_killed_loses_no_batch(place: Place, undisturbed: Path, tmp_path: Path) -> None:
    (tmp_path / "model.npy").symlink_to(undisturbed / "model.npy")
    with running(place, "inference.py", "--out", tmp_path, "--batch", 5) as program:
        os.kill(int(program.wait_for(r"^scorer 1: model of 64 MiB .* process (\d+)$")[1]), signal.SIGKILL)
        output = program.result()
    assert "1 of 2 scorers died and were started again" in output
    assert scores(tmp_path) == scores(undisturbed)


def test_documents_are_in_order(undisturbed: Path) -> None:
    paths = [Path(score["path"]) for score in scores(undisturbed)]
    assert len(paths) > 500
    assert paths == sorted(paths)


class Waiting:
    """Scores the first document when a file is there, and all others at once."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def score(self, batch: Sequence[inference.Document]) -> list[inference.Score]:
        if batch[0].path == "0":
            eventually(self._file.exists, LONG_PATIENCE, every=0.02)
        return [inference.Score(batch[0].path, 0, 0.0)]


def test_batches_are_taken_no_further_ahead_than_the_slowest_allows(tmp_path: Path) -> None:
    taken: list[str] = []

    def batches() -> Iterator[list[inference.Document]]:
        for number in range(100):
            taken.append(str(number))
            yield [inference.Document(str(number), b"")]

    most = 2 * inference.AHEAD_OF_EACH
    with fray.ThreadContext(max_workers=2) as ctx, ThreadPoolExecutor(1) as thread:
        scorers = [ctx.create_actor(Waiting, tmp_path / "go") for _ in range(2)]
        scores = inference.score_in_order(ctx, scorers, batches())
        first = thread.submit(next, scores)
        # The actor that waits has two of them, all others are done by the other one.
        eventually(lambda: len(taken) == most, LONG_PATIENCE, every=0.02)
        assert not first.done()
        (tmp_path / "go").touch()
        assert first.result()[0].path == "0"
        assert len(taken) == most
        assert [score[0].path for score in scores] == [str(number) for number in range(1, 100)]


def text_of(words: list[str], seed: int) -> bytes:
    return " ".join(random.Random(seed).choices(words, k=300)).encode()


def test_scores_are_those_of_a_count_by_hand(tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    texts = [text_of(["spam", "eggs", "ham and", "more"], seed) for seed in range(6)]
    texts += [random.Random(7).randbytes(2000), b"", b"xy", "Zoë\n".encode() * 100]
    for number, text in enumerate(texts):
        (folder / f"{number}.py").write_bytes(text)
    output = run(LOCAL, "inference.py", "--input", folder, "--out", out, "--batch", 3)
    found = [score["bits_per_byte"] for score in scores(out)]
    assert found == pytest.approx([bits_by_hand(b"\n".join(texts), text) for text in texts], rel=1e-3)
    assert [score["size"] for score in scores(out)] == [len(text) for text in texts]
    assert "bits a byte  6.py" in output  # the noise is the strangest of them


def bits_by_hand(known: bytes, text: bytes) -> float:
    """Bits that each byte of a text takes after two others, counted one by one in what is known."""
    if len(text) < 3:
        return 0.0
    threes = Counter(known[at : at + 3] for at in range(len(known) - 2))
    twos, ones, before_two, before_one = Counter[bytes](), Counter[bytes](), Counter[bytes](), Counter[bytes]()
    for three, count in threes.items():
        twos[three[1:]] += count
        ones[three[2:]] += count
        before_two[three[:2]] += count
        before_one[three[1:2]] += count
    bits = 0.0
    for three in (text[at : at + 3] for at in range(len(text) - 2)):
        after_none = (ones[three[2:]] + 1) / (ones.total() + 256)
        after_one = (twos[three[1:]] + 4 * after_none) / (before_one[three[1:2]] + 4)
        bits -= math.log2((threes[three] + 4 * after_one) / (before_two[three[:2]] + 4))
    return bits / (len(text) - 2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--actors", 0), "must be at least 1"),
        (("--input", "/nowhere"), "there is no folder /nowhere"),
    ],
)
def test_wrong_options_are_told_in_one_line(tmp_path: Path, options: tuple[object, ...], words: str) -> None:
    with running(LOCAL, "inference.py", "--out", tmp_path, *options) as program:
        assert program.code() == 2
    assert words in program.output and "Traceback" not in program.output
    assert list(tmp_path.iterdir()) == []


def test_folder_without_documents_ends_the_job_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with running(LOCAL, "inference.py", "--input", tmp_path / "in", "--out", tmp_path / "out") as program:
        assert program.code() == 1
    assert "holds no *.py files; choose another --input" in program.output
