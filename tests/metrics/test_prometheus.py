"""The metrics of a node, as a real Prometheus and its linter read them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fray
import pytest

from tests.ports import free_port
from tests.unit.cli.conftest import program_path

DASHBOARD = Path(__file__).resolve().parents[2] / "docs" / "reference" / "grafana-dashboard.json"
PATIENCE = 60.0

WORK = """
import os, sys, time
import fray


def step(number):
    return sum(range(number))


def fails():
    raise ValueError("no stock")


class Counter:
    def add(self, number):
        return number


if __name__ == "__main__":
    ctx = fray.init(address="auto")
    counter = ctx.create_actor(Counter)
    print("begun", flush=True)
    while True:
        ctx.get([ctx.run(step, 10_000) for _ in range(20)] + [counter.add(1)])
        ctx.wait([ctx.run(fails)])
"""


@dataclass
class Prometheus:
    url: str

    def query(self, expression: str) -> list[Any]:
        text = urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(f"{self.url}/api/v1/query?{text}", timeout=10) as answer:
            document = json.load(answer)
        assert document["status"] == "success", document
        return document["data"]["result"]

    def until(self, expression: str) -> list[Any]:
        """The samples of an expression, once there are some that are numbers."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                found = self.query(expression)
            except OSError:
                found = []  # it does not listen yet
            if found and any(sample["value"][1] != "NaN" for sample in found):
                return found
            time.sleep(0.05)  # Prometheus tells nobody of a scrape
        raise AssertionError(f"no data for {expression} within {PATIENCE} s")


@dataclass
class Node:
    url: str
    token_file: Path

    def metrics(self) -> str:
        headers = {"Authorization": f"Bearer {self.token_file.read_text().strip()}"}
        request = urllib.request.Request(f"{self.url}/metrics", headers=headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read().decode()


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A started node on which a program works all the time, and a job has run."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("home")
        patch.setenv("FRAY_HOME", str(folder))
        patch.delenv("FRAY_CLUSTER_SPEC", raising=False)
        start = [program_path(), "start", "--cpus", "2", "--json"]
        document = json.loads(subprocess.run(start, check=True, capture_output=True, text=True).stdout)
        program = folder / "work.py"
        program.write_text(WORK)
        try:
            subprocess.run([program_path(), "submit", "--", "true"], check=True, capture_output=True)
            with subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True) as work:
                assert work.stdout is not None
                assert work.stdout.readline() == "begun\n"
                yield Node(document["url"], Path(document["token_file"]))
                work.kill()
        finally:
            subprocess.run([program_path(), "stop"], check=True, capture_output=True)


@pytest.fixture(scope="module")
def prometheus(node: Node, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("there is no prometheus")
    folder = tmp_path_factory.mktemp("prometheus")
    scrape = {
        "job_name": "fray",
        "authorization": {"credentials_file": str(node.token_file)},
        "static_configs": [{"targets": [node.url.removeprefix("http://")]}],
    }
    config = {"global": {"scrape_interval": "250ms", "scrape_timeout": "250ms"}, "scrape_configs": [scrape]}
    (folder / "prometheus.yml").write_text(json.dumps(config))  # which is YAML, too
    address = f"127.0.0.1:{free_port()}"
    words = [f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    with (
        open(folder / "log", "wb") as log,
        subprocess.Popen([program, *words, f"--web.listen-address={address}"], stdout=log, stderr=log) as running,
    ):
        yield Prometheus(f"http://{address}")
        running.terminate()


def test_linter_of_prometheus_finds_nothing(node: Node) -> None:
    linter = shutil.which("promtool")
    if linter is None:
        pytest.skip("there is no promtool")
    done = subprocess.run([linter, "check", "metrics"], input=node.metrics(), capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def expressions() -> list[str]:
    document = json.loads(DASHBOARD.read_text())
    return [target["expr"] for panel in document["panels"] for target in panel["targets"]]


@pytest.mark.parametrize("expression", expressions())
def test_each_expression_of_the_dashboard_has_data(prometheus: Prometheus, expression: str) -> None:
    prometheus.until(expression.replace("$__rate_interval", "5s").replace("$instance", ".*"))


def test_percentiles_and_failures_are_those_of_what_runs(prometheus: Prometheus) -> None:
    quantile = "histogram_quantile(0.5, sum by (le) (rate(fray_task_duration_seconds_bucket{function='step'}[5s])))"
    [sample] = prometheus.until(quantile)
    assert 0 < float(sample["value"][1]) < 1
    failing = prometheus.until("rate(fray_task_runs_total{outcome='failed'}[5s]) > 0")
    assert [sample["metric"]["function"] for sample in failing] == ["fails"]
    [calls] = prometheus.until("fray_task_runs_total{function='Counter.add',outcome='ok'} > 0")
    assert float(calls["value"][1]) > 0


def test_page_of_metrics_names_what_the_node_has(node: Node) -> None:
    page = (DASHBOARD.parent / "metrics.md").read_text()
    told = {line.split()[2] for line in node.metrics().splitlines() if line.startswith("# TYPE")}
    assert told
    assert [name for name in sorted(told) if f"`{name}`" not in page] == []
    assert fray.__version__ in node.metrics()
