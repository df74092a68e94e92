"""What a controller says on the wire, by plain requests: the stand-in and a real one say the same."""

from __future__ import annotations

import http.client
import json
import urllib.parse
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.iris import messages
from tests.iris.conftest import Cluster
from tests.waiting import LONG_PATIENCE, eventually

CONTROLLER = "/iris.cluster.ControllerService/"
JSON = {"Content-Type": "application/json"}
PROTO = {"Content-Type": "application/proto"}


class Wire:
    """Plain requests to a controller, on one connection."""

    def __init__(self, url: str) -> None:
        parsed = urllib.parse.urlparse(url)
        self._connection = http.client.HTTPConnection(parsed.hostname or "", parsed.port, timeout=30)

    def send(self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Any:
        """The answer, with its whole body as `text`."""
        self._connection.request(method, path, body, headers or {})
        answer: Any = self._connection.getresponse()
        answer.text = answer.read()
        return answer

    def close(self) -> None:
        self._connection.close()

    def call(self, method: str, **fields: Any) -> tuple[int, Any]:
        """Status and document of a call in JSON."""
        answer = self.send("POST", CONTROLLER + method, json.dumps(fields).encode(), JSON)
        return answer.status, json.loads(answer.text)


@pytest.fixture
def wire(cluster: Cluster) -> Iterator[Wire]:
    made = Wire(cluster.url)
    yield made
    made.close()


def launch(name: str, **fields: Any) -> dict[str, Any]:
    return {
        "name": name,
        "clientRevisionDate": datetime.now(UTC).date().isoformat(),
        "entrypoint": {"runCommand": {"argv": ["true"]}},
        "environment": {},
        "resources": {"cpuMillicores": 100},
        "replicas": 1,
        **fields,
    }


def test_answers_come_in_chunks_and_say_how_they_are_encoded(wire: Wire) -> None:
    answer = wire.send("POST", CONTROLLER + "GetAuthInfo", b"", PROTO)
    assert answer.status == 200
    assert answer.headers["Transfer-Encoding"] == "chunked"
    assert answer.headers["Content-Length"] is None
    assert answer.headers["Content-Encoding"] == "identity"
    assert answer.headers["Content-Type"] == "application/proto"
    assert messages.GetAuthInfoResponse.FromString(answer.text).provider == ""


def test_refusals_are_json_whatever_was_asked_in(wire: Wire) -> None:
    question = messages.GetJobStatusRequest(job_id="/tester/no-such-job").SerializeToString()
    answer = wire.send("POST", CONTROLLER + "GetJobStatus", question, PROTO)
    assert (answer.status, answer.headers["Content-Type"]) == (404, "application/json")
    assert json.loads(answer.text) == {"code": "not_found", "message": "Job /tester/no-such-job not found"}


def test_garbage_is_the_servers_own_error(wire: Wire) -> None:
    answer = wire.send("POST", CONTROLLER + "GetJobStatus", b"\x0a\x7f!", PROTO)
    assert (answer.status, json.loads(answer.text)["code"]) == (500, "unknown")
    assert wire.call("GetJobStatus", bogusField=1)[1]["code"] == "unknown"


def test_a_malformed_id_is_the_servers_own_error(wire: Wire) -> None:
    status, said = wire.call("GetJobStatus", jobId="bad")
    assert (status, said["code"]) == (500, "internal")
    assert said["details"][0]["type"] == "iris.rpc.ErrorDetails"


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("POST", CONTROLLER + "NoSuchMethod", JSON, 404),
        ("GET", CONTROLLER + "GetAuthInfo", {}, 405),
        ("POST", CONTROLLER + "GetAuthInfo", {"Content-Type": "text/plain"}, 415),
        ("POST", CONTROLLER + "GetAuthInfo", {"Content-Type": "application/x-protobuf"}, 415),
        ("POST", CONTROLLER + "GetAuthInfo", {**PROTO, "Connect-Protocol-Version": "2"}, 400),
        ("POST", CONTROLLER + "GetAuthInfo", {**PROTO, "Connect-Timeout-Ms": "soon"}, 400),
        ("GET", "/health", {}, 200),
        ("GET", "/bundles/" + "0" * 64 + ".zip", {}, 404),
        ("HEAD", "/bundles/" + "0" * 64 + ".zip", {}, 404),
    ],
)
def test_requests_of_the_wrong_kind_have_their_statuses(
    wire: Wire, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    assert wire.send(method, path, b"", headers).status == status


def test_a_client_that_is_two_weeks_old_is_refused(wire: Wire) -> None:
    old = (datetime.now(UTC) - timedelta(days=20)).date().isoformat()
    status, said = wire.call("LaunchJob", **launch("/tester/old", clientRevisionDate=old))
    assert (status, said["code"]) == (400, "failed_precondition")
    assert "too old" in said["message"]
    status, said = wire.call("LaunchJob", **launch("/tester/old", clientRevisionDate="yesterday"))
    assert (status, said["code"]) == (400, "invalid_argument")


def test_a_job_without_replicas_is_taken_and_fails(cluster: Cluster, wire: Wire) -> None:
    name = "/tester/" + cluster.request().name
    assert wire.call("LaunchJob", **launch(name, replicas=0)) == (200, {"jobId": name})
    assert cluster.jobs.wait(name, 30)["error"] == f"Job {name} has invalid replicas=0; must be >= 1"


def test_jobs_that_nobody_knows_are_missing_and_no_error(wire: Wire) -> None:
    assert wire.call("GetJobState", jobIds=["/tester/no-such-job", "bad"]) == (200, {})
    assert wire.call("ListTasks", jobId="/tester/no-such-job") == (200, {})
    assert wire.call("TerminateJob", jobId="/tester/no-such-job")[0] == 404


def test_tasks_are_told_apart_from_jobs(wire: Wire) -> None:
    assert wire.call("GetTaskStatus", taskId="/tester/job")[1]["code"] == "invalid_argument"
    assert wire.call("GetTaskStatus", taskId="/tester/job/0")[1]["code"] == "not_found"


def test_an_endpoint_goes_with_the_task_that_registered_it(cluster: Cluster, wire: Wire) -> None:
    job = cluster.submit("sleep 600")
    eventually(lambda: cluster.jobs.get(job)["tasks"][0]["state"] == "RUNNING", LONG_PATIENCE, every=0.02)
    endpoint = {"name": f"{job}/svc", "address": "http://127.0.0.1:9", "taskId": f"{job}/0", "endpointId": f"e-{job}"}
    assert wire.call("RegisterEndpoint", **endpoint) == (200, {"endpointId": f"e-{job}"})
    assert wire.call("RegisterEndpoint", **endpoint, attemptId=7)[1]["code"] == "failed_precondition"
    found = wire.call("ListEndpoints", prefix=f"{job}/svc", exact=True)[1]["endpoints"]
    assert [each["address"] for each in found] == ["http://127.0.0.1:9"]
    assert wire.call("ListEndpoints", prefix=f"{job}/sv", exact=True)[1] == {}
    cluster.jobs.stop(job)
    assert wire.call("RegisterEndpoint", **endpoint)[1]["code"] == "failed_precondition"
    assert wire.call("ListEndpoints", prefix=f"{job}/svc")[1] == {}
    assert wire.call("UnregisterEndpoint", endpointId="never-registered") == (200, {})


def test_lists_have_pages(cluster: Cluster, wire: Wire) -> None:
    name = cluster.request(name="paged").name
    for i in range(3):
        cluster.jobs.wait(cluster.jobs.submit(cluster.request(name=f"{name}-{i}")), 60)
    query = {"jobIdPrefix": f"/tester/{name}", "limit": 2, "sortField": "JOB_SORT_FIELD_DATE"}
    first = wire.call("ListJobs", query=query)[1]
    last = wire.call("ListJobs", query={**query, "offset": 2})[1]
    assert (len(first["jobs"]), first["totalCount"], first["hasMore"]) == (2, 3, True)
    assert (len(last["jobs"]), last.get("hasMore", False)) == (1, False)
    assert wire.call("ListJobs", query={"offset": 6000})[0] == 400


def test_older_paths_of_the_log_are_served(cluster: Cluster, wire: Wire) -> None:
    job = cluster.submit("echo hi")
    assert cluster.lines(job) == ["hi"]
    body = json.dumps({"source": f"{job}/0:0", "matchScope": "MATCH_SCOPE_EXACT"}).encode()
    for path in ("/finelog.logging.LogService/", "/iris.logging.LogService/"):
        answer = json.loads(wire.send("POST", path + "FetchLogs", body, JSON).text)
        assert [(entry["source"], entry["data"]) for entry in answer["entries"]] == [("stdout", "hi")]
        assert "key" not in answer["entries"][0]
        later = json.dumps({"source": f"{job}/", "cursor": answer["cursor"]}).encode()
        assert json.loads(wire.send("POST", path + "FetchLogs", later, JSON).text).get("entries", []) == []
