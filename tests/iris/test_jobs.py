"""Jobs on an Iris cluster: the stand-in, or a real one."""

from __future__ import annotations

import io
import urllib.request
import zipfile
from pathlib import Path

import fray.errors
import pytest
from fray._iris_jobs import Band, ConstraintOp, DeviceKind, Existing, IrisJobRequest

from tests.iris.conftest import Cluster
from tests.iris.controller import Controller
from tests.waiting import LONG_PATIENCE, eventually


def test_a_job_runs_to_its_end(cluster: Cluster) -> None:
    job = cluster.submit("exit 0")
    details = cluster.jobs.wait(job, 60)
    assert details["state"] == "SUCCEEDED"
    assert details["exit_code"] == 0
    assert details["replicas"] == 1
    assert details["submitted_ms"] <= details["started_ms"] <= details["finished_ms"]
    assert details["argv"] == ["bash", "-c", "exit 0"]
    assert [task["state"] for task in details["tasks"]] == ["SUCCEEDED"]


def test_a_job_that_fails_has_its_exit_code_and_its_last_words(cluster: Cluster) -> None:
    details = cluster.jobs.wait(cluster.submit("echo too bad >&2; exit 3"), 60)
    assert details["state"] == "FAILED"
    assert details["exit_code"] == 3
    assert "too bad" in details["error"]
    assert details["pending_reason"] == ""


def test_a_signal_is_told_as_a_shell_tells_it(cluster: Cluster) -> None:
    assert cluster.jobs.wait(cluster.submit("kill -9 $$"), 60)["exit_code"] == 137


def test_a_failed_task_is_tried_again_as_often_as_was_asked_for(cluster: Cluster) -> None:
    job = cluster.submit('test "${IRIS_TASK_ID##*:}" = 2', max_retries_failure=2)
    assert cluster.jobs.wait(job, 60)["state"] == "SUCCEEDED"
    task = cluster.jobs.task(job, 0)
    assert [attempt["state"] for attempt in task["attempts"]] == ["FAILED", "FAILED", "SUCCEEDED"]
    assert [attempt["exit_code"] for attempt in task["attempts"]] == [1, 1, 0]


def test_replicas_know_their_number_and_how_many_they_are(cluster: Cluster) -> None:
    job = cluster.submit('echo "$IRIS_TASK_ID of $IRIS_NUM_TASKS"', replicas=3)
    assert cluster.jobs.wait(job, 60)["replicas"] == 3
    assert sorted(cluster.lines(job)) == [f"{job}/{i} of 3" for i in range(3)]


def test_variables_and_files_reach_the_task(cluster: Cluster) -> None:
    request = cluster.request('echo "$WHO"; cat "$IRIS_WORKDIR/data/blob.bin" | od -An -tx1')
    request.env_vars = {"WHO": "wörld"}
    request.add_file("data/blob.bin", b"\x00\xff")
    job = cluster.jobs.submit(request)
    assert [line.strip() for line in cluster.lines(job)] == ["wörld", "00 ff"]


def test_a_workspace_is_sent_once(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "main.sh").write_text("echo from the workspace")
    (tmp_path / "big.log").write_text("not sent")
    (tmp_path / ".frayignore").write_text("*.log\n")
    script = 'cd "$IRIS_WORKDIR"; sh main.sh; ls; echo "$IRIS_BUNDLE_ID"'
    first = cluster.lines(cluster.submit(script, workspace=str(tmp_path)))
    second = cluster.lines(cluster.submit(script, workspace=str(tmp_path)))
    assert first == second == ["from the workspace", "main.sh", first[-1]]
    assert len(first[-1]) == 64


def test_a_bundle_that_nobody_sent_fails_the_job(cluster: Cluster) -> None:
    assert cluster.jobs.wait(cluster.submit(bundle_id="0" * 64), 60)["state"] == "FAILED"


def test_a_name_that_is_taken_is_refused_while_the_job_runs_and_after_it(cluster: Cluster) -> None:
    request = cluster.request("sleep 600")
    job = cluster.jobs.submit(request)
    with pytest.raises(fray.errors.JobExistsError, match="already exists"):
        cluster.jobs.submit(request)
    cluster.jobs.stop(job)
    with pytest.raises(fray.errors.JobExistsError):
        cluster.jobs.submit(request)


