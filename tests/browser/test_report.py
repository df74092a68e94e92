"""What a person sees who opens a report: the page in Chromium, with screenshots in build/browser/."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import fray
import pytest
from fray.backend.native import NativeJobContext

from .conftest import SCREENSHOTS, Watched, watch

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WIDTH = 1280


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


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    with NativeJobContext(cpus=2) as ctx:
        parts = [ctx.run(tokenize, 5 + number) for number in range(20)]
        refs = [*(ctx.run(shuffle, part) for part in parts), *(ctx.run(flawed, number) for number in range(3))]
        ctx.wait(refs, len(refs))
        assert fray.report(path, context=ctx) == 43
    return path


@pytest.fixture(scope="module")
def shown(report: Path, browser: Browser) -> Iterator[tuple[Page, Watched]]:
    """The page after its scripts have run."""
    context = browser.new_context(viewport={"width": WIDTH, "height": 900})
    watched = watch(context)
    page = context.new_page()
    page.goto(report.as_uri())
    for chart in ("timeline", "usage", "cpu", "memory", "bytes-in", "bytes-out"):
        page.locator(f"#{chart} .main-svg").first.wait_for()
    yield page, watched
    context.close()


def test_the_page_draws_its_charts_without_an_error(shown: tuple[Page, Watched]) -> None:
    page, watched = shown
    text = page.inner_text("body")
    for wanted in ("tokenize", "shuffle", "flawed", "worker ", "CPUs busy"):
        assert wanted in text
    assert watched.complaints == []
    assert watched.hosts == {""}  # the file alone


def test_the_page_shows_the_failures_as_text(shown: tuple[Page, Watched]) -> None:
    failures = shown[0].locator("#failures details")
    assert failures.count() == 3
    assert "has no <text>" in failures.first.text_content()


def test_a_screenshot_is_more_than_an_empty_page(report: Path, shown: tuple[Page, Watched]) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    shutil.copy(report, SCREENSHOTS / "report.html")
    picture = shown[0].screenshot(path=SCREENSHOTS / "report.png", full_page=True)
    assert shown[0].evaluate("document.documentElement.scrollWidth") <= WIDTH
    assert len(picture) > 60_000
