"""`fray job …` on an Iris cluster: the verbs, options, documents and exit codes that all clusters have."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.iris import faults
from tests.iris.conftest import FAST
from tests.iris.conftest import Cluster as Client
from tests.iris.controller import Controller
from tests.iris.worker import Worker, slice_of
from tests.job_program import (
    CONFLICT,
    DISK,
    FAILED,
    INTERRUPTED,
    NOT_FOUND,
    OK,
    REFUSED,
    TIMED_OUT,
    TOLD,
    UNREACHABLE,
    USAGE,
    Program,
    check_that_ctrl_c_leaves_the_job,
)
from tests.unit.cli.conftest import program_path
from tests.waiting import LONG_PATIENCE, eventually

SMALL = ("--cpus", "0.1", "--memory", "64MiB")
APART = "sleep 0.3"
"""Between two lines: of those that come at once a real worker without containers keeps all but one until more come."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of somebody who has no token and no cluster."""
    for name in ("FRAY_CLUSTER_SPEC", "FRAY_IRIS_TOKEN", "FRAY_NODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("FRAY_HOME", str(tmp_path / "home"))
    return tmp_path


def program_for(url: str, home: Path, **environment: str) -> Program:
    return Program(f"iris?controller={url}&user=tester", home, environment, SMALL)


@pytest.fixture
def fray(cluster: Client, home: Path) -> Program:
    return program_for(cluster.url, home)


@pytest.fixture
def own_fray(stand_in: Controller, home: Path) -> Program:
    """On a stand-in that is the test's own."""
    return program_for(stand_in.url, home)


def test_a_job_is_submitted_followed_and_ends_the_command_as_it_ends(fray: Program) -> None:
    script = 'echo "a  b $A"; echo why >&2; exit 7'
    done = fray.job("submit", *SMALL, "--env", "A=1", "--metadata", "owner", "me", "--", "sh", "-c", script)
    assert done.returncode == 7, done.stderr
    assert done.stdout == "a  b 1\n"
    assert "why\n" in done.stderr
    ended = re.search(r"job (\S+) failed after [\d.]+ s: Exit code: 7", done.stderr)
    assert ended, done.stderr
    job = ended[1]
    assert job.startswith("/tester/sh-")
    told = fray.told(job)
    assert set(told) >= TOLD | {"iris"}
    assert (told["status"], told["exit_code"], told["name"]) == ("failed", 7, "sh")
    assert told["metadata"] == {"owner": "me"}
    assert told["command"] == ["sh", "-c", script]
    assert told["resources"] == {"CPU": 0.1, "memory": 64 << 20}
    followed = fray.job("logs", "-f", "--tail", 1, job)
    assert (followed.returncode, followed.stdout) == (7, "a  b 1\n")
    assert fray.job("wait", job).returncode == 7
    listed = json.loads(fray.job("list", "--json", "--status", "failed").stdout)
    assert job in [each["id"] for each in listed["jobs"]]
    assert job in fray.job("list").stdout
    page = fray.job("status", job).stdout
    assert "Exit code: 7" in page
    assert "owner=me" in page


def test_the_document_of_a_wait_is_that_of_the_status(fray: Program) -> None:
    done = fray.job("submit", "--json", *SMALL, "--", "true")
    assert done.returncode == OK, done.stderr
    waited = json.loads(done.stdout)
    assert waited["status"] == "succeeded"
    assert fray.told(waited["id"]) == waited
    several = json.loads(fray.job("wait", "--json", waited["id"], waited["id"]).stdout)
    assert [each["id"] for each in several["jobs"]] == [waited["id"]] * 2


def test_failures_have_the_exit_codes_of_all_clusters(fray: Program) -> None:
    name = f"once-{uuid.uuid4().hex}"
    assert fray.start("--id", name, "--", "sleep", "1000") == f"/tester/{name}"
    assert fray.job("submit", "--no-wait", "--id", name, "--", "true").returncode == CONFLICT
    late = fray.job("wait", "--timeout", "0.2s", name)
    assert (late.returncode, "goes on" in late.stderr) == (TIMED_OUT, True)
    for verb in ("status", "logs", "stop", "wait", "delete"):
        unknown = fray.job(verb, "nobody")
        assert (unknown.returncode, "nobody" in unknown.stderr) == (NOT_FOUND, True), verb
    both = fray.job("stop", name, "nobody")
    assert both.returncode == NOT_FOUND
    assert fray.told(name)["status"] in ("pending", "running")
    stopped = fray.job("stop", name[:20])
    assert "stopped" in stopped.stdout, stopped.stderr
    assert fray.job("wait", name).returncode == FAILED
    again = fray.job("submit", "--no-wait", "--id", name, "--", "true")
    assert (again.returncode, name in again.stderr) == (CONFLICT, True)


def test_a_beginning_that_several_jobs_have_is_refused(fray: Program) -> None:
    stem = f"both{uuid.uuid4().hex[:8]}"
    jobs = [fray.start("--name", stem, "--", "true") for _ in range(2)]
    refused = fray.job("status", stem)
    assert (refused.returncode, "2 jobs begin with" in refused.stderr) == (FAILED, True)
    assert fray.told(jobs[0].removeprefix("/tester/")[:-1])["id"] == jobs[0]


def test_a_job_that_has_ended_cannot_be_deleted_and_is_told_why(fray: Program) -> None:
    job = fray.start("--", "true")
    refused = fray.job("delete", job)
    assert refused.returncode == FAILED
    assert "forgets jobs that have ended by itself" in refused.stderr
    assert "fray job stop" in refused.stderr


def test_ctrl_c_leaves_the_job_and_says_how_to_come_back(fray: Program) -> None:
    check_that_ctrl_c_leaves_the_job(fray)


def test_what_iris_cannot_do_is_refused_before_anything_is_sent(stand_in: Controller, own_fray: Program) -> None:
    for words, name in (
        (["--grace", "9s"], "grace_seconds"),
        (["--max-processes", "9"], "max_processes"),
        (["--max-files", "9"], "max_files"),
        (["--resources", "TPU:4"], "v5litepod-16:4"),
        (["--resources", "v5litepod-16:16"], "write v5litepod-16:4"),
        (["--resources", "v9-8:4"], "known are"),
        (["--gpus", "0.5"], "whole numbers"),
        (["--gpus", "1", "--resources", "H100:1"], "one kind"),
        (["--runtime-env", '{"conda": ["numpy"]}'], "package_requirements"),
        (["--name", "a/b"], "slash"),
        (["--id", "a/b"], "slash"),
        (["--name", "x" * 200], "longer than"),
        (["--folder", "no-such-folder"], "no folder"),
        (["--replicas", "0"], "replicas"),
        (["--env", "="], "--env"),
    ):
        refused = own_fray.job("submit", *words, "--", "true")
        assert (refused.returncode, name in refused.stderr) == (USAGE, True), (words, refused.stderr)
    for words in (["wait", "--timeout", "soon", "x"], ["logs", "--grep", "(", "x"]):
        assert own_fray.job(*words).returncode == USAGE, words
    assert stand_in.server.requests == []


def test_a_cluster_that_is_written_wrongly_says_how_it_is_written(home: Path) -> None:
    for option, words in (
        ("iris", "this is no task of Iris"),
        ("iris?controller=", "empty"),
        ("iris?controler=http://x:1", 'no key "controler"'),
        ("iris?controller=x y", "is no address"),
        ("iris?controller=http://x:1&user=a/b", "slash"),
        ("iris?controller=http://x:1&token_file=/no/such/file", "token_file"),
        ("irs?controller=http://x:1", "iris?controller=http://HOST:PORT"),
    ):
        refused = Program(option, home, {}).job("list")
        assert (refused.returncode, words in refused.stderr) == (USAGE, True), (option, refused.stderr)
    spec = {"FRAY_CLUSTER_SPEC": "iris?controller=nonsense nonsense"}
    done = subprocess.run(
        [program_path(), "job", "list"], capture_output=True, text=True, env={**os.environ, **spec}, check=False
    )
    assert (done.returncode, "FRAY_CLUSTER_SPEC is" in done.stderr) == (USAGE, True)


def test_the_cluster_may_be_that_of_the_environment(fray: Program) -> None:
    environment = {**os.environ, "FRAY_CLUSTER_SPEC": fray.option}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [program_path(), *words]
        return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=fray.folder, check=False)

    started = run("submit", "--no-wait", *SMALL, "--", "true")  # starts no node
    job = started.stdout.strip()
    assert (started.returncode, job.startswith("/tester/true-")) == (OK, True), started.stderr
    assert not (fray.folder / "home").exists()
    done = run("job", "wait", job)
    assert (done.returncode, f"job {job} succeeded" in done.stdout) == (OK, True), done.stderr


