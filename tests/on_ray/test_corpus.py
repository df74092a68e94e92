"""The example of a whole program, unchanged: on Ray it writes what it writes on this machine's own engine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.on_ray.head import ROOT, RayHead

pytestmark = [pytest.mark.ray, pytest.mark.timeout(180)]

WORDS = tuple("the quick brown fox jumps over a lazy dog".split())  # noqa: SIM905


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Sixty documents in ten folders, some of them twice, some almost."""
    root = tmp_path / "texts"
    for number in range(60):
        words = [f"{WORDS[(number * place) % len(WORDS)]}{number if place % 7 == 0 else ''}" for place in range(120)]
        if number % 10 == 9:
            words[-1] = "changed"
        file = root / f"folder{number % 10}" / f"{number % 40}-{number}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(" ".join(words))
        if number % 10 == 9:
            (file.parent / "same.txt").write_text(" ".join(words))
            (file.parent / "near.txt").write_text(" ".join(words[:-1]))
    return root


def run_corpus(texts: Path, out: Path, **variables: str) -> dict[str, bytes]:
    command = [sys.executable, str(ROOT / "examples" / "corpus.py"), str(texts), "--out", str(out), "--seed", "7"]
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, done.stderr[-2000:]
    return {path.name: path.read_bytes() for path in out.iterdir()}


def test_same_bytes_on_ray_as_locally(ray_head: RayHead, texts: Path, tmp_path: Path):
    here = run_corpus(texts, tmp_path / "here", FRAY_CLUSTER_SPEC="local")
    there = run_corpus(texts, tmp_path / "there", FRAY_CLUSTER_SPEC="ray", RAY_ADDRESS=ray_head.address)
    assert len(here) > 1
    assert b'"near_duplicates": 0' not in here["summary.json"]
    assert there == here
