"""Jobs of other clusters on the page: those of a stand-in for Iris, and those behind Ray's routes of another node."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.iris.conftest import FAST
from tests.iris.controller import Controller
from tests.iris.worker import Worker

from .conftest import SCREENSHOTS, Node, StartNode, Watched
from .test_dashboard import findings, open_view, pytestmark  # noqa: F401  (the same page has to be built)

WRITER = "import time\nfor n in range(10**6): print('line', n, '<b>bold</b>', flush=True); time.sleep(0.05)"


@pytest.fixture
def iris() -> Iterator[Controller]:
    with Controller([Worker("worker-0")], FAST) as controller:
        yield controller


@pytest.fixture
def of_ray(own_node: StartNode) -> Node:
    """A node that is asked as a Ray cluster is."""
    return own_node("--cpus", 1)


@pytest.fixture
def node(own_node: StartNode) -> Node:
    """The one whose page is looked at; it knows no token of another."""
    return own_node("--cpus", 1)


def start_writer(node: Node, spec: str, **variables: str) -> str:
    words = ("--no-wait", "--cluster", spec, "--id", "writer", "--", "python3", "-c", WRITER)
    submitted = node.fray("submit", *words, **variables)
    assert submitted.returncode == 0, submitted.stderr
    return submitted.stdout.strip()


def test_jobs_of_other_clusters_are_listed_followed_and_stopped(
    node: Node, of_ray: Node, iris: Controller, page: Page, watched: Watched, tmp_path: Path
) -> None:
    specs = [f"ray?address={of_ray.url}", f"iris?controller={iris.url}&user=tester"]
    token = next(of_ray.home.rglob("http.token")).read_text().strip()
    ids = [start_writer(node, spec, RAY_AUTH_TOKEN=token) for spec in specs]
    # The token is of who names the cluster. Nobody who looks gets to see it.
    page.goto(node.login_link(*(word for spec in specs for word in ("--cluster", spec)), RAY_AUTH_TOKEN=token))
    page.get_by_role("link", name=ids[1], exact=True).wait_for()  # it opens at the jobs of the cluster named last
    choice = page.get_by_role("navigation", name="Whose jobs")
    for spec, job in zip(specs, ids, strict=True):
        name = f"{spec.partition('?')[0]}-{spec.partition('//')[2].partition('&')[0]}"
        choice.get_by_role("link", name=name, exact=True).click()
        page.get_by_role("link", name=job, exact=True).click()
        log = page.get_by_role("log")
        log.get_by_text("line 3 <b>bold</b>", exact=True).wait_for()
        log.get_by_text("line 20 ").wait_for()
        assert findings(page) == []
        page.screenshot(path=SCREENSHOTS / f"job-of-{name.partition('-')[0]}.png")
        page.reload()
        page.get_by_role("log").get_by_text("line 3 <b>bold</b>", exact=True).wait_for()
        page.get_by_role("button", name="Stop …").click()
        page.get_by_role("button", name="Stop", exact=True).click()
        page.get_by_text("stopped", exact=True).first.wait_for()
        page.get_by_text("It has ended.").wait_for()
        page.get_by_role("link", name="All jobs").click()
    open_view(page, node, "clusters")
    assert token not in page.evaluate("fetch('/api/v1/clusters').then((answer) => answer.text())")
    rows = page.locator("tbody tr")
    rows.filter(has_text="answers").nth(1).wait_for()
    of_ray.fray("stop")
    rows.filter(has_text="does not answer").filter(has_text="is the Ray head up").wait_for()
    assert rows.filter(has_text="iris-").filter(has_text="does not answer").count() == 0
    assert findings(page) == []
    assert watched.complaints == []


def test_a_cluster_or_a_job_that_is_not_there_is_a_sentence(node: Node, iris: Controller, page: Page) -> None:
    page.goto(node.login_link("--cluster", f"iris?controller={iris.url}&user=tester"))
    page.get_by_text("There are no jobs.").wait_for()
    name = "iris-" + iris.url.partition("//")[2]
    page.goto(node.view(f"jobs/none?cluster={name}"))
    page.get_by_role("alert").get_by_text("none").wait_for()
    page.goto(node.view("jobs?cluster=ray-nowhere:1"))
    page.get_by_text("this node was told of no cluster ray-nowhere:1").wait_for()
    refused = node.fray("dashboard", "--no-open", "--cluster", "ray?address=http://127.0.0.1:1&colour=red")
    assert (refused.returncode, "colour" in refused.stderr, refused.stdout) == (2, True, "")