def test_a_folder_is_sent_along_and_nothing_without_one(fray: Program) -> None:
    (fray.folder / "data.txt").write_text("from the workspace")
    (fray.folder / "big.log").write_text("not sent")
    (fray.folder / ".frayignore").write_text("*.log\n")
    sent = fray.job("submit", *SMALL, "--folder", ".", "--shell", "--", "cat data.txt; ls")
    assert sent.stdout.startswith("from the workspace"), sent.stderr
    assert "big.log" not in sent.stdout
    plain = fray.job("submit", "--json", *SMALL, "--shell", "--", 'test -z "$(ls)"')
    assert plain.returncode == OK, plain.stderr


def test_packages_are_set_up_before_the_command(start: Callable[..., Controller], home: Path) -> None:
    tools = home / "tools"
    tools.mkdir()
    uv = tools / "uv"
    uv.write_text(
        '#!/bin/sh\necho "uv $*"\nmkdir -p .venv/bin\necho "SET_UP=yes; export SET_UP" > .venv/bin/activate\n'
    )
    uv.chmod(0o755)
    path = f"{tools}:{os.environ['PATH']}"
    fray = program_for(start(runs_setup=True).url, home)
    env = '{"package_requirements": ["numpy>=2", "rich"], "extras": ["tpu"], "python_version": "3.12"}'
    words = (*SMALL, "--env", f"PATH={path}", "--runtime-env", env, "--shell", "--")
    done = fray.job("submit", *words, "echo set up: $SET_UP")
    installed = [
        "uv venv --quiet --python 3.12",
        "uv pip install --quiet .[tpu]",
        "uv pip install --quiet numpy>=2 rich",
    ]
    assert done.stdout.splitlines() == [*installed, "set up: yes"], done.stderr


