"""The dashboard in a real browser, before a node with a thousand workers, two thousand actors and a million tasks."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.bench import Bench
from benchmarks.groups.limits import find_program
from benchmarks.measurement import Measurement
from benchmarks.processes import cpu_seconds
from benchmarks.row import Round, Row
from benchmarks.target import AtLeast, AtMost

if TYPE_CHECKING:
    from playwright.sync_api import Page

FULL = (1000, 2000, 1_000_000)
"""Workers that sleep, actors, and tasks that have run."""
QUICK = (4, 4, 10_000)
SIZE = {"width": 1360, "height": 850}
SETTLING_SECONDS = 3.0
VIEWS = ("", "tasks", "functions", "actors", "workers", "objects")

# Milliseconds from the start of the navigation until the view shows what the node has told, and that is painted.
FIRST_PAINT = """
async () => {
  const isThere = () => {
    const text = document.body.textContent;
    const isTold = text.includes("Live") && !text.includes("Asking the node");
    return isTold && document.querySelector("main table, main canvas");
  };
  while (!isThere()) {
    if (performance.now() > 30_000) throw new Error("the view shows nothing after 30 s");
    await new Promise(requestAnimationFrame);
  }
  await new Promise(requestAnimationFrame);
  return performance.now();
}
"""
# How often a second the stream is painted, each time on a canvas that was cleared, and the longest time between two.
FRAMES = """
async (seconds) => {
  const painter = CanvasRenderingContext2D.prototype;
  const clear = painter.clearRect;
  const times = [];
  painter.clearRect = function (...box) {
    times.push(performance.now());
    clear.apply(this, box);
  };
  await new Promise((done) => setTimeout(done, seconds * 1000));
  painter.clearRect = clear;
  const gaps = times.slice(1).map((time, i) => time - times[i]);
  return [gaps.length / ((times.at(-1) - times[0]) / 1000), Math.max(...gaps)];
}
"""


@dataclass(frozen=True)
class Crowd:
    """A started node with many processes, and a page that somebody has open."""

    url: str
    pid: int
    page: Page
    size: tuple[int, int, int]

    def open(self, view: str) -> float:
        """Load a view anew; return the milliseconds until its first rows are painted."""
        self.page.goto(f"{self.url}/dashboard/{view}", wait_until="commit")
        return float(self.page.evaluate(FIRST_PAINT))

    def node_share(self, seconds: float) -> float:
        """Return the node's share of a core, in percent, while so much time passes in the page."""
        before, began = cpu_seconds([self.pid]), time.monotonic()
        self.page.wait_for_timeout(seconds * 1000)
        return 100 * (cpu_seconds([self.pid]) - before) / (time.monotonic() - began)


def crowd_of(bench: Bench) -> Crowd:
    """Start a node, a page that looks at it, and the crowd; all end with the row."""
    from playwright.sync_api import sync_playwright

    size = workers, actors, _ = bench.size(FULL, QUICK)
    home = tempfile.mkdtemp(prefix="fray-crowd-")
    bench.closing.callback(shutil.rmtree, home, ignore_errors=True)
    environment = {**bench.environment(), "FRAY_HOME": home}
    fray = str(Path(sys.executable).parent / "fray")

    def run(*words: object) -> str:
        done = subprocess.run([fray, *map(str, words)], env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"fray {' '.join(map(str, words))}: {done.stderr}")
        return done.stdout

    most = ("--max-workers", workers + actors + 16)
    started = json.loads(run("start", "--json", "--cpus", 2, "--resources", f"seat:{workers}", *most))
    bench.closing.callback(run, "stop", "--force")
    playwright = bench.closing.enter_context(sync_playwright())
    browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--disable-gpu"])
    bench.closing.callback(browser.close)
    page = browser.new_context(viewport=SIZE).new_page()
    page.set_default_timeout(60_000)
    page.goto(run("dashboard", "--no-open").strip())
    page.get_by_text("Live", exact=True).wait_for()
    words = [str(find_program("crowd")), home, *map(str, size)]
    crowd = subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    bench.closing.callback(crowd.communicate)
    assert crowd.stdout is not None
    while (said := crowd.stdout.readline()) != "ready\n":
        if not said:
            raise RuntimeError(f"the crowd ended with code {crowd.wait()}")
        page.wait_for_timeout(0)  # what the browser says meanwhile
    return Crowd(started["url"], int(json.loads(run("status", "--json"))["node"]["pid"]), page, size)


def dashboard_first_paint(bench: Bench) -> Round:
    """The slowest of the views; each is loaded anew."""
    crowd = crowd_of(bench)

    def one_round() -> Measurement:
        times = {f"{view or 'now'}_ms": crowd.open(view) for view in VIEWS}
        return Measurement(max(times.values()), times)

    return one_round


def dashboard_frames(bench: Bench) -> Round:
    """Paintings a second while the task stream follows the present, and what the node spends on the page."""
    crowd = crowd_of(bench)
    seconds = bench.size(5.0, 0.5)

    def one_round() -> Measurement:
        crowd.open("tasks")
        crowd.page.wait_for_timeout(SETTLING_SECONDS * 1000)
        frames, longest = crowd.page.evaluate(FRAMES, seconds)
        return Measurement(frames, {"longest_ms": longest, "node_cpu_percent": crowd.node_share(seconds)})

    return one_round


ROWS = (
    Row(
        "dashboard_first_paint",
        "ms",
        "lower",
        "the slowest view; 1,000 workers, 2,000 actors, a million tasks",
        dashboard_first_paint,
        peers=("fray",),
        targets=(AtMost(1000),),
        rounds={"fray": 3},
        timeout_seconds=300,
    ),
    Row(
        "dashboard_frames",
        "1/s",
        "higher",
        "the task stream follows; 1,000 workers, 2,000 actors, a million tasks",
        dashboard_frames,
        peers=("fray",),
        targets=(AtLeast(30),),
        rounds={"fray": 3},
        timeout_seconds=300,
    ),
)
