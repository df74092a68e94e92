"""Texts: many small files parsed, and words counted in texts that are sent."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.real.program import RealProgram
from benchmarks.real.tools import Tools

_PEERS = ("fray", "ray", "pool", "joblib")


def write_files(count: int) -> list[str]:
    """Write files of JSON into a folder that goes with this process."""
    folder = Path(tempfile.mkdtemp(prefix="bench-files-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for number in range(count):
        records = [{"id": number * 100 + at, "tags": ["a", "b", str(at % 7)]} for at in range(60)]
        (folder / f"{number}.json").write_text(json.dumps(records))
    return [str(path) for path in folder.iterdir()]


def parse(path: str) -> int:
    records = json.loads(Path(path).read_text())
    return sum(record["id"] for record in records if "3" in record["tags"])


def parse_files(tools: Tools, paths: list[str]) -> int:
    return sum(tools.map(parse, paths))


def make_texts(count: int) -> list[str]:
    return [" ".join(f"w{(number + at * at) % 500}" for at in range(2_000)) for number in range(count)]


def count_words(text: str) -> Counter[str]:
    return Counter(text.split())


def many_texts(tools: Tools, texts: list[str]) -> list[tuple[str, int]]:
    total: Counter[str] = Counter()
    for counted in tools.map(count_words, texts):
        total.update(counted)
    return sorted(total.items())


PROGRAMS = (
    RealProgram("files", "2,000 files of JSON, parsed one a call", write_files, parse_files, 2_000, 40, _PEERS),
    RealProgram("texts", "words of 400 texts, sent one a call", make_texts, many_texts, 400, 10, _PEERS),
)