def test_a_workspace_over_the_limit_names_its_largest_files(fray: Program) -> None:
    with (fray.folder / "weights.bin").open("wb") as file:
        file.truncate(30 << 20)
    refused = fray.job("submit", *SMALL, "--folder", ".", "--", "true")
    assert refused.returncode == DISK
    assert "weights.bin (30.0 MiB)" in refused.stderr
    assert ".frayignore" in refused.stderr


def test_replicas_have_numbers_and_their_lines_too(fray: Program) -> None:
    script = 'echo "I am ${IRIS_TASK_ID##*/}"; test "${IRIS_TASK_ID##*/}" != 1'
    done = fray.job("submit", *SMALL, "--replicas", 2, "--shell", "--", script)
    assert done.returncode == FAILED
    assert sorted(done.stdout.splitlines()) == ["[replica-0] I am 0", "[replica-1] I am 1"]
    job = re.search(r"job (\S+)\n", done.stderr)
    assert job is not None
    replicas = fray.told(job[1])["replicas"]
    assert (len(replicas), replicas[1]["status"], replicas[1]["exit_code"]) == (2, "failed", 1)
    lines = [json.loads(line) for line in fray.job("logs", "--json", "--grep", "am 1$", job[1]).stdout.splitlines()]
    assert [(line["replica"], line["text"]) for line in lines] == [(1, "I am 1")]


def test_attempts_follow_each_other_and_each_has_its_own_log(fray: Program) -> None:
    go = fray.folder / "go"
    third = f'test "${{IRIS_TASK_ID##*:}}" = 2 && until test -e {go}; do sleep 0.1; done'
    script = f'echo "try ${{IRIS_TASK_ID##*/}}"; {third}'
    job = fray.start("--max-failures", 2, "--shell", "--", script)
    eventually(lambda: fray.job("logs", job).stdout == "try 0:2\n", LONG_PATIENCE, every=0.02)
    told = fray.told(job)
    assert (told["attempt"], told["failures"], told["max_failures"]) == (3, 2, 2)
    assert fray.job("logs", "--attempt", 1, job).stdout == "try 0\n"
    beyond = fray.job("logs", "--attempt", 4, job)
    assert (beyond.returncode, "has had 3 attempts" in beyond.stderr) == (NOT_FOUND, True)
    first = fray.job("logs", "--attempt", 1, "--follow", job)
    assert (first.returncode, first.stdout, first.stderr) == (OK, "try 0\n", "")
    go.touch()
    last = fray.job("logs", "--attempt", 3, "--follow", job)
    assert (last.returncode, last.stdout) == (OK, "try 0:2\n"), last.stderr


