"""The program `fray` as somebody types it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Program = Callable[..., subprocess.CompletedProcess[str]]


def program_path() -> str:
    """Return the `fray` of the environment that the tests run in."""
    beside = Path(sys.executable).parent / "fray"
    found = str(beside) if beside.exists() else shutil.which("fray")
    assert found, "the program fray is not installed"
    return found


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty FRAY_HOME with a short path."""
    folder = Path(tempfile.mkdtemp(prefix="fray-cli-"))
    monkeypatch.setenv("FRAY_HOME", str(folder))
    monkeypatch.delenv("FRAY_CLUSTER_SPEC", raising=False)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def fray_program(home: Path) -> Program:
    """Run `fray` with words; returns what it ended with."""

    def run(*words: object, within: float = 60, **options: object) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **options.pop("env", {})}  # type: ignore[dict-item]
        command = [program_path(), *map(str, words)]
        return subprocess.run(  # type: ignore[call-overload, no-any-return]
            command, capture_output=True, text=True, timeout=within, env=environment, **{"cwd": home, **options}
        )

    return run
