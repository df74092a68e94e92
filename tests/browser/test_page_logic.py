"""The page's own logic: numbers, times, rows of the stream, lines of a log."""

from __future__ import annotations

import re
import subprocess

import pytest

from .conftest import ROOT


def test_the_pages_own_logic_passes_its_tests() -> None:
    tool = ROOT / "tools" / "dashboard.sh"
    if subprocess.run([tool, "find"], capture_output=True).returncode != 0:
        pytest.skip("there is no Node.js")
    done = subprocess.run([tool, "test"], capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"Tests\s+\d+ passed", re.sub(r"\x1b\[\d+m", "", done.stdout)), done.stdout