def test_only_the_last_lines_of_each_stream_are_shown_on_request(fray: Program) -> None:
    job = fray.start("--shell", "--", f"for i in 1 2 3; do echo out $i; echo err $i >&2; {APART}; done; sleep 600")
    eventually(lambda: len(fray.job("logs", "--json", job).stdout.splitlines()) == 6, LONG_PATIENCE, every=0.02)
    done = fray.job("logs", "--tail", 2, job)
    assert (done.stdout, done.stderr) == ("out 2\nout 3\n", "err 2\nerr 3\n")
    assert fray.job("logs", "--tail", 0, job).stdout == ""
    assert fray.job("logs", "--since", "1h", job).stdout == "out 1\nout 2\nout 3\n"
    assert fray.job("logs", "--since", "0s", job).returncode == OK
    assert fray.job("stop", job).returncode == OK


def test_a_log_that_is_followed_goes_on_behind_its_last_lines(fray: Program) -> None:
    go = fray.folder / "go"
    job = fray.start(
        "--shell", "--", f"echo one; {APART}; echo two; while test ! -e {go}; do sleep 0.1; done; echo three"
    )
    eventually(lambda: fray.job("logs", job).stdout == "one\ntwo\n", LONG_PATIENCE, every=0.02)
    with fray.open("logs", "--follow", "--tail", 1, job) as follower:
        assert follower.stdout is not None
        assert follower.stdout.readline() == "two\n"
        go.touch()
        rest, said = follower.communicate(timeout=60)
    assert (rest, follower.returncode) == ("three\n", OK), said


def test_the_last_lines_are_shown_even_where_they_come_after_the_end(
    start: Callable[..., Controller], home: Path
) -> None:
    slow = start(times=replace(FAST, log_batch=1.0))
    fray = program_for(slow.url, home, FRAY_IRIS_LATE_SECONDS="")
    done = fray.job("submit", "--json", *SMALL, "--", "echo", "late")
    job = json.loads(done.stdout)["id"]
    assert fray.job("logs", job).stdout == "late\n"


def test_a_slice_of_a_tpu_is_asked_for_by_its_name(start: Callable[..., Controller], home: Path) -> None:
    fray = program_for(start([Worker("worker-0"), *slice_of("slice", 4)]).url, home)
    done = fray.job("submit", "--json", "--resources", "v5litepod-16:4", "--shell", "--", "true")
    told = json.loads(done.stdout)
    assert (done.returncode, len(told["replicas"])) == (OK, 4), done.stderr
    assert sorted(task["worker"] for task in told["iris"]["tasks"]) == [f"slice-{i}" for i in range(4)]


@pytest.mark.parametrize("device", ["H100:8", "v4-8:4", "head_node:1"])
def test_a_device_that_no_group_has_is_told_in_the_controllers_words(fray: Program, device: str) -> None:
    refused = fray.job("submit", "--resources", device, "--", "true")
    assert refused.returncode == FAILED
    assert f"device {'tpu' if device[0] == 'v' else 'gpu'}:{device.lower()[:-2]}" in refused.stderr


def test_places_priorities_and_deadlines_reach_the_controller(start: Callable[..., Controller], home: Path) -> None:
    workers = [Worker("worker-0", attributes={"region": "here"}), Worker("worker-1", attributes={"region": "there"})]
    fray = program_for(start(workers).url, home)
    env = '{"regions": ["there", "nowhere"], "preemptible": false}'
    done = fray.job("submit", "--json", *SMALL, "--runtime-env", env, "--priority", "-1", "--", "true")
    told = json.loads(done.stdout)
    assert told["iris"]["tasks"][0]["worker"] == "worker-1"
    assert told["priority"] == -1
    late = fray.job("submit", "--json", *SMALL, "--deadline", "0.2s", "--", "sleep", "600")
    assert (late.returncode, json.loads(late.stdout)["message"]) == (FAILED, "Execution timeout exceeded")


