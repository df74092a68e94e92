"""The code of the guides to the plugs runs as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import fray
import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "guides"


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (FOLDER / f"{page}.md").read_text(), re.DOTALL)


CASES = [(page, number) for page in ("executor", "joblib", "dask", "notebooks") for number in range(len(blocks(page)))]


@pytest.mark.parametrize(("page", "number"), CASES)
def test_block_of_a_guide_runs(page: str, number: int, native: fray.JobContext) -> None:
    exec(compile(blocks(page)[number], f"{page}.md block {number}", "exec"), {"__name__": "guide"})


def test_tests_of_the_pytest_guide_pass(tmp_path: Path) -> None:
    tests, conftest = blocks("pytest")
    (tmp_path / "test_guide.py").write_text(tests)
    (tmp_path / "conftest.py").write_text(conftest)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert "7 passed" in done.stdout, done.stdout + done.stderr
