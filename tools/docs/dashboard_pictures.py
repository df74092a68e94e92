"""Makes docs/images/dashboard-*.png: python -m tools.docs.dashboard_pictures. Run it when the page looks different.

It starts a node of its own, has programs work on it, and takes the pictures of its pages in Debian's Chromium, through
Playwright. The package has to be installed with the dashboard's page (make build), and the packages of the tests.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tools.check_docs import ROOT

IMAGES = ROOT / "docs" / "images"
SIZE = {"width": 1360, "height": 850}
_LOOKING_SECONDS = 20
_FRAY = Path(sys.executable).parent / "fray"

_WORK = """
import random, time, fray

class Vocabulary:
    def __init__(self):
        self.words = {}

    def add(self, words):
        for word, times in words.items():
            self.words[word] = self.words.get(word, 0) + times
        return len(self.words)

def load_shard(number):
    time.sleep(random.uniform(0.05, 0.15))
    random.seed(number)
    return " ".join(f"w{int(random.paretovariate(1.2))}" for _ in range(2000))

def tokenize(text):
    time.sleep(random.uniform(0.02, 0.12))
    return text.split()

def count_words(tokens):
    time.sleep(random.uniform(0.01, 0.08))
    counts = {}
    for token in tokens:
        counts[token] = counts.get(token, 0) + 1
    if random.random() < 0.02:
        raise ValueError("this shard has no words")
    return dict(sorted(counts.items(), key=lambda item: -item[1])[:200])

def evaluate():
    time.sleep(3600)

ctx = fray.init(address="auto")
vocabulary = ctx.create_actor(Vocabulary, name="vocabulary")
greedy = [ctx.create_task(evaluate, options=fray.TaskOptions(resources={"TPU": 4})) for _ in range(3)]
shard = 0
while True:
    texts = [ctx.run(load_shard, shard + n) for n in range(24)]
    shard += 24
    counted = [ctx.run(count_words, ctx.run(tokenize, text)) for text in texts]
    ready, _ = ctx.wait(counted, len(counted))
    for ref in ready:
        try:
            vocabulary.add(ctx.get(ref))
        except ValueError:
            pass
"""

_JOB = """
import time
for epoch in range(10_000):
    print(f"epoch {epoch:4}  loss {2.3 / (1 + epoch / 40):.4f}  accuracy {1 - 0.9 / (1 + epoch / 25):.3f}", flush=True)
    time.sleep(0.15)
"""


class Scene:
    """A node that works, and what is asked of it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._environment = {**os.environ, "FRAY_HOME": str(home)}
        self._url = json.loads(self.fray("start", "--cpus", "8", "--resources", "TPU:4", "--json"))["url"]
        self._program: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        (self.home / "train.py").write_text(_JOB)
        self._program = subprocess.Popen([sys.executable, "-c", _WORK], env=self._environment, cwd=self.home)
        self.fray("submit", "--no-wait", "--id", "train-resnet", "--cpus", "0", "--", "python3", "train.py")
        self.fray(
            "submit", "--no-wait", "--id", "train-large", "--resources", "TPU:4", "--", "python3", "train.py", "--large"
        )

    def fray(self, *words: str) -> str:
        done = subprocess.run([_FRAY, *words], env=self._environment, cwd=self.home, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return done.stdout

    def link(self) -> str:
        return self.fray("dashboard", "--no-open").strip()

    def view(self, path: str) -> str:
        return f"{self._url}/dashboard/{path}"

    def end(self) -> None:
        if self._program is not None:
            self._program.kill()
            self._program.wait()
        self.fray("stop", "--force")


def take(page: Page, name: str) -> None:
    path = IMAGES / f"dashboard-{name}.png"
    page.mouse.move(0, 0)
    page.screenshot(path=path)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1000} KB")


def take_all(scene: Scene, page: Page) -> None:
    page.goto(scene.link())
    page.get_by_text("Live", exact=True).wait_for()
    time.sleep(_LOOKING_SECONDS)  # the charts show what was while somebody looks
    take(page, "now")
    page.emulate_media(color_scheme="dark")
    page.goto(scene.view("tasks"))
    page.get_by_role("application").wait_for()
    page.get_by_label("How much time is shown").select_option("5")
    time.sleep(6)
    page.get_by_role("application").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_role("region", name="task").get_by_role("row").nth(1).wait_for()
    take(page, "tasks")
    page.emulate_media(color_scheme="light")
    page.goto(scene.view("jobs/train-resnet"))
    page.get_by_text("epoch   40").wait_for()
    take(page, "job")


def main() -> int:
    home = Path(tempfile.mkdtemp(prefix="fray-pictures-"))
    IMAGES.mkdir(exist_ok=True)
    scene = Scene(home)
    try:
        scene.begin()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--disable-gpu"])
            context = browser.new_context(viewport=SIZE, device_scale_factor=1, reduced_motion="reduce")
            take_all(scene, context.new_page())
            browser.close()
    finally:
        scene.end()
        shutil.rmtree(home, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
