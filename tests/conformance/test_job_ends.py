"""How jobs end: codes, messages, exceptions, signals, and what they leave behind."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import fray
import pytest
from fray import JobFailedError, JobRequest, JobStatus
from fray.cluster import Cluster

from tests.conformance import job_functions
from tests.conformance.clusters import PATIENCE, function, program, shell
from tests.conformance.gates import Gate, Journal

ALL_CPUS = fray.ResourceConfig(cpu=2)


def until(path: Path) -> str:
    """Return the text of a file once it is there."""
    deadline = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not come"
        time.sleep(0.01)
    return path.read_text()


def living(pids: list[int]) -> list[int]:
    """Return the processes that live, without those that only wait to be reaped."""
    found: list[int] = []
    for pid in pids:
        with suppress(FileNotFoundError, ProcessLookupError):
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
                found.append(pid)
    return found


def assert_gone(pids: list[int]) -> None:
    deadline = time.monotonic() + PATIENCE
    while left := living(pids):
        assert time.monotonic() < deadline, left
        time.sleep(0.01)


@pytest.mark.behaviour("J030", "J031")
def test_the_code_of_a_program_is_its_jobs(cluster: Cluster) -> None:
    orders = {
        3: shell("echo bad; exit 3"),
        128 + 9: shell("kill -9 $$"),
        128 + 15: shell("kill -TERM $$"),
        127: program("no-such-program", "x"),
        126: program("/etc/passwd"),
    }
    jobs = {code: cluster.launch(order) for code, order in orders.items()}
    infos = dict(zip(jobs, cluster.wait(list(jobs.values()), timeout=PATIENCE), strict=True))
    assert {code: (info.status, info.exit_code) for code, info in infos.items()} == {
        code: (JobStatus.FAILED, code) for code in orders
    }
    for code, info in infos.items():
        assert re.search(rf"code {code}\b|signal {code - 128}\b", info.error_message or ""), info
        assert [task.status for task in info.tasks] == [JobStatus.FAILED]
        assert info.tasks[0].error_message
    assert "no-such-program" in cluster.logs(jobs[127])
    assert "/etc/passwd" in cluster.logs(jobs[126])
    assert "bad" in cluster.logs(jobs[3]).splitlines()


@pytest.mark.behaviour("J032")
def test_what_a_function_raises_is_its_jobs_message(cluster: Cluster) -> None:
    handle = cluster.submit(function(job_functions.no_luck))
    with pytest.raises(JobFailedError, match=rf"1 job\(s\) failed: {handle.job_id}: ValueError: no luck in shard 7"):
        handle.wait(PATIENCE)
    info = handle.info()
    assert (info.status, info.exit_code) == (JobStatus.FAILED, 1)
    assert info.error_message == "ValueError: no luck in shard 7 (it exited with code 1)"
    log = cluster.logs(handle.job_id)
    assert log.startswith("Traceback (most recent call last):\n")
    assert "in no_luck" in log
    assert log.endswith("ValueError: no luck in shard 7\n")


@pytest.mark.behaviour("J033")
def test_a_function_ends_itself_as_a_program_does(cluster: Cluster) -> None:
    codes: list[Any] = [0, None, True, 3, -1, 256 + 7, "enough\nis enough"]
    jobs = [cluster.launch(function(job_functions.exit_with, code)) for code in codes]
    infos = cluster.wait(jobs, timeout=PATIENCE)
    assert [info.exit_code for info in infos] == [0, 0, 1, 3, 255, 7, 1]
    assert [info.status for info in infos] == [JobStatus.SUCCEEDED] * 2 + [JobStatus.FAILED] * 5
    assert infos[3].error_message == "it exited with code 3"
    assert infos[6].error_message == "enough\nis enough (it exited with code 1)"
    assert [cluster.logs(job) for job in jobs[:6]] == ["before the end\n"] * 6
    assert cluster.logs(jobs[6]) == "before the end\nenough\nis enough\n"


@pytest.mark.behaviour("J034")
def test_a_function_whose_process_dies_fails_its_job(cluster: Cluster) -> None:
    jobs = [cluster.launch(function(job_functions.die, how, max_retries_preemption=0)) for how in ("exit", "kill")]
    for info in cluster.wait(jobs, timeout=PATIENCE):
        assert info.status is JobStatus.FAILED
        assert info.error_message
        assert info.exit_code != 0


@pytest.mark.behaviour("J034B")
def test_a_process_that_ends_itself_is_a_failure_with_its_code(cluster: Cluster, tmp_path: Path) -> None:
    jobs = [cluster.launch(function(job_functions.die, how)) for how in ("exit", "kill")]
    assert [info.exit_code for info in cluster.wait(jobs, timeout=PATIENCE)] == [5, 137]
    journal = Journal(str(tmp_path / "journal"))
    again = cluster.launch(function(job_functions.die_once, journal, max_retries_failure=1, max_retries_preemption=0))
    assert cluster.wait(again, timeout=PATIENCE).status is JobStatus.SUCCEEDED
    assert journal.lines() == ["tried", "tried"]


@pytest.mark.behaviour("J035")
def test_exceptions_of_every_kind_fail_the_job(cluster: Cluster) -> None:
    jobs = [cluster.launch(function(job_functions.raise_base, kind)) for kind in ("interrupt", "own")]
    for job, info in zip(jobs, cluster.wait(jobs, timeout=PATIENCE), strict=True):
        assert info.status is JobStatus.FAILED
        assert info.exit_code not in (0, None)
        assert "all of it" in cluster.logs(job)


# ---- terminating


def check_never_runs(cluster: Cluster, gate: Callable[[], Gate], journal: Journal, waiting: JobRequest) -> None:
    """Terminate a job that needs both CPUs while another has them."""
    started, end = gate(), gate()
    first = cluster.launch(function(job_functions.announce_and_wait, started, end, resources=ALL_CPUS))
    started.wait()
    second = cluster.launch(waiting)
    assert cluster.poll(second).status is JobStatus.PENDING
    cluster.terminate(second)
    assert cluster.wait(second, timeout=PATIENCE).status is JobStatus.STOPPED
    end.open_if_waited_for()
    cluster.wait(first, raise_on_failure=True, timeout=PATIENCE)
    third = cluster.launch(function(job_functions.add, journal, "third", resources=ALL_CPUS))
    cluster.wait(third, raise_on_failure=True, timeout=PATIENCE)
    assert journal.lines() == ["third"]


@pytest.mark.behaviour("J041")
def test_a_function_that_is_terminated_while_it_waits_never_runs(
    cluster: Cluster, gate: Callable[[], Gate], tmp_path: Path
) -> None:
    journal = Journal(str(tmp_path / "journal"))
    check_never_runs(cluster, gate, journal, function(job_functions.add, journal, "ran", resources=ALL_CPUS))


@pytest.mark.behaviour("J041B")
def test_a_program_that_is_terminated_while_it_waits_never_runs(
    cluster: Cluster, gate: Callable[[], Gate], tmp_path: Path
) -> None:
    journal = Journal(str(tmp_path / "journal"))
    check_never_runs(cluster, gate, journal, shell('echo ran >> "$1"', journal.path, resources=ALL_CPUS))


@pytest.mark.behaviour("J043")
@pytest.mark.parametrize("kind", ["program", "function"])
def test_terminate_ends_every_process_of_the_job(cluster: Cluster, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "pids"
    if kind == "program":
        script = (
            "sleep 3600 & first=$!; setsid sleep 3600 & second=$!; "
            'echo $$ $first $second > "$1.partial"; mv "$1.partial" "$1"; wait'
        )
        order = shell(script, str(path))
    else:
        order = function(job_functions.leave_processes, str(path))
    check_all_end(cluster, order, path)


@pytest.mark.behaviour("J043B")
def test_terminate_ends_the_orphans_of_a_program(cluster: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "pids"
    script = '(setsid sleep 3600 & echo $! > "$1.partial"); mv "$1.partial" "$1"; sleep 3600'
    check_all_end(cluster, shell(script, str(path)), path)


def check_all_end(cluster: Cluster, order: JobRequest, path: Path) -> None:
    """Terminate a job that has written the numbers of its processes."""
    job = cluster.launch(order)
    pids = [int(word) for word in until(path).split()]
    assert living(pids) == pids
    cluster.terminate(job)
    assert cluster.wait(job, timeout=PATIENCE).status is JobStatus.STOPPED
    assert_gone(pids)


@pytest.mark.behaviour("J044", "J045")
def test_a_program_is_asked_before_it_is_killed(cluster: Cluster) -> None:
    end = "import signal, sys, time\ndef end(*_): print('goodbye', flush=True); sys.exit(4)\n"
    listen = "for n in (signal.SIGINT, signal.SIGTERM): signal.signal(n, %s)\n"
    wait = "print('ready', flush=True)\nwhile True: time.sleep(3600)\n"
    polite = cluster.launch(program("python", "-c", end + listen % "end" + wait))
    deaf = cluster.launch(program("python", "-c", end + listen % "signal.SIG_IGN" + wait, grace_seconds=1))
    for job in (polite, deaf):
        assert any("ready" in text for text in cluster.follow(job))
    for job in (polite, deaf):
        cluster.terminate(job)
    assert [info.status for info in cluster.wait([polite, deaf], timeout=PATIENCE)] == [JobStatus.STOPPED] * 2
    assert "goodbye" in cluster.logs(polite).splitlines()
    assert "goodbye" not in cluster.logs(deaf).splitlines()


@pytest.mark.behaviour("J046")
@pytest.mark.parametrize("kind", ["program", "function"])
def test_what_a_job_leaves_behind_ends_with_it(cluster: Cluster, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "pid"
    script = 'setsid sleep 3600 & echo $! > "$1.partial"; mv "$1.partial" "$1"'
    if kind == "program":
        job = cluster.launch(shell(script, str(path)))
    else:
        job = cluster.launch(function(job_functions.run_and_end, ["sh", "-c", script, "sh", str(path)]))
    cluster.wait(job, raise_on_failure=True, timeout=PATIENCE)
    assert_gone([int(until(path))])
