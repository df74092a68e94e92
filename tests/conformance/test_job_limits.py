"""Attempts, replicas, resources, priority and time of jobs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from fray import InfeasibleError, JobStatus, ResourceConfig
from fray.cluster import Cluster

from tests.conformance import job_functions
from tests.conformance.clusters import PATIENCE, function, program, python, shell
from tests.conformance.gates import Gate, Journal

ONE_CPU, TWO_CPUS = ResourceConfig(cpu=1), ResourceConfig(cpu=2)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(str(tmp_path / "journal"))


def hold_all(cluster: Cluster, gate: Callable[[], Gate]) -> tuple[str, Gate]:
    """Start a job that holds both CPUs until the gate is opened."""
    started, end = gate(), gate()
    job = cluster.launch(function(job_functions.announce_and_wait, started, end, resources=TWO_CPUS))
    started.wait()
    return job, end


# ---- attempts


@pytest.mark.behaviour("J070")
def test_failures_are_tried_again(cluster: Cluster, tmp_path: Path) -> None:
    notes = [Journal(str(tmp_path / name)) for name in ("program", "function")]
    script = 'echo "$FRAY_JOB_ATTEMPT" >> "$1"; [ "$(wc -l < "$1")" -gt 1 ] && echo "succeeded at last"'
    jobs = [
        cluster.launch(shell(script, notes[0].path, max_retries_failure=3)),
        cluster.launch(function(job_functions.fail_until, notes[1], 1, max_retries_failure=3)),
    ]
    cluster.wait(jobs, raise_on_failure=True, timeout=PATIENCE)
    assert [note.lines() for note in notes] == [["1", "2"]] * 2
    for job in jobs:
        assert "succeeded at last" in cluster.logs(job).splitlines()
        assert "succeeded at last\n" in "".join(cluster.follow(job))


@pytest.mark.behaviour("J070B")
def test_the_log_is_that_of_the_newest_attempt(cluster: Cluster, journal: Journal) -> None:
    job = cluster.launch(function(job_functions.fail_until, journal, 1, max_retries_failure=1))
    assert "attempt 1 failed" in "".join(cluster.follow(job))
    assert cluster.logs(job) == "succeeded at last\n"


@pytest.mark.behaviour("J071")
def test_a_job_without_retries_left_has_failed(cluster: Cluster, tmp_path: Path) -> None:
    notes = [Journal(str(tmp_path / name)) for name in ("program", "function", "once")]
    script = 'echo x >> "$1"; exit $((4 + $(wc -l < "$1")))'
    jobs = [
        cluster.launch(shell(script, notes[0].path, max_retries_failure=1)),
        cluster.launch(function(job_functions.fail_until, notes[1], 9, max_retries_failure=1)),
        cluster.launch(shell(script, notes[2].path)),
    ]
    infos = cluster.wait(jobs, timeout=PATIENCE)
    assert [(info.status, info.exit_code) for info in infos] == [(JobStatus.FAILED, code) for code in (6, 1, 5)]
    assert "attempt 2 failed" in (infos[1].error_message or "")
    assert [len(note.lines()) for note in notes] == [2, 2, 1]


# ---- replicas


@pytest.mark.behaviour("J072")
def test_each_replica_runs_with_a_state_of_its_own(cluster: Cluster, journal: Journal) -> None:
    job = cluster.launch(function(job_functions.count_state, journal, [], replicas=3))
    info = cluster.wait(job, raise_on_failure=True, timeout=PATIENCE)
    assert [task.status for task in info.tasks] == [JobStatus.SUCCEEDED] * 3
    assert info.exit_code == 0
    assert sorted(journal.lines()) == ["0 of 3: 1", "1 of 3: 1", "2 of 3: 1"]


@pytest.mark.behaviour("J072B")
def test_a_program_runs_in_every_replica(cluster: Cluster) -> None:
    job = cluster.launch(shell('echo "$FRAY_REPLICA_ID of $FRAY_REPLICA_COUNT"', replicas=3))
    cluster.wait(job, raise_on_failure=True, timeout=PATIENCE)
    assert sorted(cluster.logs(job).splitlines()) == [f"[replica-{n}] {n} of 3" for n in range(3)]


@pytest.mark.behaviour("J073")
def test_a_replica_that_fails_ends_the_others(cluster: Cluster, journal: Journal) -> None:
    job = cluster.launch(function(job_functions.fail_as, "1", journal, replicas=3))
    info = cluster.wait(job, timeout=PATIENCE)
    assert (info.status, info.exit_code) == (JobStatus.FAILED, 3)
    assert [task.status for task in info.tasks] == [JobStatus.STOPPED, JobStatus.FAILED, JobStatus.STOPPED]
    assert (info.error_message or "").startswith("replica 1 of 3")
    assert "exited with code 3" in (info.error_message or "")
    assert info.tasks[1].error_message


@pytest.mark.behaviour("J074")
def test_replicas_start_together_or_not_at_all(cluster: Cluster, gate: Callable[[], Gate], journal: Journal) -> None:
    started, end = gate(), gate()
    half = cluster.launch(function(job_functions.announce_and_wait, started, end, resources=ONE_CPU))
    started.wait()
    gang = cluster.launch(function(job_functions.meet, journal, 2, resources=ONE_CPU, replicas=2))
    last = cluster.launch(function(os.getpid, resources=ResourceConfig(cpu=0)))
    cluster.wait(last, raise_on_failure=True, timeout=PATIENCE)
    info = cluster.poll(gang)
    assert (info.status, [task.status for task in info.tasks]) == (JobStatus.PENDING, [JobStatus.PENDING] * 2)
    assert journal.lines() == []
    end.open_if_waited_for()
    cluster.wait([half, gang], raise_on_failure=True, timeout=PATIENCE)
    assert journal.lines() == ["here", "here"]


# ---- resources


@pytest.mark.behaviour("J075")
def test_a_job_waits_for_room_and_says_for_what(cluster: Cluster, gate: Callable[[], Gate]) -> None:
    first, end = hold_all(cluster, gate)
    waiting = [
        cluster.launch(program("true", resources=ONE_CPU)),
        cluster.launch(function(os.getpid, resources=ONE_CPU)),
    ]
    for job in waiting:
        info = cluster.poll(job)
        assert info.status is JobStatus.PENDING
        assert info.pending_reason
        assert info.exit_code is None
    assert "CPU 1" in (cluster.poll(waiting[1]).pending_reason or "")
    with pytest.raises(TimeoutError, match="is still pending"):
        cluster.wait(waiting[1], timeout=0.05)
    end.open_if_waited_for()
    infos = cluster.wait([first, *waiting], raise_on_failure=True, timeout=PATIENCE)
    assert [info.pending_reason for info in infos] == [None] * 3


@pytest.mark.behaviour("J076")
def test_what_can_never_run_is_refused(cluster: Cluster) -> None:
    before = {info.job_id for info in cluster.list_jobs()}
    for resources, words in (
        (ResourceConfig(cpu=64), r"CPU.* 64\b.* 2\b"),
        (ResourceConfig(cpu=0, ram="900g"), r"memory.* 900.0 GiB"),
        (ResourceConfig.with_gpu("H100", 8), "GPU"),
    ):
        for order in (program("true", resources=resources), function(os.getpid, resources=resources)):
            with pytest.raises(InfeasibleError, match=words):
                cluster.launch(order)
    with pytest.raises(InfeasibleError, match="CPU"):
        cluster.launch(function(os.getpid, resources=ONE_CPU, replicas=3))
    assert {info.job_id for info in cluster.list_jobs()} == before


# ---- order and time


@pytest.mark.behaviour("J077")
def test_the_waiting_job_of_the_highest_priority_starts_first(
    cluster: Cluster, gate: Callable[[], Gate], journal: Journal
) -> None:
    first, end = hold_all(cluster, gate)
    jobs = [first]
    for name, priority in (("low", -1), ("usual", 0), ("second usual", 0), ("high", 7)):
        order = function(job_functions.add, journal, name, resources=TWO_CPUS, priority=priority)
        jobs.append(cluster.launch(order))
    end.open_if_waited_for()
    cluster.wait(jobs, raise_on_failure=True, timeout=PATIENCE)
    assert journal.lines() == ["high", "usual", "second usual", "low"]


@pytest.mark.behaviour("J078")
def test_a_job_past_its_deadline_fails_and_says_so(cluster: Cluster) -> None:
    orders = [
        program("sleep", "3600", deadline_seconds=0.5),
        function(job_functions.sleep_for_ever, deadline_seconds=0.5),
    ]
    for info in cluster.wait([cluster.launch(order) for order in orders], timeout=PATIENCE):
        assert info.status is JobStatus.FAILED
        assert info.error_message == "its deadline of 0.5 s has passed"


@pytest.mark.behaviour("J079")
def test_a_deadline_that_is_far_away_changes_nothing(cluster: Cluster) -> None:
    options = {"deadline_seconds": 3600, "grace_seconds": 0.5, "priority": -3}
    jobs = [cluster.launch(program("true", **options)), cluster.launch(function(os.getpid, **options))]  # type: ignore[arg-type]
    cluster.wait(jobs, raise_on_failure=True, timeout=PATIENCE)


@pytest.mark.behaviour("J080")
@pytest.mark.parametrize(("grace", "says_goodbye"), [(0, False), (60, True)])
def test_grace_is_the_time_to_end_well(cluster: Cluster, grace: float, says_goodbye: bool) -> None:
    takes = 0.3 if says_goodbye else 60
    code = (
        "import signal, sys, time\n"
        f"def end(*_): time.sleep({takes}); print('goodbye', flush=True); sys.exit(0)\n"
        "for n in (signal.SIGINT, signal.SIGTERM): signal.signal(n, end)\n"
        "print('ready', flush=True)\ntime.sleep(3600)\n"
    )
    job = cluster.launch(python(code, grace_seconds=grace))
    assert next(cluster.follow(job)) == "ready\n"
    cluster.terminate(job)
    # One that ends well within its grace has succeeded.
    ended = cluster.wait(job, timeout=PATIENCE)
    assert ended.status is (JobStatus.SUCCEEDED if says_goodbye else JobStatus.STOPPED)
    assert ("goodbye" in cluster.logs(job)) is says_goodbye
