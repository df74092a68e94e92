"""Packages of jobs: installed beside those of the program that launches, once, before the job starts."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import fray
import pytest
from fray import Entrypoint, JobRequest, JobStatus, LocalCluster, ResourceConfig, create_environment

from tests.chaos.harness import PATIENCE, eventually
from tests.chaos.started import command, process_of, start
from tests.chaos.wheels import make_wheel


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own for each test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    """A cluster of two CPUs, which is this process's."""
    fray.init(cpus=2)
    with LocalCluster() as made:
        yield made
    fray.shutdown()


def request(entrypoint: Entrypoint, folder: Path, *lines: str) -> JobRequest:
    return JobRequest(
        name="packaged",
        entrypoint=entrypoint,
        resources=ResourceConfig(cpu=0),
        environment=create_environment(pip_packages=[*lines, "--no-index", f"--find-links {folder}"]),
    )


def test_an_adopted_job_holds_its_environment_in_the_cache_until_it_ends(tmp_path: Path) -> None:
    def prune() -> list[object]:
        return json.loads(command("env", "prune", "--all", "--json").ok())["removed"]

    make_wheel(tmp_path, "fray_test_alpha", "1.0", "def main():\n    pass\n")
    node = start("--cpus", "2")
    try:
        script = f"touch {tmp_path}/begun; until [ -e {tmp_path}/go ]; do sleep 0.02; done; exit 7"
        job = LocalCluster("auto").launch(
            request(Entrypoint.from_binary("sh", ["-c", script]), tmp_path, "fray_test_alpha")
        )
        eventually(lambda: (tmp_path / "begun").exists(), within=2 * PATIENCE)
        assert prune() == []
        process = process_of(node)
        process.signal(signal.SIGKILL)
        eventually(lambda: not process.is_alive())
        start("--cpus", "2")
        assert LocalCluster("auto").poll(job).status is JobStatus.RUNNING
        assert prune() == []
        (tmp_path / "go").touch()
        assert LocalCluster("auto").wait(job, timeout=PATIENCE).exit_code == 7
        eventually(lambda: len(prune()) == 1)
    finally:
        fray.shutdown()
        command("stop", "--force")
