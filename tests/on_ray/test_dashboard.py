"""The dashboard of a started node, asked for the jobs of a Ray cluster as its page asks."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.job_program import Program
from tests.on_ray.head import RayHead
from tests.unit.cli.conftest import program_path
from tests.waiting import LONG_PATIENCE, eventually

pytestmark = [pytest.mark.ray, pytest.mark.timeout(180)]

Ask = Callable[..., Any]


@pytest.fixture
def ask(ray_head: RayHead, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ask]:
    """Ask a node of the test's own; it has Ray's token in its environment."""
    home = Path(tempfile.mkdtemp(prefix="fray-ray-"))
    monkeypatch.setenv("FRAY_HOME", str(home))
    started = subprocess.run([program_path(), "start", "--cpus", "1", "--json"], capture_output=True, text=True)
    assert started.returncode == 0, started.stderr
    node = json.loads(started.stdout)
    headers = {
        "Authorization": "Bearer " + Path(node["token_file"]).read_text().strip(),
        "Content-Type": "application/json",
    }

    def send(path: str, method: str = "GET", body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(node["url"] + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=LONG_PATIENCE) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())
        return text if "/logs" in path else json.loads(text)

    yield send
    subprocess.run([program_path(), "stop", "--force"], check=True, capture_output=True)
    shutil.rmtree(home)


def test_jobs_of_a_ray_cluster_are_listed_followed_and_stopped_by_the_routes_of_all_jobs(
    ask: Ask, ray_head: RayHead, tmp_path: Path
) -> None:
    spec = f"ray?address={ray_head.dashboard}"
    ray = Program(spec, tmp_path, {})
    job = ray.start("--", "sh", "-c", "echo first; echo second; exec sleep 1000")
    named = ask("/api/v1/clusters", "POST", {"spec": spec})
    assert named["answers"] and named["kind"] == "ray", named
    of_ray = "?" + urllib.parse.urlencode({"cluster": named["name"]})
    assert job in [each["id"] for each in ask(f"/api/v1/jobs{of_ray}")["jobs"]]
    # Ray may write that it runs the job behind what the job has written.
    eventually(lambda: "second" in ask(f"/api/v1/jobs/{job}/logs{of_ray}").splitlines(), LONG_PATIENCE, every=0.1)
    assert len(ask(f"/api/v1/jobs/{job}/logs{of_ray}&tail=1").splitlines()) == 1
    assert ask(f"/api/v1/jobs/{job}{of_ray}")["status"] == "running"
    ask(f"/api/v1/jobs/{job}/stop{of_ray}", "POST")
    followed = ask(f"/api/v1/jobs/{job}/logs/follow{of_ray}")  # to the end of the job
    assert "second" in followed and "event: end" in followed
    assert ask(f"/api/v1/jobs/{job}{of_ray}")["status"] == "stopped"
    assert ask(f"/api/v1/jobs/nobody{of_ray}")[0] == 404
    assert ask(f"/api/v1/jobs/{job}{of_ray}", "DELETE")["id"] == job