def test_a_job_that_waits_says_why(fray: Program) -> None:
    job = fray.job("submit", "--no-wait", "--cpus", 1_000_000, "--", "true").stdout.strip()
    eventually(lambda: fray.told(job)["pending_reason"], LONG_PATIENCE, every=0.02)
    assert fray.told(job)["pending_reason"].splitlines()[0] in fray.job("status", job).stdout
    assert fray.job("stop", job).returncode == OK


# ---- Who asks, and who answers


def test_nobody_there_and_something_else_there_are_told_apart(home: Path, stand_in: Controller) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        nobody = program_for(f"http://127.0.0.1:{bound.getsockname()[1]}", home).job("list")
    assert (nobody.returncode, "nobody listens" in nobody.stderr) == (UNREACHABLE, True)
    stand_in.faults.add("GetAuthInfo", faults.page(200, "<html>Sign in</html>"))
    page = program_for(stand_in.url, home).job("list")
    assert (page.returncode, "is no Iris controller" in page.stderr) == (UNREACHABLE, True)
    assert "<html>" not in page.stderr


@pytest.fixture
def guarded(start: Callable[..., Controller]) -> Controller:
    return start(tokens={"static-of-bob": "bob", "static-of-ann": "ann"}, admins=frozenset({"ann"}))


def test_who_logs_in_is_whose_the_jobs_are(guarded: Controller, home: Path) -> None:
    fray = Program(f"iris?controller={guarded.url}", home, {"FRAY_IRIS_TOKEN": "static-of-bob", "USER": "local"})
    job = fray.start("--name", "train", "--", "true")
    assert job.startswith("/bob/train-")
    assert [each["id"] for each in json.loads(fray.job("list", "--json").stdout)["jobs"]] == [job]
    assert fray.told("train")["id"] == job


def test_a_token_that_has_expired_or_is_missing_is_refused(guarded: Controller, home: Path) -> None:
    fray = program_for(guarded.url, home)
    missing = fray.job("list")
    assert (missing.returncode, "FRAY_IRIS_TOKEN" in missing.stderr) == (REFUSED, True)
    key = guarded.auth.login("static-of-bob")[1]
    token = guarded.auth.sign("bob", key, int(time.time()) - 60)
    expired = program_for(guarded.url, home, FRAY_IRIS_TOKEN=token).job("submit", "--", "true")
    assert (expired.returncode, "expired on 20" in expired.stderr) == (REFUSED, True)
    assert token not in expired.stderr


def test_a_priority_that_needs_a_right_is_refused_without_it(guarded: Controller, home: Path) -> None:
    words = ("submit", "--json", "--priority", 1, *SMALL, "--", "true")
    refused = program_for(guarded.url, home, FRAY_IRIS_TOKEN="static-of-bob").job(*words)
    assert (refused.returncode, "PRODUCTION" in refused.stderr) == (REFUSED, True)
    assert program_for(guarded.url, home, FRAY_IRIS_TOKEN="static-of-ann").job(*words).returncode == OK


# ---- What the network does


