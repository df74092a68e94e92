"""A controller that answers late, twice, never and wrongly, goes away, and loses machines."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import fray.errors
import pytest
from fray._iris_jobs import DeviceKind

from tests.iris import faults
from tests.iris.conftest import Cluster, client_of
from tests.iris.controller import Controller
from tests.iris.worker import Worker, slice_of
from tests.waiting import LONG_PATIENCE, eventually

LOST = {
    "the answer is lost": faults.LOST_ANSWER,
    "the call is lost": faults.LOST_CALL,
    "half the answer comes": faults.HALF,
    "it is unavailable": faults.refusal("unavailable"),
    "it is overloaded": faults.refusal("resource_exhausted"),
    "it has an error of its own": faults.refusal("internal"),
    "it took too long": faults.refusal("deadline_exceeded"),
    "a gateway answers": faults.page(502),
    "a gateway gives up": faults.page(504),
}


@pytest.mark.parametrize("fault", LOST.values(), ids=LOST.keys())
def test_a_job_is_launched_once_whatever_the_network_does(
    own: Cluster, stand_in: Controller, fault: faults.Fault
) -> None:
    stand_in.faults.add("LaunchJob", fault, fault)
    job = own.submit("echo ran")
    assert own.jobs.wait(job, 30)["state"] == "SUCCEEDED"
    assert own.lines(job) == ["ran"]
    assert len(list(stand_in.jobs)) == 1


def test_a_launch_that_arrives_twice_runs_once(own: Cluster, stand_in: Controller) -> None:
    stand_in.faults.add("LaunchJob", faults.TWICE)
    job = own.submit("echo ran")
    own.jobs.wait(job, 30)
    assert own.lines(job) == ["ran"]


@pytest.mark.parametrize("call", ["GetJobStatus", "GetJobState", "ListTasks", "TerminateJob", "FetchLogs", "ListJobs"])
@pytest.mark.parametrize("fault", LOST.values(), ids=LOST.keys())
def test_every_other_call_is_repeated(own: Cluster, stand_in: Controller, call: str, fault: faults.Fault) -> None:
    job = own.submit("echo ran; sleep 600")
    stand_in.faults.add(call, fault)
    own.jobs.get(job)
    own.jobs.list_jobs()
    log = own.jobs.follow(job)
    eventually(lambda: log.read(1), LONG_PATIENCE, every=0.02)
    assert own.jobs.stop(job) is True
    assert own.jobs.wait(job, 30)["state"] == "KILLED"


def test_an_answer_that_never_comes_is_given_up_and_asked_for_again(stand_in: Controller) -> None:
    jobs = client_of(stand_in.url, timeout=0.3)
    own = Cluster(stand_in.url, jobs)
    job = own.submit()
    stand_in.faults.add("GetJobState", faults.NEVER)
    assert jobs.wait(job, 30)["state"] == "SUCCEEDED"
    stand_in.faults.add("LaunchJob", faults.NEVER)
    assert jobs.wait(own.submit(), 30)["state"] == "SUCCEEDED"
    assert len(list(stand_in.jobs)) == 2


def test_an_answer_that_comes_late_is_waited_for(own: Cluster, stand_in: Controller) -> None:
    stand_in.faults.add("LaunchJob", faults.late(0.5))
    own.submit()
    assert stand_in.server.count("LaunchJob") == 1


def test_an_error_for_good_is_told_after_a_few_tries(own: Cluster, stand_in: Controller) -> None:
    own.jobs.list_jobs()
    before = stand_in.server.count("ListJobs")
    stand_in.faults.add("ListJobs", *[faults.refusal("internal", "the disk is on fire")] * 9)
    with pytest.raises(fray.FrayError, match="the disk is on fire; the controller's log says more"):
        own.jobs.list_jobs()
    assert stand_in.server.count("ListJobs") - before == 3


def test_a_controller_that_is_away_ends_no_wait(own: Cluster, stand_in: Controller, tmp_path: Path) -> None:
    door = tmp_path / "door"
    job = own.submit(f"until test -e {door}; do sleep 0.02; done")
    ended: list[str] = []
    waiter = threading.Thread(target=lambda: ended.append(own.jobs.wait(job, 30)["state"]))
    waiter.start()
    eventually(lambda: stand_in.server.count("GetJobState") > 0, LONG_PATIENCE, every=0.02)
    stand_in.go_away()
    door.touch()
    eventually(lambda: stand_in.jobs.get(job).is_over, LONG_PATIENCE, every=0.02)
    assert waiter.is_alive()
    stand_in.come_back()
    waiter.join(30)
    assert ended == ["SUCCEEDED"]


def test_a_controller_that_stays_away_is_told_as_such(stand_in: Controller) -> None:
    jobs = client_of(stand_in.url, patience=0.5)
    jobs.list_jobs()
    stand_in.go_away()
    with pytest.raises(fray.NodeDiedError, match=r"nobody listens at .*is the controller up"):
        jobs.list_jobs()


def test_nobody_waits_for_a_wrong_address() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        start = time.monotonic()
        with pytest.raises(fray.NodeDiedError, match="nobody listens"):
            client_of(url, patience=600.0).list_jobs()
        assert time.monotonic() - start < 30
    with pytest.raises(ValueError, match="is no address of an Iris controller"):
        client_of("iris://somewhere")


def test_a_page_in_place_of_an_answer_is_told_as_such(own: Cluster, stand_in: Controller) -> None:
    stand_in.faults.add("GetAuthInfo", faults.page(200, "<html>Sign in</html>"))
    with pytest.raises(fray.NodeDiedError, match=r"is no Iris controller.*HTTP 200 with text/html"):
        own.jobs.list_jobs()


def test_a_lost_machine_costs_an_attempt_and_not_the_job(start: Callable[..., Controller]) -> None:
    workers = [Worker("worker-0"), Worker("worker-1")]
    controller = start(workers)
    own = Cluster(controller.url, client_of(controller.url))
    job = own.submit('case "$IRIS_TASK_ID" in *:*) echo again;; *) echo first; sleep 600;; esac')
    log = own.jobs.follow(job)
    eventually(lambda: log.read(1), LONG_PATIENCE, every=0.02)
    controller.lose_worker(workers[0])
    details = own.jobs.wait(job, 30)
    assert details["state"] == "SUCCEEDED"
    assert details["preemptions"] == 1
    attempts = own.jobs.task(job, 0)["attempts"]
    assert [attempt["state"] for attempt in attempts] == ["WORKER_FAILED", "SUCCEEDED"]
    assert attempts[0]["worker_failure"] is True
    assert own.lines(job, log.cursor) == ["again"]


def test_preemptions_are_counted_apart_from_failures(own: Cluster, stand_in: Controller) -> None:
    job = own.submit('case "$IRIS_TASK_ID" in *:1) exit 0;; *) sleep 600;; esac', max_retries_failure=0)
    eventually(lambda: own.jobs.get(job)["tasks"][0]["state"] == "RUNNING", LONG_PATIENCE, every=0.02)
    stand_in.preempt(stand_in.workers[0])
    details = own.jobs.wait(job, 30)
    assert (details["state"], details["failures"], details["preemptions"]) == ("SUCCEEDED", 0, 1)
    assert [each["state"] for each in own.jobs.task(job, 0)["attempts"]] == ["PREEMPTED", "SUCCEEDED"]


def test_machines_that_are_lost_too_often_end_the_job(own: Cluster, stand_in: Controller) -> None:
    job = own.submit("sleep 600", max_retries_preemption=0)
    eventually(lambda: own.jobs.get(job)["tasks"][0]["state"] == "RUNNING", LONG_PATIENCE, every=0.02)
    stand_in.preempt(stand_in.workers[0])
    details = own.jobs.wait(job, 30)
    assert details["state"] == "WORKER_FAILED"
    assert details["exit_code"] is None


def test_a_task_over_its_time_ends_its_job(own: Cluster) -> None:
    request = own.request("sleep 600")
    request.set_timeouts(run=0.2)
    details = own.jobs.wait(own.jobs.submit(request), 30)
    assert (details["state"], details["error"]) == ("FAILED", "Execution timeout exceeded")


def test_nothing_of_a_stopped_job_is_left_running(own: Cluster, stand_in: Controller) -> None:
    job = own.submit("echo $$; sleep 600")
    log = own.jobs.follow(job)
    pids: list[int] = []

    def read() -> bool:
        pids.extend(int(line[5]) for line in log.read(1) or [])
        return bool(pids)

    eventually(read, LONG_PATIENCE, every=0.02)
    own.jobs.stop(job)
    eventually(
        lambda: all(worker.free()["cpu"] == worker.cpu_millicores for worker in stand_in.workers),
        LONG_PATIENCE,
        every=0.02,
    )
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


def test_tasks_of_a_slice_run_together_or_not_at_all(start: Callable[..., Controller]) -> None:
    controller = start([*slice_of("small", 2), *slice_of("whole", 4)])
    own = Cluster(controller.url, client_of(controller.url))
    request = own.request()
    request.set_device(DeviceKind.TPU, "v5litepod-16", 4)
    request.replicas, request.group_by = 4, "tpu-name"
    details = own.jobs.wait(own.jobs.submit(request), 30)
    assert [task["worker"] for task in details["tasks"]] == [f"whole-{i}" for i in range(4)]


def test_many_clients_at_once_get_their_own_jobs(own: Cluster) -> None:
    found: dict[int, list[str]] = {}

    def run(number: int) -> None:
        found[number] = own.lines(own.submit(f"echo {number}"))

    threads = [threading.Thread(target=run, args=(i,)) for i in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {i: [str(i)] for i in range(12)}


def test_a_name_that_another_has_taken_meanwhile_is_no_success(own: Cluster, stand_in: Controller) -> None:
    request = own.request("sleep 600")
    other = own.jobs.submit(request)
    stand_in.faults.add("LaunchJob", faults.LOST_CALL)
    with pytest.raises(fray.errors.JobExistsError, match=other):
        own.jobs.submit(request)
