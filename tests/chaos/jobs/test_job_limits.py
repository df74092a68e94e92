"""Limits of jobs: of memory, processes and files, and what becomes of those that go beyond."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fray import Entrypoint, JobRequest, JobStatus, LocalCluster, ResourceConfig

from tests.chaos.harness import PATIENCE, current_marker, eventually, marked_processes

HOG = "import sys, time; kept = bytearray(int(sys.argv[1]) << 20); print(len(kept)); time.sleep(float(sys.argv[2]))"
FORKS = """
import os, sys, time
made = 0
try:
    while made < int(sys.argv[1]):
        if os.fork() == 0:
            time.sleep(1000)
        made += 1
except OSError as error:
    print(made, error.strerror)
    sys.exit(9)
"""


def groups_of(controller: str, *jobs: str) -> list[Path]:
    """Return the control groups of these jobs that are there; other tests make groups too."""
    root = Path("/sys/fs/cgroup")
    return [path for job in jobs for path in root.glob(f"{controller}/**/fray-{job}-*") if path.is_dir()]


def can_make_groups(controller: str) -> bool:
    return os.access(f"/sys/fs/cgroup/{controller}", os.W_OK) or os.access("/sys/fs/cgroup/cgroup.procs", os.W_OK)


needs_groups = pytest.mark.skipif(
    not (can_make_groups("memory") and can_make_groups("pids")), reason="control groups cannot be made here"
)


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    cluster = LocalCluster(cpus=2, memory=2 << 30)
    yield cluster
    cluster.shutdown(wait=False)


def python(name: str, script: str, *words: str, ram: str = "4g", **options: int) -> JobRequest:
    return JobRequest(
        name=name,
        entrypoint=Entrypoint.from_binary(sys.executable, ["-c", script, *words]),
        resources=ResourceConfig(cpu=0, ram=ram),
        **options,
    )


@needs_groups
def test_job_out_of_memory_dies_alone_and_says_so_with_its_peak(cluster: LocalCluster) -> None:
    small = cluster.launch(python("small", HOG, "16", "1000", ram="128m"))
    large = cluster.launch(python("large", HOG, "256", "1000", ram="64m"))
    info = cluster.wait(large, timeout=PATIENCE)
    assert (info.status, info.exit_code) == (JobStatus.FAILED, 137)
    assert info.error_message is not None
    assert info.error_message.startswith("out of memory: used 6")
    assert " of 64.0 MiB (it was killed by signal 9 (Killed))" in info.error_message
    assert cluster.poll(small).status is JobStatus.RUNNING
    cluster.terminate(small)
    cluster.wait(small, timeout=PATIENCE)
    assert groups_of("memory", small, large) == []


@needs_groups
def test_memory_limit_is_that_of_all_replicas_together(cluster: LocalCluster) -> None:
    job = cluster.launch(python("gang", HOG, "40", "0", ram="64m", replicas=2))
    assert cluster.wait(job, timeout=PATIENCE).status is JobStatus.SUCCEEDED


@needs_groups
def test_fork_bomb_under_a_limit_of_processes_is_contained_and_leaves_nothing(cluster: LocalCluster) -> None:
    bomb = cluster.launch(python("bomb", FORKS, "100000", max_processes=32))
    beside = cluster.launch(python("beside", "import os; os.fork() and os.wait()"))
    assert cluster.wait(beside, timeout=PATIENCE).status is JobStatus.SUCCEEDED
    info = cluster.wait(bomb, timeout=PATIENCE)
    assert info.exit_code == 9
    assert cluster.logs(bomb) == "31 Resource temporarily unavailable\n"
    assert groups_of("pids", bomb, beside) == []
    eventually(lambda: not [p for p in marked_processes(current_marker()) if "made += 1" in p.command])


@needs_groups
def test_shell_fork_bomb_ends_when_the_job_is_stopped(cluster: LocalCluster) -> None:
    bomb = cluster.launch(
        JobRequest(
            name="bomb",
            entrypoint=Entrypoint.from_binary("bash", ["-c", "echo on; f() { f | f & }; while true; do f; done"]),
            resources=ResourceConfig(cpu=0),
            max_processes=64,
        )
    )
    eventually(lambda: "on\n" in cluster.logs(bomb))
    cluster.terminate(bomb)
    assert cluster.wait(bomb, timeout=2 * PATIENCE).status is JobStatus.STOPPED
    assert groups_of("pids", bomb) == []


def test_limit_of_files_is_that_of_each_process(cluster: LocalCluster) -> None:
    script = "import os\ntry:\n  while True: os.open('/', 0)\nexcept OSError as error: print(error.strerror)"
    job = cluster.launch(python("files", script, max_files=32))
    cluster.wait(job, timeout=PATIENCE)
    assert cluster.logs(job) == "Too many open files\n"


@pytest.mark.not_under_asan("maps more addresses than the limit allows")
def test_without_groups_each_process_is_held_to_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAY_FAULT", "limit_group:1+")  # none can be made
    cluster = LocalCluster(cpus=2, memory=2 << 30)
    try:
        job = cluster.launch(python("large", HOG, "256", "0", ram="64m"))
        info = cluster.wait(job, timeout=PATIENCE)
        assert (info.status, info.exit_code) == (JobStatus.FAILED, 1)
        assert "MemoryError" in cluster.logs(job)
        within = cluster.launch(python("small", HOG, "16", "0", ram="64m"))
        assert cluster.wait(within, timeout=PATIENCE).status is JobStatus.SUCCEEDED
    finally:
        cluster.shutdown(wait=False)


@needs_groups
def test_groups_of_a_killed_supervisor_are_removed(cluster: LocalCluster) -> None:
    job = cluster.launch(python("held", HOG, "16", "1000", ram="128m", max_retries_preemption=0))
    eventually(lambda: cluster.logs(job) != "")
    assert len(groups_of("memory", job)) == 1
    supervisor = next(p for p in marked_processes(current_marker()) if "fray-supervisor" in p.command)
    supervisor.signal(9)
    assert cluster.wait(job, timeout=PATIENCE).status is JobStatus.FAILED
    eventually(lambda: groups_of("memory", job) == [])


@pytest.mark.parametrize("limit", [{"max_processes": 0}, {"max_files": -1}, {"max_files": 1.5}])
def test_impossible_limits_are_refused(limit: dict[str, int]) -> None:
    with pytest.raises((TypeError, ValueError), match=next(iter(limit))):
        python("x", "", **limit)


def test_limits_that_let_nothing_start_are_refused_by_the_node(cluster: LocalCluster) -> None:
    with pytest.raises(ValueError, match="needs a process limit of at least 3, got 2"):
        cluster.launch(python("x", "", replicas=3, max_processes=2))
    with pytest.raises(ValueError, match="limit of open files is at least 16, got 3"):
        cluster.launch(python("x", "", max_files=3))
