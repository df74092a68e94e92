"""`RayCluster` in front of a dashboard that does with each request what the test says, however wrong that is.

What a real Ray does is tested in tests/on_ray; here is what a real one does seldom. No Ray is imported.
"""

from __future__ import annotations

import base64
import hashlib
import json
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import fray
import pytest
from fray import Entrypoint, JobRequest, JobStatus, ResourceConfig, RuntimeEnv
from fray._ray_jobs import RayJobs
from fray.backend.ray import cluster as module
from fray.backend.ray.cluster import RayCluster
from fray.backend.ray.jobs_api import SubmitOrder
from fray.backend.ray.rest_jobs import RestJobs

CANARY = "canary-4711"
LOG = "first line\nsecond line\nthird line\n"


class Dashboard:
    """Keeps jobs as Ray does, and counts what was taken. `spoil` sees each request first, and may answer it.

    Attributes:
        jobs: what it knows, by id.
        taken: ids in the order in which jobs were taken.
        requests: method and path of each request.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.jobs: dict[str, dict[str, Any]] = {}
        self.taken: list[str] = []
        self.requests: list[str] = []
        self.packages: set[str] = set()
        self.spoil: Callable[[Visit], bool] = lambda visit: False
        self._tls = tls
        self._server: Any = None
        self.port = 0
        self.start()

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}" if self._tls else f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Listen, at the port of the first time."""
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), type("Bound", (Visit,), {"dashboard": self}))
        self.port = self._server.server_address[1]
        if self._tls:
            # The handshake is the connection's own thread's.
            self._server.socket = self._tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        """Refuse connections from now on."""
        self._server.shutdown()
        self._server.server_close()

    def add(self, job_id: str, status: str = "RUNNING", **more: Any) -> None:
        self.jobs[job_id] = {
            "type": "SUBMISSION",
            "submission_id": job_id,
            "status": status,
            "entrypoint": "true",
            **more,
        }