def test_a_job_that_runs_is_kept_on_request_and_one_that_has_ended_is_replaced(
    cluster: Cluster, tmp_path: Path
) -> None:
    door = tmp_path / "door"
    request = cluster.request(f"until test -e {door}; do sleep 0.02; done", existing=Existing.KEEP)
    job = cluster.jobs.submit(request)
    assert cluster.jobs.submit(request) == job
    door.touch()
    first = cluster.jobs.wait(job, 60)
    assert cluster.jobs.submit(request) == job
    second = cluster.jobs.wait(job, 60)
    assert first["submitted_ms"] < second["submitted_ms"]


def test_the_name_of_a_job_that_was_stopped_cannot_be_used_again(cluster: Cluster) -> None:
    request = cluster.request("sleep 600", existing=Existing.REPLACE)
    job = cluster.jobs.submit(request)
    eventually(lambda: cluster.jobs.get(job)["tasks"][0]["state"] == "RUNNING", LONG_PATIENCE, every=0.02)
    cluster.jobs.stop(job)
    with pytest.raises(fray.errors.JobExistsError, match="choose another name"):
        cluster.jobs.submit(request)


def test_stopping_ends_a_job_and_its_children_and_nothing_twice(cluster: Cluster) -> None:
    parent = cluster.submit("sleep 600")
    child = cluster.submit("sleep 600", parent=parent)
    assert child.startswith(parent + "/")
    assert cluster.jobs.stop(parent) is True
    assert cluster.jobs.stop(parent) is False
    assert cluster.jobs.wait(child, 60)["state"] == "KILLED"
    assert cluster.jobs.get(parent)["exit_code"] is None


@pytest.mark.parametrize(
    ("replicas", "ending", "child_state"),
    [(1, "true", "KILLED"), (2, "true", "KILLED"), (1, "false", "KILLED"), (2, "false", "RUNNING")],
)
def test_children_end_with_their_parent_but_not_where_it_has_replicas_and_fails(
    cluster: Cluster, tmp_path: Path, replicas: int, ending: str, child_state: str
) -> None:
    door = tmp_path / "door"
    wait_for_door = f"while test ! -e {door}; do sleep 0.05; done"
    parent = cluster.submit(f"{wait_for_door}; {ending}", replicas=replicas)
    child = cluster.submit("sleep 600", parent=parent)
    eventually(lambda: cluster.jobs.states([child])[child] == "RUNNING", LONG_PATIENCE, every=0.02)
    door.touch()
    cluster.jobs.wait(parent, 60)
    assert cluster.jobs.states([child])[child] == child_state
    cluster.jobs.stop(child)


def test_children_are_listed_under_their_parent(cluster: Cluster) -> None:
    parent = cluster.submit("sleep 600")
    child = cluster.submit("true", parent=parent)
    assert [job["id"] for job in cluster.jobs.list_jobs(parent=parent)] == [child]
    assert cluster.jobs.get(parent)["has_children"] is True
    cluster.jobs.stop(parent)


def test_jobs_are_listed_by_prefix_and_state_the_newest_first(cluster: Cluster) -> None:
    jobs = [cluster.submit(name="listed") for _ in range(3)]
    for job in jobs:
        cluster.jobs.wait(job, 60)
    listed = [job["id"] for job in cluster.jobs.list_jobs(prefix="/tester/listed-", state="succeeded")]
    assert [job for job in listed if job in jobs] == jobs[::-1]
    assert cluster.jobs.list_jobs(prefix=jobs[0], state="failed") == []


def test_jobs_are_named_by_id_or_by_the_name_of_ones_own(cluster: Cluster) -> None:
    job = cluster.submit()
    assert cluster.jobs.get(job.removeprefix("/tester/"))["id"] == job


def test_a_wait_that_lasts_too_long_ends_and_the_job_goes_on(cluster: Cluster) -> None:
    job = cluster.submit("sleep 600")
    with pytest.raises(TimeoutError, match="is still"):
        cluster.jobs.wait(job, 0.2)
    assert cluster.jobs.states([job])[job] in ("PENDING", "RUNNING")
    cluster.jobs.stop(job)


@pytest.mark.parametrize("verb", ["get", "wait", "stop"])
def test_a_job_that_is_not_there_is_told_as_such(cluster: Cluster, verb: str) -> None:
    with pytest.raises(fray.errors.JobNotFoundError, match="no-such-job"):
        getattr(cluster.jobs, verb)("no-such-job")


def test_an_unknown_job_has_no_state_and_a_known_one_has(cluster: Cluster) -> None:
    job = cluster.submit()
    assert set(cluster.jobs.states([job, "/tester/no-such-job"])) == {job}


def test_a_job_that_waits_says_why(cluster: Cluster) -> None:
    job = cluster.submit(cpu_millicores=2_000_000_000)
    eventually(lambda: cluster.jobs.get(job)["pending_reason"], LONG_PATIENCE, every=0.02)
    assert cluster.jobs.get(job)["state"] == "PENDING"
    cluster.jobs.stop(job)