@pytest.mark.parametrize("fault", [faults.HALF, faults.LOST_ANSWER, faults.LOST_CALL], ids=["half", "answer", "call"])
def test_a_controller_that_closes_midway_costs_no_job_and_starts_none_twice(
    stand_in: Controller, own_fray: Program, fault: faults.Fault
) -> None:
    for call in ("LaunchJob", "GetJobStatus", "ListTasks", "FetchLogs", "GetJobState"):
        stand_in.faults.add(call, fault)
    done = own_fray.job("submit", *SMALL, "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (OK, "ran\n"), done.stderr
    assert len(list(stand_in.jobs)) == 1


@pytest.mark.parametrize("words", [("wait",), ("logs", "--follow")], ids=["wait", "logs"])
def test_a_controller_that_is_away_is_waited_for(
    stand_in: Controller, own_fray: Program, words: tuple[str, ...]
) -> None:
    go = own_fray.folder / "go"
    job = own_fray.start("--shell", "--", f"echo begun; while test ! -e {go}; do sleep 0.1; done; echo ended; exit 3")
    eventually(lambda: own_fray.job("logs", job).stdout == "begun\n", LONG_PATIENCE, every=0.02)
    asked = len(stand_in.server.requests)
    with own_fray.open(*words, job) as waiter:
        eventually(lambda: len(stand_in.server.requests) > asked + 3, LONG_PATIENCE, every=0.02)
        stand_in.go_away()
        go.touch()
        eventually(lambda: all(each.is_over for each in stand_in.jobs), LONG_PATIENCE, every=0.02)
        assert waiter.poll() is None
        stand_in.come_back()
        shown, said = waiter.communicate(timeout=60)
    assert waiter.returncode == 3, said
    assert words == ("wait",) or shown == "begun\nended\n"


def test_a_wait_that_may_not_last_ends_though_the_controller_is_away(stand_in: Controller, own_fray: Program) -> None:
    job = own_fray.start("--", "sleep", "600")
    asked = len(stand_in.server.requests)
    with own_fray.open("wait", "--timeout", "3s", job) as waiter:
        eventually(lambda: len(stand_in.server.requests) > asked + 2, LONG_PATIENCE, every=0.02)
        stand_in.go_away()
        _, said = waiter.communicate(timeout=30)
    assert (waiter.returncode, "goes on" in said) == (TIMED_OUT, True), said


def test_ctrl_c_is_heard_while_the_controller_is_away(stand_in: Controller, own_fray: Program) -> None:
    with own_fray.open("submit", *SMALL, "--", "sh", "-c", "echo begun; sleep 600") as follower:
        assert follower.stdout is not None
        assert follower.stdout.readline() == "begun\n"
        stand_in.go_away()
        follower.send_signal(signal.SIGINT)
        _, said = follower.communicate(timeout=30)
    assert (follower.returncode, "the job goes on" in said) == (INTERRUPTED, True), said


# ---- Inside a task


@pytest.fixture
def in_task(fray: Program) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a line of shell as a job; `fray` there is `fray job submit` with what each job here needs."""

    def run(script: str, *words: object) -> subprocess.CompletedProcess[str]:
        function = f'fray() {{ {program_path()} job submit {" ".join(SMALL)} "$@"; }}; '
        return fray.job("submit", *SMALL, *words, "--shell", "--", function + script)

    return run


def test_a_job_that_is_started_in_a_task_is_a_child_of_its_job_and_inherits(
    in_task: Callable[..., subprocess.CompletedProcess[str]], fray: Program
) -> None:
    (fray.folder / "data.txt").write_text("of the parent")
    child = "cat data.txt; echo; echo $KEPT $OWN; env | grep -c ^FRAY_JOB_METADATA"
    command = f"fray --cluster iris --env OWN=1 --shell -- {shlex.quote(child)}"
    done = in_task(command, "--folder", fray.folder, "--env", "KEPT=yes", "--metadata", "a", "b", "--name", "parent")
    assert done.stdout == "of the parent\nyes 1\n0\n", done.stderr
    started = re.search(r"^job (/tester/parent-\w{8})/(\S+)$", done.stderr, re.MULTILINE)
    assert started is not None, done.stderr
    told = fray.told(f"{started[1]}/{started[2]}")
    assert told["parent"] == started[1]


def test_in_a_task_another_address_of_the_same_controller_is_the_same_cluster(
    in_task: Callable[..., subprocess.CompletedProcess[str]], fray: Program
) -> None:
    other = fray.option.replace("127.0.0.1", "localhost")
    done = in_task(f"fray --no-wait --cluster '{other}' -- true", "--name", "one")
    assert re.fullmatch(r"/tester/one-\w{8}/true-\w{8}\n", done.stdout), done.stderr


def test_in_a_task_a_job_of_another_cluster_is_nobodys_child(
    in_task: Callable[..., subprocess.CompletedProcess[str]], start: Callable[..., Controller]
) -> None:
    other = start()
    option = f"iris?controller={other.url}&user=tester"
    done = in_task(f"fray --no-wait --cluster '{option}' -- true")
    assert re.fullmatch(r"/tester/true-\w{8}\n", done.stdout), done.stderr
