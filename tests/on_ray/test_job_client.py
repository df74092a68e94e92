"""The client of Ray's job API, as a class for Python and as `fray job … --cluster ray?address=…`, on a real Ray."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from fray._ray_jobs import RayJobs
from fray.errors import JobExistsError

from tests.on_ray.head import RayHead
from tests.waiting import LONG_PATIENCE, eventually

pytestmark = pytest.mark.ray

Program = Callable[..., subprocess.CompletedProcess[str]]
PATIENCE = 120.0


@pytest.fixture(scope="module")
def jobs(ray_head: RayHead) -> RayJobs:
    return RayJobs(ray_head.dashboard, ray_head.environment["RAY_AUTH_TOKEN"])


@pytest.fixture
def fray_job(ray_head: RayHead) -> Program:
    """Run `fray job VERB --cluster …` with words, as on a machine that has only Fray."""
    beside = Path(sys.executable).parent / "fray"
    program = str(beside) if beside.exists() else shutil.which("fray")
    assert program, "the program fray is not installed"

    def run(verb: str, *words: str, token: str | None = None, address: str = "") -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "RAY_AUTH_TOKEN": ray_head.environment["RAY_AUTH_TOKEN"], "HOME": "/nonexistent"}
        if token is not None:
            environment["RAY_AUTH_TOKEN"] = token
        command = [program, "job", verb, "--cluster", f"ray?address={address or ray_head.dashboard}", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=environment)

    return run


def read_to_end(jobs: RayJobs, job: str, offset: int = 0) -> str:
    log = jobs.follow(job, offset)
    text = ""
    while (piece := log.read(1.0)) is not None:
        text += piece
    return text


def test_a_job_runs_in_its_folder_with_its_words_and_variables_and_ends_with_its_code(
    jobs: RayJobs, tmp_path: Path
) -> None:
    (tmp_path / "main.py").write_text(
        "import os, sys\nprint(sys.argv[1:], os.environ['GREETING'], flush=True)\nsys.exit(3)\n"
    )
    (tmp_path / "ignored.bin").write_bytes(b"x" * 1000)
    (tmp_path / ".gitignore").write_text("*.bin\n")
    words = ["python", "main.py", "two words", "$HOME", "it's", ""]
    environment = {"working_dir": str(tmp_path), "env_vars": {"GREETING": "hello"}}
    job = jobs.submit(words, runtime_env=environment, metadata={"owner": "test"})
    text = read_to_end(jobs, job)
    assert "['two words', '$HOME', \"it's\", ''] hello" in text
    details = jobs.get(job)
    assert (details["status"], details["driver_exit_code"]) == ("FAILED", 3)
    assert details["metadata"] == {"owner": "test"}
    assert str(details["runtime_env"]["working_dir"]).startswith("gcs://_ray_pkg_")  # type: ignore[index]
    line = "['two words'"
    assert read_to_end(jobs, job, text.encode().index(line.encode())).startswith(line)
    assert job in [each["submission_id"] for each in jobs.list_jobs()]
    assert jobs.delete(job) is True
    with pytest.raises(KeyError, match="does not exist"):
        jobs.get(job)


def test_a_taken_id_is_refused_and_a_running_job_is_stopped(jobs: RayJobs) -> None:
    name = f"mine-{uuid.uuid4().hex[:8]}"
    assert jobs.submit("echo up; exec sleep 1000", submission_id=name) == name
    with pytest.raises(JobExistsError, match="choose another submission id"):
        jobs.submit("true", submission_id=name)
    log = jobs.follow(name)
    while "up" not in (log.read(1.0) or ""):
        assert log.job is None
    with pytest.raises(ValueError, match="stop the job first"):
        jobs.delete(name)
    assert jobs.stop(name) is True
    while log.read(1.0) is not None:
        pass
    assert log.job is not None
    assert log.job["status"] == "STOPPED"
    assert jobs.stop(name) is False


def test_the_command_line_ends_with_the_jobs_code_and_shows_its_output(fray_job: Program) -> None:
    done = fray_job("submit", "--env", "A=1", "--name", "seven", "--", "sh", "-c", 'echo "a  b $A"; exit 7')
    assert done.returncode == 7, done.stderr
    assert "a  b 1" in done.stdout
    assert "failed after" in done.stderr
    listed = json.loads(fray_job("list", "--json").stdout)
    (job,) = [each["id"] for each in listed["jobs"] if 'echo "a  b $A"' in "".join(each["command"])]
    assert listed["schema"] == "fray/v1"
    whole = fray_job("logs", job).stdout.splitlines()  # Ray adds a line of its own, before or after
    assert "a  b 1" in whole
    assert fray_job("logs", "--tail", "1", job).stdout.splitlines() == whole[-1:]
    assert fray_job("wait", job).returncode == 7
    told = json.loads(fray_job("status", "--json", job).stdout)
    assert (told["status"], told["name"], told["exit_code"], told["ray"]["status"]) == ("failed", "seven", 7, "FAILED")
    assert fray_job("delete", job).returncode == 0


def test_a_submission_that_is_not_waited_for_prints_its_id(fray_job: Program, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    sleeper = ["sh", "-c", f"touch {runs}; exec sleep 1000"]
    started = fray_job("submit", "--no-wait", "--metadata", "owner", "me", "--", *sleeper)
    assert started.returncode == 0, started.stderr
    job = started.stdout.strip()
    assert json.loads(fray_job("status", "--json", job).stdout)["metadata"] == {"owner": "me"}
    assert fray_job("wait", "--timeout", "0.5s", job).returncode == 4
    eventually(runs.exists, LONG_PATIENCE, every=0.02)
    assert fray_job("stop", job).returncode == 0
    assert fray_job("wait", job).returncode != 0
    assert json.loads(fray_job("list", "--json", job).stdout)["jobs"][0]["status"] == "stopped"


def test_refusals_have_exit_codes_of_their_own(fray_job: Program) -> None:
    unknown = fray_job("status", "no-such-job")
    assert (unknown.returncode, "does not exist" in unknown.stderr) == (3, True)
    wrong = fray_job("list", token="canary-4711")
    assert (wrong.returncode, "does not take the token" in wrong.stderr) == (6, True)
    assert "canary-4711" not in wrong.stderr
    missing = fray_job("list", token="")
    assert (missing.returncode, "RAY_AUTH_TOKEN" in missing.stderr) == (6, True)
    nobody = fray_job("list", address="http://127.0.0.1:9")
    assert (nobody.returncode, "refused" in nobody.stderr) == (5, True)
    assert fray_job("list", address="ray://127.0.0.1:10001").returncode == 2


def test_bad_requests_are_refused_before_anything_is_sent(jobs: RayJobs, tmp_path: Path) -> None:
    for environment, words in [
        ({"working_directory": "."}, "the keys are"),
        ({"env_vars": {"A": 4711}}, "environment variable A"),
        ({"pip": ["a"], "conda": "b"}, "one of pip, uv and conda"),
    ]:
        with pytest.raises(ValueError, match=words) as caught:
            jobs.submit("true", runtime_env=environment)
        assert "4711" not in str(caught.value)
    with pytest.raises(ValueError, match="no folder or archive"):
        jobs.submit("true", runtime_env={"working_dir": str(tmp_path / "no")})
    with pytest.raises(ValueError, match="no address of a Ray cluster"):
        RayJobs("ray://127.0.0.1:10001")
