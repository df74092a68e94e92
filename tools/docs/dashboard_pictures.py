"""Makes docs/images/dashboard-*.png: python -m tools.docs.dashboard_pictures. Run it when the page looks different.

It starts a node of its own, has programs work on it, and takes the pictures of its pages in Debian's Chromium, through
Playwright. The package has to be installed with the dashboard's page (make build), and the packages of the tests.
"""

from __future__ import annotations

import json
import os
import re
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


_SIMULATION = """
import math, fray

def forces(bodies):
    return [sum(math.sin(a - b) for b in bodies) for a in bodies]

def collide(bodies, pulls):
    return [body + pull / 1000 for body, pull in zip(bodies, pulls)]

def energy(bodies):
    return math.fsum(abs(math.cos(body)) for body in bodies)

def step(bodies):
    moved = collide(bodies, forces(bodies))
    return moved, energy(moved)

def simulate():
    bodies = [float(number) for number in range(60)]
    while True:
        bodies, _ = step(bodies)

ctx = fray.init(address="auto")
ctx.get(ctx.run(simulate))
"""


class Scene:
    """A node that works, and what is asked of it."""

    def __init__(self, home: Path, *words: str, **variables: str) -> None:
        self.home = home
        self._environment = {**os.environ, **variables, "FRAY_HOME": str(home)}
        self.url = json.loads(self.fray("start", *words, "--json"))["url"]
        self._programs: list[subprocess.Popen[bytes]] = []

    def begin(self) -> None:
        (self.home / "train.py").write_text(_JOB)
        for program in (_WORK, _SIMULATION):
            words = [sys.executable, "-c", program]
            self._programs.append(subprocess.Popen(words, env=self._environment, cwd=self.home))
        self.fray("submit", "--no-wait", "--id", "train-resnet", "--cpus", "0", "--", "python3", "train.py")
        self.fray(
            "submit", "--no-wait", "--id", "train-large", "--resources", "TPU:4", "--", "python3", "train.py", "--large"
        )

    def fray(self, *words: str) -> str:
        done = subprocess.run([_FRAY, *words], env=self._environment, cwd=self.home, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return done.stdout

    def begin_jobs(self) -> None:
        """Work as a cluster that another node's page shows does."""
        (self.home / "train.py").write_text(_JOB)
        for job, program in (("finetune-a", "train.py"), ("finetune-b", "train.py"), ("evaluate", "--version")):
            self.fray("submit", "--no-wait", "--id", job, "--cpus", "0", "--", "python3", "-u", program)

    def token(self) -> str:
        return next(self.home.rglob("http.token")).read_text().strip()

    def link(self, *words: str) -> str:
        return self.fray("dashboard", "--no-open", *words).strip()

    def view(self, path: str) -> str:
        return f"{self.url}/dashboard/{path}"

    def end(self) -> None:
        for program in self._programs:
            program.kill()
            program.wait()
        self.fray("stop", "--force")
        shutil.rmtree(self.home, ignore_errors=True)


def take(page: Page, name: str, height: int = SIZE["height"]) -> None:
    path = IMAGES / f"dashboard-{name}.png"
    page.mouse.move(0, 0)
    page.screenshot(path=path, clip={"x": 0, "y": 0, "width": SIZE["width"], "height": height})
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1000} KB")


def take_all(scene: Scene, cluster: Scene, page: Page) -> None:
    # The routes of a started node are also those of a Ray cluster. Nobody is at the controller's port.
    iris = "iris?controller=http://127.0.0.1:10000"
    page.goto(scene.link("--cluster", f"ray?address={cluster.url}", "--cluster", iris))
    page.goto(scene.view(""))
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
    page.goto(scene.view("clusters"))
    page.get_by_text("does not answer").first.wait_for()
    page.get_by_text("answers", exact=True).first.wait_for()
    take(page, "clusters", height=260)
    page.goto(scene.view("workers?sort=running_seconds&order=desc"))
    page.locator("tbody tr", has_text="simulate").first.locator("[data-row]").click()
    details = page.get_by_role("region", name=re.compile("Worker"))
    details.get_by_role("combobox").select_option("5 s")
    details.get_by_role("button", name="Flame graph").click()
    details.get_by_role("button", name=re.compile("^forces, ")).first.wait_for()
    take(page, "flame", height=620)


def main() -> int:
    IMAGES.mkdir(exist_ok=True)
    cluster = Scene(Path(tempfile.mkdtemp(prefix="fray-pictures-")), "--cpus", "4")
    words = ("--cpus", "8", "--resources", "TPU:4")
    scene = Scene(Path(tempfile.mkdtemp(prefix="fray-pictures-")), *words, RAY_AUTH_TOKEN=cluster.token())
    try:
        scene.begin()
        cluster.begin_jobs()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--disable-gpu"])
            context = browser.new_context(viewport=SIZE, device_scale_factor=1, reduced_motion="reduce")
            take_all(scene, cluster, context.new_page())
            browser.close()
    finally:
        scene.end()
        cluster.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