def test_a_job_that_nobody_can_schedule_in_time_ends(cluster: Cluster) -> None:
    request = cluster.request(cpu_millicores=2_000_000_000)
    request.set_timeouts(scheduling=0.5)
    assert cluster.jobs.wait(cluster.jobs.submit(request), 60)["state"] == "UNSCHEDULABLE"


def test_a_device_that_no_group_has_is_refused_at_once(cluster: Cluster) -> None:
    request = cluster.request()
    request.set_device(DeviceKind.TPU, "v5litepod-16", 4)
    request.replicas = 4
    with pytest.raises(ValueError, match="no scaling group provides device tpu:v5litepod-16"):
        cluster.jobs.submit(request)


def test_a_child_of_nobody_is_refused(cluster: Cluster) -> None:
    with pytest.raises(ValueError, match="parent job /tester/no-such-job"):
        cluster.submit(parent="/tester/no-such-job")


def test_ports_are_given_to_the_task(cluster: Cluster) -> None:
    assert int(cluster.lines(cluster.submit('echo "$IRIS_PORT_HTTP"', ports=["http"]))[0]) >= 30_000


def test_bands_are_taken(cluster: Cluster) -> None:
    assert cluster.jobs.wait(cluster.submit(band=Band.BATCH), 60)["state"] == "SUCCEEDED"


def test_constraints_choose_the_machine(cluster: Cluster) -> None:
    request = cluster.request()
    request.add_constraint("region", ConstraintOp.EQ, ["nowhere-at-all"])
    request.set_timeouts(scheduling=0.5)
    try:
        job = cluster.jobs.submit(request)
    except ValueError as error:
        assert "nowhere-at-all" in str(error)  # a real one knows all its regions
    else:
        assert cluster.jobs.wait(job, 60)["state"] == "UNSCHEDULABLE"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": "a/b"}, "slash"),
        ({"name": " "}, "empty"),
        ({"parent": "/tester/x", "name": "12"}, "digits"),
        ({"argv": []}, "needs a command"),
        ({"replicas": 0}, "at least 1"),
        ({"cpu_millicores": -1}, "at least 0"),
        ({"env_vars": {"A=B": "1"}}, "environment variable"),
        ({"workspace": "/no/such/folder"}, "no folder"),
    ],
)
def test_what_can_be_no_job_is_refused_before_it_is_sent(
    cluster: Cluster, fields: dict[str, object], words: str
) -> None:
    request = cluster.request()
    for name, value in fields.items():
        setattr(request, name, value)
    with pytest.raises(ValueError, match=words):
        cluster.jobs.submit(request)


def test_a_workspace_over_the_limit_is_refused_with_its_largest_files(cluster: Cluster, tmp_path: Path) -> None:
    with (tmp_path / "weights.bin").open("wb") as file:
        file.truncate(26 << 20)
    with pytest.raises(ValueError, match=r"weights.bin \(26.0 MiB\).*\.frayignore"):
        cluster.submit(workspace=str(tmp_path))


def test_bundles_are_zip_archives(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (tmp_path / "link.sh").symlink_to("run.sh")
    script = 'cd "$IRIS_WORKDIR"; sh link.sh; sh run.sh; echo "$IRIS_BUNDLE_ID"'  # workers drop who may execute what
    *ran, bundle = cluster.lines(cluster.submit(script, workspace=str(tmp_path)))
    assert ran == ["ran", "ran"]
    with urllib.request.urlopen(f"{cluster.url}/bundles/{bundle}.zip") as answer:
        names = zipfile.ZipFile(io.BytesIO(answer.read())).namelist()
    assert sorted(names) == ["link.sh", "run.sh"]


def test_a_request_is_built_field_by_field() -> None:
    request = IrisJobRequest()
    request.argv = ["true"]
    assert (request.replicas, request.existing, request.band) == (1, Existing.REFUSE, Band.DEFAULT)


def test_a_bundle_that_is_there_is_not_sent_again(own: Cluster, stand_in: Controller, tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(bytes(100_000))
    jobs = [own.submit('wc -c < "$IRIS_WORKDIR/data.bin"', workspace=str(tmp_path)) for _ in range(2)]
    sizes = [size for path, size in stand_in.server.requests if path.endswith("/LaunchJob")]
    assert sizes[0] > 100_000 > 1_000 > sizes[1]
    assert [own.lines(job) for job in jobs] == [["100000"], ["100000"]]
