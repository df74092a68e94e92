"""The corpus job's map step in C++ learns what the one in Python learns, whatever the characters."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import fray
import pytest

from tests.cpp.conftest import ROOT

sys.path.insert(0, str(ROOT / "examples"))

import corpus_native
import corpus_steps as steps


def learnt(ctx: fray.JobContext, library: Path, root: Path) -> tuple[list[Any], list[Any], int]:
    """Return what C++ and Python learn from all files below `root`, and how many of them C++ left to Python."""
    files, _ = steps.find_files(root)
    settings = steps.Settings(root, root / "out", seed=7, max_file_bytes=1 << 20)
    answer = ctx.get(corpus_native.submit_map(ctx, library, settings, [files])[0])
    return (
        comparable(corpus_native.take_in(settings, files, answer)),
        comparable(steps.read_batch(settings, files)),
        len(answer["left"]),
    )


def comparable(outcome: Sequence[Any]) -> list[Any]:
    figures, sketches, shingles, *documents = outcome
    arrays = [sketches.numbers, sketches.band_keys, shingles.numbers, shingles.ends, shingles.values]
    return [dict(figures), sketches.digests, *((array.dtype, array.tobytes()) for array in arrays), documents]


@pytest.fixture(scope="module")
def library(examples: Path) -> Path:
    return examples / "libcorpus_map.so"


def test_every_character_is_seen_as_python_sees_it(ctx: fray.JobContext, library: Path, tmp_path: Path) -> None:
    for begin in range(0, 0x20400, 0x100):
        codes = [code for code in range(begin, begin + 0x100) if not 0xD800 <= code < 0xE000 and code != 0]
        lines = [f"x{chr(code)}Y {chr(code)} end{chr(code)}{chr(code)}" for code in codes]
        (tmp_path / f"{begin:06x}.txt").write_bytes("\n".join(lines).encode())
    cpp, python, left = learnt(ctx, library, tmp_path)
    assert cpp == python
    assert 0 < left < 0x20400 >> 9  # most are read in C++


PIECES = (
    *"aZ_09 .,!-\t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x7f\x85\xa0\xad\xaa²½ßİıŉǰµſK",  # noqa: RUF001
    *"Σσς\u0345ᾳΐﬁﬃԵև\u1e9eẛ\u2028\u2029\u3000\u1680\u200b\u200d\ufeff\u202f",
    *"\u0301\u0327\u0300e\u0344\u09be\u0d3e\u0f71\u1161\u11a8\u1100한각\u212b\u2126\u0958\ufb1d\uf900",
    *"漢字かなカナ١२๓Ⅷⅷ😀🏽𝒜𝟘\U00010400\U00010428\U0001d15e\U00020000\U0002f800\U000e0001\U0010ffff",  # noqa: RUF001
    "\r\n",
    "\n\n",
    "word",
    "The quick brown fox jumps over the lazy dog ",
    "e\u0301",
)
BROKEN = (
    b"\xff",
    b"\xc0\xaf",
    b"\xe0\x80\xaf",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xe2\x82",
    b"\xf0\x9f",
    b"\x80",
)


@pytest.mark.parametrize("seed", range(4))
def test_random_texts_are_learnt_alike(ctx: fray.JobContext, library: Path, tmp_path: Path, seed: int) -> None:
    generator = random.Random(seed)
    for number in range(400):
        # Few pieces at a time, so that many texts keep away from what C++ leaves to Python.
        pieces = generator.sample(PIECES, generator.randint(1, 8))
        data = "".join(generator.choices(pieces, k=generator.randint(0, 400))).encode()
        if number % 10 == 0:
            place = generator.randint(0, len(data))
            data = data[:place] + generator.choice(BROKEN) + data[place:]
        if number % 25 == 0:
            data = b"\xef\xbb\xbf" + data
        (tmp_path / f"{number:03}").write_bytes(data)
    cpp, python, left = learnt(ctx, library, tmp_path)
    assert cpp == python
    assert left < 300


def test_odd_files_are_learnt_alike(ctx: fray.JobContext, library: Path, tmp_path: Path) -> None:
    texts = {
        "period": "a b " * 50_000,  # two shingles, each many times
        "one": "word " * 100_000,
        "long-word": "x" * 100_000 + " y",
        "words": " ".join(f"w{number}" for number in range(100_000)),
        "no-words": "...",
        "nothing": "",
        "mark": "\ufeff",
        "mark-twice": "\ufeff\ufeffword",
        "zero": "text\0",
        "spaces": " \n\t \n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text.encode())
    (tmp_path / "at-the-limit").write_bytes(b"w " * (1 << 19))
    (tmp_path / "above-the-limit").write_bytes(b"w " * (1 << 19) + b"w")
    (tmp_path / os.fsdecode(b"name\xff")).write_text("some words in a file with a bad name")
    (tmp_path / "name\nwith a line").write_text("some words in a file with an odd name")
    cpp, python, _ = learnt(ctx, library, tmp_path)
    assert cpp == python


def test_rules_of_another_size_are_refused(ctx: fray.JobContext, library: Path) -> None:
    read_batch = fray.cpp(library).function("read_batch")
    rules = {**corpus_native.character_rules(), "folds": []}
    settings: dict[str, Any] = {"root": "/", "seed": 0, "max_file_bytes": 1, "factors": [1] * 5}
    with pytest.raises(fray.TaskError, match="corpus_native"):
        ctx.get(ctx.run(read_batch, {**settings, "permutations": permutations(256)}, rules, []))
    with pytest.raises(fray.TaskError, match="corpus_native"):
        ctx.get(ctx.run(read_batch, {**settings, "permutations": permutations(3)}, rules, []))


def permutations(count: int) -> Any:
    import numpy as np

    return np.ones(count, np.uint32)
