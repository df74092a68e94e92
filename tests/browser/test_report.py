"""What a person sees who opens a report: the page in headless Chromium, with screenshots in build/report/."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import time
from pathlib import Path

import fray
import pytest
from fray.backend.native import NativeJobContext

SCREENSHOTS = Path(__file__).resolve().parents[2] / "build" / "report"
PATIENCE = 60

pytestmark = pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no chromium")


def tokenize(count: int) -> bytes:
    until = time.process_time() + count / 1000
    while time.process_time() < until:
        pass
    return b"x" * (count * 10_000)


def shuffle(part: bytes) -> bytes:
    time.sleep(0.02)
    return part[::-1]


def flawed(number: int) -> None:
    raise ValueError(f"record {number} has no <text>")


def chromium(page: Path, profile: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [
        "chromium",
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        f"--user-data-dir={profile}",
        "--window-size=1280,2600",
        "--virtual-time-budget=8000",
        "--enable-logging=stderr",
        *words,
        page.as_uri(),
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    with NativeJobContext(cpus=2) as ctx:
        parts = [ctx.run(tokenize, 5 + number) for number in range(20)]
        refs = [*(ctx.run(shuffle, part) for part in parts), *(ctx.run(flawed, number) for number in range(3))]
        ctx.wait(refs, len(refs))
        assert fray.report(path, context=ctx) == 43
    return path


@pytest.fixture(scope="module")
def shown(page: Path, tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """The page after its scripts have run."""
    return chromium(page, tmp_path_factory.mktemp("chromium") / "profile", "--dump-dom")


def test_the_page_draws_its_charts_without_an_error(shown: subprocess.CompletedProcess[str]) -> None:
    complaints = [line for line in shown.stderr.splitlines() if "CONSOLE" in line]
    assert complaints == []
    dom = shown.stdout
    for chart in ("timeline", "usage", "cpu", "memory", "bytes-in", "bytes-out"):
        drawn = dom[dom.index(f'id="{chart}"') :]
        assert "main-svg" in drawn[: drawn.find("</script>")], chart
    for wanted in ("tokenize", "shuffle", "flawed", "worker ", "CPUs busy"):
        assert wanted in dom


def test_the_page_shows_the_failures_as_text(shown: subprocess.CompletedProcess[str]) -> None:
    dom = shown.stdout
    failures = dom[dom.index('id="failures"') :]
    assert len(re.findall("<details", failures)) == 3
    assert "has no &lt;text&gt;" in failures


def test_a_screenshot_is_more_than_an_empty_page(page: Path, tmp_path: Path) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    shutil.copy(page, SCREENSHOTS / "report.html")
    picture = SCREENSHOTS / "report.png"
    picture.unlink(missing_ok=True)
    chromium(page, tmp_path / "profile", f"--screenshot={picture}")
    data = picture.read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    assert (width, height) == (1280, 2600)
    assert len(data) > 60_000
