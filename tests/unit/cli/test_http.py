"""The HTTP API of a started node, asked by programs that know nothing of Fray."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import http.client
import io
import json
import os
import stat
import subprocess
import sys
import urllib.error
import urllib.request
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fray._ray_jobs import RayJobs
from fray.errors import JobExistsError

from tests.chaos.wheels import make_wheel
from tests.waiting import eventually

from .conftest import Program

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


@dataclass(frozen=True)
class Node:
    url: str
    token: str
    token_file: Path

    def put(self, path: str, data: bytes) -> tuple[int, bytes]:
        """Send bytes as Ray's client does: without a type."""
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=60)
        with contextlib.closing(connection):
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # refused before all was sent
                connection.request("PUT", path, body=data, headers={"Authorization": f"Bearer {self.token}"})
            answer = connection.getresponse()
            return answer.status, answer.read()

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, bytes]:
        """Status and body of an answer; `headers` come beside the token."""
        data = None if body is None else json.dumps(body).encode()
        sent = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **headers}
        request = urllib.request.Request(self.url + path, data=data, headers=sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()


@pytest.fixture
def node(fray_program: Program) -> Iterator[Node]:
    started = fray_program("start", "--cpus", 2, "--json")
    assert started.returncode == 0, started.stderr
    document = json.loads(started.stdout)
    token_file = Path(document["token_file"])
    yield Node(document["url"], token_file.read_text().strip(), token_file)
    fray_program("stop")


@pytest.fixture
def client(node: Node, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Ray's own client, as it is, in front of the node."""
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", node.token)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        submission = pytest.importorskip("ray.job_submission")
    return submission.JobSubmissionClient(node.url, headers={"Authorization": f"Bearer {node.token}"})


def test_a_started_node_answers_who_has_its_token_and_nobody_else(node: Node, fray_program: Program) -> None:
    assert stat.S_IMODE(node.token_file.stat().st_mode) == 0o600
    assert len(node.token) == 64
    status, body = node.ask("GET", "/api/v1/status")
    assert status == 200
    assert json.loads(body)["schema"] == "fray/v1"
    assert json.loads(body)["resources"]["total"]["CPU"] == 2
    assert node.ask("GET", "/api/v1/status", Authorization="Bearer " + "0" * 64)[0] == 403
    assert node.ask("GET", "/api/v1/status", Host="evil.example")[0] == 421
    assert node.ask("GET", "/api/v1/status", Origin="http://evil.example")[0] == 403
    assert b"fray_uptime_seconds" in node.ask("GET", "/metrics")[1]
    assert fray_program("stop").returncode == 0
    assert not node.token_file.exists()
    with pytest.raises(urllib.error.URLError):
        node.ask("GET", "/api/v1/status")


def test_a_port_that_is_taken_is_told(node: Node, fray_program: Program) -> None:
    fray_program("stop")
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused = fray_program("start", "--http-port", port)
    assert refused.returncode == 1
    assert f"127.0.0.1:{port}" in refused.stderr


def test_a_job_is_run_and_its_output_read_byte_by_byte(node: Node, tmp_path: Path) -> None:
    script = 'printf "a\\377b\\n"; printf "$WORD\\n" >&2; pwd; exit 3'
    order = {
        "command": ["sh", "-c", script],
        "id": "bytes-1",
        "folder": str(tmp_path),
        "environment": {"WORD": "hidden-word"},
    }
    status, body = node.ask("POST", "/api/v1/jobs", order)
    assert status == 200, body
    assert node.ask("POST", "/api/v1/jobs", order)[0] == 409
    eventually(lambda: json.loads(node.ask("GET", "/api/v1/jobs/bytes-1")[1])["status"] == "failed", 60, every=0.02)
    job = json.loads(node.ask("GET", "/api/v1/jobs/bytes-1")[1])
    assert job["exit_code"] == 3
    assert "hidden-word" not in json.dumps(job)
    assert node.ask("GET", "/api/v1/jobs/bytes-1/logs")[1] == b"a\xffb\n" + str(tmp_path).encode() + b"\n"
    assert node.ask("GET", "/api/v1/jobs/bytes-1/logs?offset=2")[1].startswith(b"b\n")
    assert node.ask("GET", "/api/v1/jobs/bytes-1/logs?stream=stderr")[1] == b"hidden-word\n"
    followed = node.ask("GET", "/api/v1/jobs/bytes-1/logs/follow")[1].decode()
    assert followed.rstrip().endswith("event: end\ndata: {}")
    assert node.ask("DELETE", "/api/v1/jobs/bytes-1")[0] == 200
    assert node.ask("GET", "/api/v1/jobs/bytes-1")[0] == 404


def test_the_client_of_rays_jobs_works_against_a_node(node: Node) -> None:
    jobs = RayJobs(node.url, node.token)
    job = jobs.submit(["sh", "-c", 'echo "$A  b"; echo two >&2; exit 7'], runtime_env={"env_vars": {"A": "a"}})
    log = jobs.follow(job)
    text = ""
    while (piece := log.read(1.0)) is not None:
        text += piece
    assert text == "a  b\ntwo\n"
    assert log.job is not None
    assert (log.job["status"], log.job["driver_exit_code"]) == ("FAILED", 7)
    with pytest.raises(JobExistsError):
        jobs.submit("true", submission_id=job)
    assert [each["submission_id"] for each in jobs.list_jobs()] == [job]
    assert jobs.stop(job) is False
    assert jobs.delete(job) is True
    with pytest.raises(KeyError):
        jobs.get(job)


@pytest.mark.ray
def test_an_unmodified_submission_client_submits_tails_lists_and_stops(client: Any) -> None:
    job = client.submit_job(entrypoint="echo hello $NAME; exit 0", runtime_env={"env_vars": {"NAME": "you"}})

    async def tail() -> str:
        return "".join([piece async for piece in client.tail_job_logs(job)])

    assert asyncio.run(tail()) == "hello you\n"
    eventually(lambda: client.get_job_status(job).is_terminal(), 60, every=0.02)
    assert client.get_job_status(job) == "SUCCEEDED"
    assert client.get_job_logs(job) == "hello you\n"
    assert client.get_job_info(job).entrypoint == "echo hello $NAME; exit 0"
    long = client.submit_job(entrypoint="sleep 1000", submission_id="long-1", metadata={"owner": "me"})
    assert {each.submission_id for each in client.list_jobs()} == {job, long}
    assert client.get_job_info(long).metadata == {"owner": "me"}
    with pytest.raises(RuntimeError, match="already exists"):
        client.submit_job(entrypoint="true", submission_id="long-1")
    assert client.stop_job(long) is True
    eventually(lambda: client.get_job_status(long).is_terminal(), 60, every=0.02)
    assert client.get_job_status(long) == "STOPPED"
    assert client.delete_job(long) is True
    with pytest.raises(RuntimeError, match="does not exist"):
        client.get_job_info(long)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a program, beside a wheel that it needs; environments are made in a cache of their own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("UV_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    make_wheel(tmp_path, "fray_test_alpha", "1.0", "VERSION = '1.0'\n")
    folder = tmp_path / "project"
    (folder / "lib").mkdir(parents=True)
    (folder / "lib" / "helper.py").write_text("def words(): return 'from the package'\n")
    (folder / "main.py").write_text(
        "import os\nimport fray_test_alpha\nfrom lib.helper import words\n"
        "print(words(), os.environ['NAME'], fray_test_alpha.VERSION, sorted(os.listdir('.')))\n"
    )
    return folder


@pytest.mark.ray
def test_an_unmodified_submission_client_sends_its_folder_and_packages(project: Path, client: Any) -> None:
    env = {"working_dir": str(project), "env_vars": {"NAME": "you"}, "pip": ["fray_test_alpha"]}
    job = client.submit_job(entrypoint="python main.py", runtime_env=env)
    eventually(lambda: client.get_job_status(job).is_terminal(), 60, every=0.02)
    assert client.get_job_logs(job) == "from the package you 1.0 ['lib', 'main.py']\n", client.get_job_info(job)
    assert client.get_job_status(job) == "SUCCEEDED"
    assert client.get_job_info(job).runtime_env["env_vars"] == {"NAME": "<redacted>"}
    again = client.submit_job(entrypoint="cat main.py", runtime_env={"working_dir": str(project)})
    eventually(lambda: client.get_job_status(again).is_terminal(), 60, every=0.02)
    assert client.get_job_logs(again) == (project / "main.py").read_text()
    packages = list((Path(os.environ["FRAY_HOME"]) / "packages").iterdir())
    assert len(packages) == 1, "the second job found what the first had sent"


@pytest.mark.ray
def test_what_a_node_does_not_support_is_refused_by_its_name(client: Any, tmp_path: Path) -> None:
    (tmp_path / "module").mkdir()
    (tmp_path / "module" / "__init__.py").touch()
    with pytest.raises(RuntimeError, match=r"there is no key \W*py_modules"):
        client.submit_job(entrypoint="true", runtime_env={"py_modules": [str(tmp_path / "module")]})


@pytest.mark.ray
def test_the_command_line_of_ray_submits_a_folder_and_shows_what_it_prints(
    node: Node, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Path(sys.executable).with_name("ray")
    words = ["job", "submit", "--address", node.url, "--working-dir", ".", "--submission-id", "by-ray"]
    environment = {**os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": node.token}
    done = subprocess.run(
        [str(program), *words, "--", "cat", "lib/helper.py"],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "from the package" in done.stdout
    assert "Job 'by-ray' succeeded" in done.stdout
    for verb, shown in (("status", "succeeded"), ("logs", "from the package"), ("list", "by-ray")):
        rest = ["by-ray"] if verb != "list" else []
        asked = subprocess.run(
            [str(program), "job", verb, "--address", node.url, *rest],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert shown in asked.stdout + asked.stderr, (verb, asked)


def test_packages_are_taken_whole_and_checked(node: Node, tmp_path: Path) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("a.txt", "in the archive\n")
    name = f"_ray_pkg_{hashlib.sha1(data.getvalue()).hexdigest()}.zip"
    path = f"/api/packages/gcs/{name}"
    assert node.ask("GET", path)[0] == 404
    status, why = node.put(path, data.getvalue() + b"more")
    assert (status, b"not those that the package's name is made of" in why) == (400, True)
    assert node.ask("GET", path)[0] == 404
    assert node.put(path, data.getvalue())[0] == 200
    assert node.ask("GET", path)[0] == 200
    assert node.put("/api/packages/s3/a.zip", b"x")[0] == 400
    assert node.put("/api/packages/gcs/..%2Fa.zip", b"x")[0] == 400
    order = {"entrypoint": "cat a.txt", "submission_id": "sent", "runtime_env": {"working_dir": f"gcs://{name}"}}
    assert node.ask("POST", "/api/jobs/", order)[0] == 200
    eventually(lambda: json.loads(node.ask("GET", "/api/jobs/sent")[1])["status"] == "SUCCEEDED", 60, every=0.02)
    assert json.loads(node.ask("GET", "/api/jobs/sent/logs")[1])["logs"] == "in the archive\n"
    order = {"entrypoint": "true", "runtime_env": {"working_dir": "gcs://_ray_pkg_0123456789abcdef.zip"}}
    status, why = node.ask("POST", "/api/jobs/", order)
    assert (status, b"has no package" in why) == (400, True)


def test_packages_beyond_the_limit_are_refused_and_the_nodes_memory_stays_small(node: Node) -> None:
    def resident() -> int:
        pid = json.loads(node.ask("GET", "/api/v1/status")[1])["node"]["pid"]
        status = Path(f"/proc/{pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) << 10

    before = resident()
    assert node.put("/api/packages/gcs/large.zip", bytes(60 << 20))[0] == 200
    assert resident() - before < 16 << 20
    assert node.put("/api/packages/gcs/huge.zip", bytes((100 << 20) + 1))[0] == 413
    assert node.ask("GET", "/api/packages/gcs/huge.zip")[0] == 404


def test_the_tokens_file_is_nowhere_in_what_the_node_writes(node: Node, home: Path) -> None:
    node.ask("GET", "/api/v1/status", Authorization="Bearer wrong")
    node.ask("GET", f"/api/v1/{node.token}")
    for path in Path(os.environ["FRAY_HOME"]).rglob("*"):
        if path.is_file() and path != node.token_file:
            assert node.token.encode() not in path.read_bytes(), path
