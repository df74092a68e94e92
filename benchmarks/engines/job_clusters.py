"""Clusters of the peers, for jobs: a started node of a home of its own, and a Ray with its dashboard."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.engines import CPUS

_LOOK_SECONDS = 0.005
_AGENT_SECONDS = 60
_AGENT_PAUSE_SECONDS = 0.5


@dataclass
class StartedNode:
    """A node started by the command line, and how to kill and restart it."""

    home: str
    program: str
    pid: int = 0
    cluster: Any = None
    url: str = ""
    token: str = ""
    token_file: str = ""
    environment: dict[str, str] = field(default_factory=dict[str, str])

    def start(self) -> None:
        """Start it and connect to it."""
        from fray.cluster import LocalCluster

        command = [self.program, "start", "--json", "--cpus", str(CPUS)]
        done = subprocess.run(command, check=True, capture_output=True, env=self.environment)
        started = json.loads(done.stdout)
        self.pid, self.url = started["pid"], started["url"]
        self.token_file = started["token_file"]
        self.token = Path(self.token_file).read_text().strip()
        self.cluster = LocalCluster(self.home)

    def run(self, *command: str) -> str:
        """Start a job and return its id."""
        from fray.cluster import Entrypoint, JobRequest

        return self.cluster.launch(JobRequest(name="bench", entrypoint=Entrypoint.from_binary(command[0], command[1:])))

    def stop(self) -> None:
        """End it."""
        subprocess.run([self.program, "stop"], check=False, capture_output=True, env=self.environment)


@contextmanager
def started_node() -> Generator[StartedNode]:
    """Start a node in a home of its own; both go at the end."""
    program = shutil.which("fray")
    if program is None:
        raise FileNotFoundError("the command fray is not in PATH")
    home = tempfile.mkdtemp(prefix="bench-jobs-")
    os.chmod(home, 0o700)
    node = StartedNode(home, program, environment={**os.environ, "FRAY_HOME": home})
    node.start()
    try:
        yield node
    finally:
        node.stop()
        shutil.rmtree(home, ignore_errors=True)


class RayJobs:
    """Ray's job submission, by its own client."""

    def __init__(self, url: str) -> None:
        from ray.job_submission import JobSubmissionClient

        self.client = JobSubmissionClient(url)

    def run(self, *command: str) -> str:
        """Start a job and return its id."""
        import shlex

        return self.client.submit_job(entrypoint=shlex.join(command))

    def wait(self, job: str) -> None:
        """Wait for a job's end by asking, for there is no other way."""
        while not self.client.get_job_status(job).is_terminal():
            time.sleep(_LOOK_SECONDS)


def _wait_for_agent(jobs: RayJobs) -> None:
    """Run a first job once Ray can: its agent comes after its dashboard."""
    deadline = time.monotonic() + _AGENT_SECONDS
    while True:
        try:
            return jobs.wait(jobs.run("true"))
        except RuntimeError as error:
            if "No available agent" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(_AGENT_PAUSE_SECONDS)


@contextmanager
def ray_jobs() -> Generator[RayJobs]:
    """Start a Ray with a dashboard; it ends with the block."""
    from benchmarks.engines.ray_engine import connection

    with connection(None, dashboard=True) as context:
        jobs = RayJobs(f"http://{context.dashboard_url}")
        _wait_for_agent(jobs)
        yield jobs


def resident_megabytes(pid: int) -> float:
    """Return the proportional set size of one process."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0
