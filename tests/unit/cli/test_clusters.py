"""`fray job …` and `fray submit` are the same on a node and behind Ray's REST API, which a node speaks too."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.job_program import (
    CONFLICT,
    FAILED,
    NOT_FOUND,
    OK,
    TIMED_OUT,
    TOLD,
    UNREACHABLE,
    USAGE,
    check_that_ctrl_c_leaves_the_job,
)
from tests.job_program import Program as JobProgram

from .conftest import Program


@pytest.fixture
def node(fray_program: Program) -> Iterator[dict[str, Any]]:
    started = fray_program("start", "--cpus", 2, "--json")
    assert started.returncode == OK, started.stderr
    yield json.loads(started.stdout)
    fray_program("stop")


@pytest.fixture(params=["local", "ray"])
def cluster(request: pytest.FixtureRequest, node: dict[str, Any], home: Path) -> JobProgram:
    if request.param == "local":
        return JobProgram("local", home, {})
    token = Path(node["token_file"]).read_text().strip()
    return JobProgram(f"ray?address={node['url']}", home, {"RAY_AUTH_TOKEN": token})


def test_a_job_is_submitted_followed_and_ends_the_command_as_it_ends(cluster: JobProgram) -> None:
    done = cluster.job(
        "submit", "--env", "A=1", "--metadata", "owner", "me", "--", "sh", "-c", 'echo "a  b $A"; exit 7'
    )
    assert done.returncode == 7, done.stderr
    assert "a  b 1\n" in done.stdout
    ended = re.search(r"job (\S+) failed after [\d.]+ s", done.stderr)
    assert ended, done.stderr
    job = ended[1]
    told = cluster.told(job)
    assert set(told) >= TOLD
    assert (told["status"], told["exit_code"], told["metadata"].get("owner")) == ("failed", 7, "me")
    assert cluster.job("logs", job).stdout == "a  b 1\n"
    assert cluster.job("logs", "-f", "--tail", 1, job).returncode == 7
    assert cluster.job("wait", job).returncode == 7
    listed = json.loads(cluster.job("list", "--json", "--status", "failed").stdout)
    assert [each["id"] for each in listed["jobs"]] == [job]
    assert job in cluster.job("list").stdout
    assert cluster.job("delete", job).returncode == OK
    assert cluster.job("status", job).returncode == NOT_FOUND


def test_the_document_of_a_wait_is_that_of_the_status(cluster: JobProgram) -> None:
    done = cluster.job("submit", "--json", "--", "true")
    assert done.returncode == OK, done.stderr
    waited = json.loads(done.stdout)
    assert waited["status"] == "succeeded"
    assert set(cluster.told(waited["id"])) == set(waited)


def test_failures_have_the_same_exit_codes(cluster: JobProgram) -> None:
    name = f"once-{uuid.uuid4().hex[:8]}"
    assert cluster.start("--id", name, "--", "sleep", "1000") == name
    assert cluster.job("submit", "--no-wait", "--id", name, "--", "true").returncode == CONFLICT
    assert cluster.job("wait", "--timeout", "0.2s", name).returncode == TIMED_OUT
    assert cluster.job("delete", name).returncode == FAILED
    for verb in ("status", "logs", "stop", "wait", "delete"):
        unknown = cluster.job(verb, "nobody")
        assert (unknown.returncode, "nobody" in unknown.stderr) == (NOT_FOUND, True), verb
    for words in (
        ["wait", "--timeout", "soon", name],
        ["logs", "--grep", "(", name],
        ["submit", "--env", "=", "--", "a"],
    ):
        assert cluster.job(*words).returncode == USAGE, words
    both = cluster.job("stop", name, "nobody")
    assert both.returncode == NOT_FOUND
    assert cluster.told(name)["status"] == "running"
    assert "is asked to end" in cluster.job("stop", name[:9]).stdout
    assert cluster.job("wait", name).returncode != OK
    assert cluster.told(name)["status"] == "stopped"


def test_ctrl_c_leaves_the_job_and_says_how_to_come_back(cluster: JobProgram) -> None:
    check_that_ctrl_c_leaves_the_job(cluster)


def test_what_a_cluster_cannot_do_is_refused_by_its_name_before_anything_is_sent(
    node: dict[str, Any], fray_program: Program
) -> None:
    cluster = f"ray?address={node['url']}"  # and no token: whatever is sent is refused with 6
    for words, name in (
        (["--replicas", "2"], "replicas"),
        (["--max-failures", "1"], "max_failures"),
        (["--deadline", "1h"], "deadline_seconds"),
        (["--runtime-env", '{"packages": []}'], "packages"),
    ):
        refused = fray_program("job", "submit", "--cluster", cluster, *words, "--", "true")
        assert (refused.returncode, name in refused.stderr) == (USAGE, True), refused.stderr
    unsupported = fray_program("job", "submit", "--runtime-env", '{"pip": ["six"]}', "--", "true")
    assert (unsupported.returncode, "pip" in unsupported.stderr) == (USAGE, True), unsupported.stderr
    token = {"RAY_AUTH_TOKEN": Path(node["token_file"]).read_text().strip()}
    since = fray_program("job", "submit", "--cluster", cluster, "--no-wait", "--", "true", env=token)
    asked = fray_program("job", "logs", "--since", "1h", "--cluster", cluster, since.stdout.strip(), env=token)
    assert (asked.returncode, "keeps no times" in asked.stderr) == (FAILED, True)


def test_the_environment_says_the_cluster_and_options_come_before_it(
    node: dict[str, Any], fray_program: Program
) -> None:
    token = Path(node["token_file"]).read_text().strip()
    address = node["url"].replace(":", "%3A")
    surroundings = {"FRAY_CLUSTER_SPEC": f"ray?address={address}&namespace=x", "RAY_AUTH_TOKEN": token}
    done = fray_program("submit", "--json", "--", "true", env=surroundings)
    assert done.returncode == OK, done.stderr
    assert json.loads(done.stdout)["ray"]["type"] == "SUBMISSION"
    for words in (["--cluster", "local"], ["--socket", "auto"], ["--cluster", f"local?address={node['socket']}"]):
        jobs = json.loads(fray_program("job", "list", "--json", *words, env=surroundings).stdout)["jobs"]
        assert ["ray" in job for job in jobs] == [False], words


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--cluster", "slurm"], USAGE, "there are no jobs on 'slurm'"),
        (["--cluster", "iris"], USAGE, "the address of the Iris controller is missing"),
        (["--cluster", "ray"], USAGE, "the address of the cluster's dashboard is missing"),
        (["--cluster", "ray?address"], USAGE, "address=VALUE"),
        (["--cluster", "ray?adress=http://a:1"], USAGE, 'no key "adress"'),
        (["--cluster", "local?cpus=2"], USAGE, "`address` is the only key"),
        (["--cluster", "local", "--socket", "auto"], USAGE, "excludes"),
        (["--cluster", "local?address=auto"], UNREACHABLE, "fray start"),
        (["--cluster", "ray?address=http://127.0.0.1:9"], UNREACHABLE, "refused"),
    ],
)
def test_a_cluster_that_cannot_be_is_explained(words: list[str], code: int, said: str, fray_program: Program) -> None:
    refused = fray_program("job", "list", *words)
    assert refused.returncode == code, refused.stderr
    assert said in refused.stderr


def test_a_cluster_of_the_environment_that_has_no_jobs_is_explained(fray_program: Program) -> None:
    for spec in ("ray", "ray?address=10.0.0.5:6379&cluster=x"):
        refused = fray_program("submit", "--", "true", env={"FRAY_CLUSTER_SPEC": spec})
        assert refused.returncode == USAGE, refused.stderr
        assert f"FRAY_CLUSTER_SPEC is '{spec}'; `--cluster local`" in refused.stderr
    assert fray_program("job", "list", env={"FRAY_CLUSTER_SPEC": "thread?max_workers=2"}).returncode == UNREACHABLE


def test_a_submission_that_was_typed_wrongly_starts_no_node(fray_program: Program) -> None:
    for words in (
        ["--name", "a b"],
        ["--replicas", "0"],
        ["--priority", "2000000"],
        ["--runtime-env", "[]"],
        ["--id", "/"],
    ):
        refused = fray_program("submit", *words, "--", "true")
        assert refused.returncode == USAGE, refused.stderr
        assert "started a node" not in refused.stderr
    assert fray_program("status").returncode == UNREACHABLE


@pytest.mark.parametrize("key", ["ray?address", "ray?addres", "rai?address", "iris?controller", "local?cpus"])
def test_a_password_in_the_cluster_of_the_environment_is_not_shown(key: str, fray_program: Program) -> None:
    spec = f"{key}=http://bob:hunter2@127.0.0.1:1"
    for words in (("job", "list"), ("config", "show"), ("job", "list", "--cluster", spec)):
        told = fray_program(*words, env={"FRAY_CLUSTER_SPEC": spec})
        assert "hunter2" not in told.stdout + told.stderr


@pytest.mark.parametrize("option", ["--cpus", "--max-workers", "--memory-threshold"])
@pytest.mark.parametrize("number", ["nan", "inf"])
def test_a_node_is_not_started_with_what_is_no_number(option: str, number: str, fray_program: Program) -> None:
    refused = fray_program("start", option, number)
    assert refused.returncode == USAGE, refused.stderr
    assert f"{option} must be a number, got {number}" in refused.stderr
