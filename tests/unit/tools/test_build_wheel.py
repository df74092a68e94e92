"""`tools/build_wheel.sh` with the pip that Debian's own Python brings along."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SYSTEMS_PYTHON = Path("/usr/bin/python3")


@pytest.mark.skipif(not SYSTEMS_PYTHON.exists(), reason="this system has no Python of its own")
def test_pip_of_the_system_knows_all_options(tmp_path: Path) -> None:
    subprocess.run([SYSTEMS_PYTHON, "-m", "venv", tmp_path / ".venv"], check=True, capture_output=True)
    (tmp_path / "tools").mkdir()
    script = shutil.copy(ROOT / "tools" / "build_wheel.sh", tmp_path / "tools")
    done = subprocess.run([script, "build/dev", "build/wheel"], capture_output=True, text=True)
    # The folder holds no project, which pip says once it has understood the options.
    assert "no such option" not in done.stdout + done.stderr, done.stderr
    assert "'pyproject.toml' found" in done.stderr, done.stderr