class Visit(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    dashboard: Dashboard

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def handle(self) -> None:
        with suppress(ssl.SSLError):  # the other side does not speak TLS, or refuses the certificate
            super().handle()

    def handle_request(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.dashboard.requests.append(f"{self.command} {self.path}")
        if not self.dashboard.spoil(self):
            self.serve()

    do_GET = do_POST = do_PUT = do_DELETE = handle_request

    def serve(self) -> None:
        jobs = self.dashboard.jobs
        if self.path == "/api/version":
            return self.answer(200, {"ray_version": "2.60.0"})
        if self.path == "/api/jobs/" and self.command == "POST":
            return self.answer(*self.take())
        if self.path == "/api/jobs/":
            return self.answer(200, list(jobs.values()))
        if self.path.startswith("/api/v0/nodes"):
            nodes = [{"state": "ALIVE", "resources_total": {"CPU": 2.0}}]
            return self.answer(200, {"data": {"result": {"result": nodes}}})
        if self.path.startswith("/api/packages/"):
            there = self.command == "PUT" or self.path in self.dashboard.packages
            self.dashboard.packages.add(self.path)
            return self.answer(200 if there else 404, "")
        job_id, _, verb = self.path.removeprefix("/api/jobs/").partition("/")
        if job_id not in jobs:
            return self.answer(404, f"Job {job_id} does not exist")
        if verb == "logs/tail":
            self.open_log()
            self.send_text(LOG)
            self.send_close()
            return self.cut()
        return self.answer(200, {"logs": LOG} if verb == "logs" else jobs[job_id])

    def take(self) -> tuple[int, Any]:
        asked = json.loads(self.body)
        job_id = asked["submission_id"]
        if job_id in self.dashboard.jobs:
            return 500, f"ValueError: Job with submission_id {job_id} already exists"
        self.dashboard.add(job_id, metadata=asked["metadata"])
        self.dashboard.taken.append(job_id)
        return 200, {"submission_id": job_id, "job_id": job_id}

    def answer(self, status: int, body: Any) -> None:
        text = body if isinstance(body, str) else json.dumps(body)
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def cut(self) -> None:
        """Close the connection without an answer."""
        self.close_connection = True

    def open_log(self) -> None:
        """Answer the upgrade to a WebSocket."""
        accept = hashlib.sha1((self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode())
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(accept.digest()).decode())
        self.end_headers()

    def send_text(self, text: str) -> None:
        self.wfile.write(bytes([0x81, len(text)]) + text.encode())

    def send_close(self) -> None:
        self.wfile.write(b"\x88\x02\x03\xe8")


@pytest.fixture
def dashboard() -> Iterator[Dashboard]:
    dashboard = Dashboard()
    yield dashboard
    dashboard.stop()


@pytest.fixture
def cluster(dashboard: Dashboard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RayCluster:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAY_AUTH_TOKEN", CANARY)
    return RayCluster(dashboard_address=dashboard.url)


def program(**resources: Any) -> JobRequest:
    return JobRequest("mine", Entrypoint.from_binary("true"), ResourceConfig(**resources))


def test_ray_is_not_needed(dashboard: Dashboard, tmp_path: Path):
    code = (
        "import sys\nsys.modules['ray'] = None\nimport fray\n"
        f"cluster = fray.create_cluster('ray?address={dashboard.url}')\n"
        "job = cluster.create_job('true')\nprint(cluster.poll(job).status, 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["running", "False"], done.stderr


def test_missing_ray_is_told_where_only_ray_could_find_the_dashboard(tmp_path: Path):
    code = (
        "import sys\nsys.modules['ray'] = None\nimport fray\n"
        "try:\n    fray.create_cluster('ray').list_jobs()\nexcept fray.UnsupportedError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert "pip install 'fray[ray]'" in done.stdout, done.stderr
    assert "ray?address=http://HOST:8265" in done.stdout


@pytest.mark.parametrize("passes_on", [False, True])
def test_lost_answer_submits_once(dashboard: Dashboard, cluster: RayCluster, passes_on: bool):
    """The first connection is cut, before the job was taken or after."""
    spoiled: list[str] = []

    def spoil(visit: Visit) -> bool:
        if visit.command != "POST" or spoiled:
            return False
        spoiled.append(visit.path)
        if passes_on:
            visit.take()
        visit.cut()
        return True

    dashboard.spoil = spoil
    job_id = cluster.create_job("true")
    assert dashboard.taken == [job_id]
    assert cluster.poll(job_id).status is JobStatus.RUNNING


def test_taken_id_is_told(dashboard: Dashboard):
    dashboard.add("mine")
    with pytest.raises(fray.JobExistsError, match="choose another submission id"):
        RestJobs(dashboard.url).submit(SubmitOrder("true", "mine"))
    assert dashboard.taken == []


def test_living_job_of_the_same_name_is_told_where_none_may_live(dashboard: Dashboard, cluster: RayCluster):
    dashboard.add("old", "SUCCEEDED", metadata={"name": "mine"})
    handle = cluster.submit(program(), adopt_existing=False)
    with pytest.raises(fray.JobExistsError, match=handle.job_id) as caught:
        cluster.submit(program(), adopt_existing=False)
    assert caught.value.job_name == "mine"
    assert dashboard.taken == [handle.job_id]


def test_unknown_key_of_a_runtime_env_is_refused_before_anything_is_sent(dashboard: Dashboard):
    order = SubmitOrder("true", "mine", {"env_vars": {"SECRET": CANARY}, "working_directory": "."})
    with pytest.raises(ValueError, match=r'no key "working_directory"; the keys are working_dir') as caught:
        RestJobs(dashboard.url).submit(order)
    assert CANARY not in str(caught.value)
    assert dashboard.requests == []


def test_package_over_the_limit_names_its_largest_file(dashboard: Dashboard, cluster: RayCluster, tmp_path: Path):
    with open(tmp_path / "huge.bin", "wb") as file:
        file.truncate(101 << 20)
    with pytest.raises(ValueError, match=r"too large for the cluster.*huge\.bin \(105906176 bytes\).*excludes"):
        cluster.create_job("true")
    assert dashboard.taken == []


@pytest.mark.parametrize(("status", "token"), [(401, ""), (403, CANARY)])
def test_refused_token_is_told_and_never_shown(dashboard: Dashboard, status: int, token: str):
    def spoil(visit: Visit) -> bool:
        visit.answer(status, "Forbidden: Invalid authentication token")
        return True

    dashboard.spoil = spoil
    cluster = RayCluster(jobs=RestJobs(dashboard.url, token))
    for use in (cluster.list_jobs, lambda: cluster.create_job("true"), lambda: cluster.poll("mine")):
        with pytest.raises(fray.NodeDiedError, match="RAY_AUTH_TOKEN") as caught:
            use()
        assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "words"),
    [("<html>proxy</html>", "not what Ray's dashboard sends"), ('{"status": "MELTED"}', "without a known status")],
)
def test_answer_that_is_not_rays_is_told(dashboard: Dashboard, cluster: RayCluster, answer: str, words: str):
    def spoil(visit: Visit) -> bool:
        visit.answer(200, answer)
        return True

    dashboard.spoil = spoil
    with pytest.raises(fray.FrayError, match=words):
        cluster.poll("mine")


def test_older_ray_is_told(dashboard: Dashboard, cluster: RayCluster):
    def spoil(visit: Visit) -> bool:
        visit.answer(200, {"ray_version": "2.3.1"})
        return True

    dashboard.spoil = spoil
    with pytest.raises(fray.VersionMismatchError, match=r"Ray 2\.3\.1 runs at"):
        cluster.create_job("true")


def test_unknown_job_is_told_by_every_verb(dashboard: Dashboard, cluster: RayCluster):
    verbs = (cluster.poll, cluster.logs, cluster.terminate, cluster.delete_job, cluster.wait, cluster.pending_reason)
    for verb in (*verbs, lambda job: list(cluster.follow(job)), cluster.monitor):
        with pytest.raises(fray.JobNotFoundError, match="nobody does not exist"):
            verb("nobody")
    with pytest.raises(KeyError):
        cluster.poll("nobody")


# ---- waiting


def stop_after(dashboard: Dashboard, looks: int, then: Callable[[], None]) -> None:
    """Let the job be asked for so many times; then do `then`, beside the visit."""
    seen: list[str] = []

    def spoil(visit: Visit) -> bool:
        seen.append(visit.path)
        if len(seen) == looks:
            threading.Thread(target=then).start()
        return False

    dashboard.spoil = spoil


def test_cluster_that_is_lost_while_waiting_is_told(
    dashboard: Dashboard, cluster: RayCluster, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "_LOST_SECONDS", 0.3)
    dashboard.add("mine")
    stop_after(dashboard, 2, dashboard.stop)
    with pytest.raises(
        fray.NodeDiedError, match="the cluster was lost while job mine was waited for, which was running"
    ):
        cluster.wait("mine", timeout=60)
    dashboard.start()


def test_cluster_that_comes_back_is_waited_for(dashboard: Dashboard, cluster: RayCluster):
    dashboard.add("mine")

    def restart() -> None:
        dashboard.stop()
        dashboard.jobs["mine"]["status"] = "SUCCEEDED"
        dashboard.start()

    stop_after(dashboard, 2, restart)
    assert cluster.wait("mine", timeout=60).status is JobStatus.SUCCEEDED


def test_head_that_forgot_the_job_is_told(dashboard: Dashboard, cluster: RayCluster):
    dashboard.add("mine")
    stop_after(dashboard, 2, lambda: dashboard.jobs.clear())
    with pytest.raises(fray.JobNotFoundError, match="the head forgets its jobs when it restarts"):
        cluster.wait("mine", timeout=60)


def test_wait_ends_with_its_timeout_and_tells_the_status(dashboard: Dashboard, cluster: RayCluster):
    dashboard.add("mine", "PENDING")
    with pytest.raises(TimeoutError, match="job mine is still pending; it goes on"):
        cluster.wait("mine", timeout=0.05)


def test_job_that_no_node_can_run_is_refused_unless_nodes_come_by_themselves(dashboard: Dashboard, cluster: RayCluster):
    with pytest.raises(fray.InfeasibleError, match=r"job mine .*CPU: asked for 8, the most that a node has is 2"):
        cluster.launch(program(cpu=8))
    assert dashboard.taken == []
    assert RayCluster(dashboard_address=dashboard.url, autoscaling=True).launch(program(cpu=8)) in dashboard.taken


def test_job_that_never_gets_its_resources_says_what_is_missing(dashboard: Dashboard, cluster: RayCluster):
    dashboard.add("foreign", "PENDING", message="It may be waiting for resources")
    growing = RayCluster(dashboard_address=dashboard.url, autoscaling=True)
    job_id = growing.launch(program(cpu=8, ram="0"))
    dashboard.jobs[job_id] |= {"status": "PENDING", "message": "It may be waiting for resources"}
    info = cluster.poll(job_id)
    assert info.pending_reason == cluster.pending_reason(job_id)
    assert "CPU: asked for 8, the most that a node has is 2" in (info.pending_reason or "")
    assert cluster.pending_reason("foreign") == "It may be waiting for resources"
    assert growing.pending_reason(job_id) == "It may be waiting for resources"
    dashboard.jobs[job_id]["status"] = "RUNNING"
    assert cluster.pending_reason(job_id) == ""


# ---- logs


def test_cut_log_goes_on_where_it_was(dashboard: Dashboard, cluster: RayCluster):
    """The socket is cut in the middle of a line, begins anew twice, and each byte comes once."""
    dashboard.add("mine")
    visits: list[int] = []

    def spoil(visit: Visit) -> bool:
        if not visit.path.endswith("/logs/tail"):
            return False
        visits.append(len(visits))
        visit.open_log()
        visit.send_text(LOG[: 8 * len(visits)])
        if len(visits) == 3:
            dashboard.jobs["mine"]["status"] = "SUCCEEDED"
            visit.send_close()
        visit.cut()
        return True

    dashboard.spoil = spoil
    assert "".join(cluster.follow("mine")) == LOG
    assert len(visits) == 3


def test_program_is_monitored_line_by_line(dashboard: Dashboard, cluster: RayCluster, caplog: pytest.LogCaptureFixture):
    dashboard.add("mine", "FAILED", message="so it goes", driver_exit_code=3)
    with caplog.at_level("INFO", "fray"):
        info = cluster.monitor("mine")
    assert [record.message for record in caplog.records] == [f"[mine] {line}" for line in LOG.splitlines()]
    assert (info.exit_code, info.error_message) == (3, "so it goes")
    with pytest.raises(fray.JobFailedError, match="so it goes") as caught:
        cluster.wait(["mine"], raise_on_failure=True)
    assert (caught.value.job_id, caught.value.failed_status) == ("mine", JobStatus.FAILED)


def test_signal_that_ends_a_program_is_told_as_a_shell_tells_it(dashboard: Dashboard, cluster: RayCluster):
    dashboard.add("mine", "FAILED", message="failed with exit code -9, last logs: -1", driver_exit_code=-9)
    info = cluster.poll("mine")
    assert (info.exit_code, info.error_message) == (137, "failed with exit code 137, last logs: -1")


def test_variables_travel_and_are_never_shown(dashboard: Dashboard, cluster: RayCluster):
    sent: list[Any] = []

    def spoil(visit: Visit) -> bool:
        if visit.command == "POST":
            sent.append(json.loads(visit.body))
            visit.answer(400, "TypeError: no such field")
        return visit.command == "POST"

    dashboard.spoil = spoil
    with pytest.raises(ValueError, match="no such field") as caught:
        cluster.create_job("true", RuntimeEnv(env={"SECRET": CANARY}))
    variables = sent[0]["runtime_env"]["env_vars"]
    assert variables["SECRET"] == CANARY
    assert variables["FRAY_JOB_ID"] == sent[0]["submission_id"]
    assert CANARY not in str(caught.value)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for localhost that no authority signed, with its key in the same file."""
    file = tmp_path_factory.mktemp("tls") / "localhost.pem"
    options = "-x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    command = ["openssl", "req", *options.split(), "-keyout", file, "-out", file.with_suffix(".crt")]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    with open(file, "a") as both:
        both.write(file.with_suffix(".crt").read_text())
    return file


@pytest.fixture
def secure(certificate: Path) -> Iterator[Dashboard]:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    dashboard = Dashboard(tls)
    yield dashboard
    dashboard.stop()


def test_job_and_its_log_travel_over_tls(
    secure: Dashboard, certificate: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    cluster = RayCluster(dashboard_address=secure.url)
    job_id = cluster.create_job("true")
    secure.jobs[job_id]["status"] = "SUCCEEDED"
    follower = RayJobs(secure.url, ca_file=str(certificate)).follow(job_id)
    assert "".join(iter(follower.read, None)) == LOG
    assert secure.taken == [job_id]


def test_certificate_that_nobody_vouches_for_is_refused(secure: Dashboard):
    jobs = RayJobs(secure.url, CANARY)
    with pytest.raises(fray.NodeDiedError, match=r"certificate.*ca_file"):
        jobs.submit("true")
    assert secure.requests == []


def test_certificate_of_another_host_is_refused(secure: Dashboard, certificate: Path):
    jobs = RayJobs(secure.url.replace("localhost", "127.0.0.1"), CANARY, ca_file=str(certificate))
    with pytest.raises(fray.NodeDiedError, match="certificate"):
        jobs.submit("true")
    assert secure.requests == []


def test_plain_http_at_a_port_of_tls_and_the_reverse_are_told(secure: Dashboard, dashboard: Dashboard):
    with pytest.raises(fray.NodeDiedError, match="write https://"):
        RayJobs(secure.url.replace("https", "http")).list_jobs()
    with pytest.raises(fray.NodeDiedError, match="or is it http://"):
        RayJobs(dashboard.url.replace("http", "https")).list_jobs()
