"""Jobs of an embedded node: they run, end as they should, share what they should, and leave nothing."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import fray
import pytest
from fray import (
    Entrypoint,
    JobRequest,
    JobStatus,
    LocalCluster,
    ResourceConfig,
    create_environment,
)

from tests.chaos import job_programs
from tests.chaos.harness import PATIENCE, current_marker, eventually, look_at, marked_processes, the_node

NO_CPU = ResourceConfig(cpu=0)


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    """A cluster of two CPUs, which is this process's."""
    fray.init(cpus=2)
    with LocalCluster() as made, fray.set_current_cluster(made):
        yield made


def binary(name: str, *words: str, resources: ResourceConfig = NO_CPU, **options: object) -> JobRequest:
    return JobRequest(name=name, entrypoint=Entrypoint.from_binary(words[0], words[1:]), resources=resources, **options)  # type: ignore[arg-type]


def called(function: object, *args: object, **options: object) -> JobRequest:
    return JobRequest(name=function.__name__, entrypoint=Entrypoint.from_callable(function, args), **options)  # type: ignore[arg-type,attr-defined]


def test_train_and_three_rollouts_share_a_named_actor(cluster: LocalCluster) -> None:
    jobs = [cluster.launch(called(job_programs.train, 3))]
    jobs += [cluster.launch(called(job_programs.rollout, number)) for number in range(3)]
    infos = fray.current_cluster().wait(jobs, raise_on_failure=True, timeout=4 * PATIENCE)
    assert [info.status for info in infos] == [JobStatus.SUCCEEDED] * 4
    assert "trained" in cluster.logs(jobs[0])
    ctx = fray.get_job_context()
    assert ctx.get(job_programs.curriculum().everybody.remote()) == ["rollout-0", "rollout-1", "rollout-2"]


def test_launch_of_a_training_as_seed_003_has_it_runs_with_its_variables(cluster: LocalCluster) -> None:
    from fray.cluster import Entrypoint, EnvironmentConfig, JobRequest, ResourceConfig, current_cluster

    job_id = current_cluster().launch(
        JobRequest(
            name="train_lm",
            entrypoint=Entrypoint.from_callable(job_programs.train_lm, args=[{"steps": 3}]),
            resources=ResourceConfig.with_cpu(),
            environment=EnvironmentConfig.create(env_vars={"WANDB_PROJECT": "marin"}),
        )
    )
    current_cluster().wait(job_id, raise_on_failure=True)
    assert cluster.logs(job_id) == "marin 3\n"


def test_two_jobs_on_two_cores_whose_tasks_need_cpus_finish(cluster: LocalCluster) -> None:
    jobs = [cluster.launch(called(job_programs.fan_out, 20)) for _ in range(2)]
    cluster.wait(jobs, raise_on_failure=True, timeout=4 * PATIENCE)
    assert [cluster.logs(job) for job in jobs] == ["380\n", "380\n"]


def test_job_that_waits_for_a_child_lends_it_its_cpu() -> None:
    fray.init(cpus=1)
    with LocalCluster() as cluster:
        job = cluster.launch(called(job_programs.launch_child_and_wait))
        assert cluster.wait(job, timeout=2 * PATIENCE).error_message is None
        assert cluster.logs(job) == "succeeded\n"


def test_job_waits_with_a_reason_until_there_is_room(cluster: LocalCluster) -> None:
    first = cluster.launch(binary("first", "sleep", "1000", resources=ResourceConfig(cpu=2)))
    second = cluster.launch(binary("second", "true", resources=ResourceConfig(cpu=1)))
    eventually(lambda: cluster.poll(first).status is JobStatus.RUNNING)
    info = cluster.poll(second)
    assert info.status is JobStatus.PENDING
    assert info.pending_reason == "waits for CPU 1: the node has CPU 2, of which CPU 0 is free"
    cluster.terminate(first)
    assert cluster.wait(second, timeout=2 * PATIENCE).status is JobStatus.SUCCEEDED


def test_job_that_ignores_signals_is_killed_after_the_grace_time(cluster: LocalCluster) -> None:
    job = cluster.launch(binary("deaf", "sh", "-c", "trap '' INT TERM; echo ready; while :; do sleep 1; done"))
    eventually(lambda: "ready" in cluster.logs(job))
    began = time.monotonic()
    cluster.terminate(job)
    assert cluster.wait(job, timeout=2 * PATIENCE).exit_code == 128 + 9
    assert time.monotonic() - began > 4


def test_failures_are_tried_again_as_often_as_allowed(cluster: LocalCluster, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    script = f"if [ -e {mark} ]; then echo last; else exit 5; fi"
    job = cluster.launch(binary("x", "sh", "-c", script, max_retries_failure=4))
    # The first pause is a second, and each is twice the one before: one of them is long enough to be seen.
    eventually(lambda: re.search(r"failure [1-4] of 4", cluster.poll(job).pending_reason or ""))
    mark.touch()
    assert cluster.wait(job, timeout=2 * PATIENCE).status is JobStatus.SUCCEEDED
    assert cluster.logs(job) == "last\n"


def test_jobs_end_with_the_session(cluster: LocalCluster) -> None:
    cluster.launch(binary("x", "sh", "-c", "setsid sleep 1000 & exec sleep 1000"))
    eventually(lambda: [process for process in marked_processes(current_marker()) if "sleep" in process.command])
    fray.shutdown()
    eventually(lambda: not [process for process in marked_processes(current_marker()) if "sleep" in process.command])


def test_values_of_variables_are_in_no_record(cluster: LocalCluster) -> None:
    canary = "canary-5c1f"
    job = cluster.launch(binary("x", "true", environment=create_environment(env_vars={"SECRET": canary})))
    info = cluster.wait(job, timeout=PATIENCE)
    assert canary not in repr(info)
    folder = Path(fray.get_job_context().session_folder) / "jobs"  # type: ignore[attr-defined]
    for path in folder.rglob("*"):
        assert path.is_dir() or canary.encode() not in path.read_bytes(), path


def test_hundred_jobs_leave_no_zombies(cluster: LocalCluster) -> None:
    jobs = [cluster.launch(binary("x", "true")) for _ in range(100)]
    cluster.wait(jobs, raise_on_failure=True, timeout=6 * PATIENCE)
    node = the_node()

    def states() -> list[str]:
        children = Path(f"/proc/{node.pid}/task/{node.pid}/children").read_text().split()
        return [process.state for child in children if (process := look_at(int(child))) is not None]

    eventually(lambda: "Z" not in states())
