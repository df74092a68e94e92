"""Debian's Chromium, driven by Playwright, and nodes that somebody started."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.slowness import SLOWNESS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request

ROOT = Path(__file__).resolve().parents[2]
SCREENSHOTS = ROOT / "build" / "browser"
SIZE = {"width": 1280, "height": 860}
PATIENCE_MS = 30_000 * SLOWNESS


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium")
    from playwright.sync_api import sync_playwright

    words = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-component-update", "--disable-sync"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=words)
        yield browser
        browser.close()


@dataclass
class Watched:
    """What a page says and asks for that nobody sees."""

    complaints: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)

    def take_message(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.text} ({message.location.get('url', '')})")

    def take_request(self, request: Request) -> None:
        self.hosts.add(urlsplit(request.url).netloc)


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser's profile of its own, of somebody in Kathmandu."""
    context = browser.new_context(viewport=SIZE, timezone_id="Asia/Kathmandu", locale="en-GB", reduced_motion="reduce")
    context.set_default_timeout(PATIENCE_MS)
    yield context
    context.close()


def watch(context: BrowserContext) -> Watched:
    """Note down what the pages of a profile say and ask for from now on."""
    watched = Watched()
    context.on("console", watched.take_message)
    context.on("weberror", lambda error: watched.complaints.append(str(error.error)))
    context.on("request", watched.take_request)
    return watched


@pytest.fixture
def watched(context: BrowserContext) -> Watched:
    return watch(context)


@pytest.fixture
def page(context: BrowserContext, watched: Watched) -> Page:
    """An empty tab."""
    return context.new_page()


@dataclass(frozen=True)
class Node:
    home: Path
    url: str
    variables: tuple[tuple[str, str], ...] = ()
    """Of its environment, beside those of the tests."""

    def fray(self, *words: object, within: float = 60, **variables: str) -> subprocess.CompletedProcess[str]:
        """The command line, of this node, of somebody whose environment has these variables too."""
        return subprocess.run(
            [program_path(), *map(str, words)],
            capture_output=True,
            text=True,
            timeout=within,
            env={**self.environment, **variables},
            cwd=self.home,
        )

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "FRAY_HOME": str(self.home), **dict(self.variables)}

    def login_link(self, *words: object, **variables: str) -> str:
        done = self.fray("dashboard", "--no-open", *words, **variables)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def view(self, path: str = "") -> str:
        return f"{self.url}/dashboard/{path}"


def program_path() -> str:
    beside = Path(sys.executable).parent / "fray"
    found = str(beside) if beside.exists() else shutil.which("fray")
    assert found, "the program fray is not installed"
    return found


StartNode = Callable[..., Node]


def start_node(home: Path, *words: object, **variables: str) -> Node:
    node = Node(home, "", tuple(variables.items()))
    started = node.fray("start", "--json", *words)
    assert started.returncode == 0, started.stderr
    return Node(home, json.loads(started.stdout)["url"], node.variables)


@pytest.fixture
def own_node() -> Iterator[StartNode]:
    """Starts a node with the words that `fray start` gets; it is stopped at the end."""
    homes: list[Path] = []

    def start(*words: object, home: Path | None = None, **variables: str) -> Node:
        if home is None:
            home = Path(tempfile.mkdtemp(prefix="fray-page-"))
            homes.append(home)
        return start_node(home, *words, **variables)

    yield start
    for home in homes:
        Node(home, "").fray("stop", "--force")
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    """A node with two CPUs that the tests of a module share."""
    home = Path(tempfile.mkdtemp(prefix="fray-page-"))
    yield start_node(home, "--cpus", 2)
    Node(home, "").fray("stop", "--force")
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def watched_for_long(request: pytest.FixtureRequest) -> Iterator[Page | None]:
    """The objects of a node whose program leaks, open since the first test of all; None if no test looks at it."""
    if not any(item.path.name == "test_watching.py" for item in request.session.items):
        yield None
        return
    from .work import LEAKING, Program

    browser: Browser = request.getfixturevalue("browser")
    home = Path(tempfile.mkdtemp(prefix="fray-page-"))
    node = start_node(home, "--cpus", 1)
    page = browser.new_page()
    page.goto(node.login_link())
    page.goto(node.view("objects?limit=3"))
    with Program(node, LEAKING):
        yield page
    page.close()
    node.fray("stop", "--force")
    shutil.rmtree(home, ignore_errors=True)
