"""Jobs of an embedded node: they run, end as they should, share what they should, and leave nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import fray
import pytest
from fray import (
    Entrypoint,
    InfeasibleError,
    JobFailedError,
    JobRequest,
    JobStatus,
    LocalCluster,
    ResourceConfig,
    RuntimeEnv,
    create_environment,
)

from tests.chaos import job_programs
from tests.chaos.harness import PATIENCE, current_marker, eventually, marked_processes, the_node

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


def test_program_runs_in_its_workspace_and_its_output_comes_back_byte_for_byte(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    (tmp_path / "data").write_bytes(b"a\x00b\xff\n")
    job = cluster.launch(binary("cat", "cat", "data", environment=create_environment(workspace=str(tmp_path))))
    assert cluster.wait(job, timeout=PATIENCE).status is JobStatus.SUCCEEDED
    assert cluster.logs(job) == "a\x00b�\n"


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


def test_child_ends_with_its_parent(cluster: LocalCluster, tmp_path: Path) -> None:
    path = tmp_path / "child"
    parent = cluster.launch(called(job_programs.launch_child_and_end, str(path)))
    cluster.wait(parent, raise_on_failure=True, timeout=2 * PATIENCE)
    child = cluster.wait(path.read_text(), timeout=PATIENCE)
    assert child.status is JobStatus.STOPPED
    assert child.error_message == f"its parent job {parent} has ended"


def test_replicas_know_their_number_and_see_the_jobs_variables(cluster: LocalCluster, tmp_path: Path) -> None:
    request = called(
        job_programs.write_environment,
        str(tmp_path / "env"),
        resources=ResourceConfig(cpu=0, replicas=3),
        environment=create_environment(env_vars={"MINE": "yes"}),
    )
    job = cluster.launch(request)
    cluster.wait(job, raise_on_failure=True, timeout=2 * PATIENCE)
    for number in range(3):
        replica, count, job_id, spec, mine = (tmp_path / f"env-{number}").read_text().split("\n")
        assert (replica, count, job_id, mine) == (str(number), "3", job, "yes")
        assert spec.startswith("local?address=")


def test_first_replica_that_fails_ends_the_others_and_decides(cluster: LocalCluster) -> None:
    job = cluster.launch(called(job_programs.fail_as_replica, "1", resources=ResourceConfig(cpu=0, replicas=3)))
    info = cluster.wait(job, timeout=2 * PATIENCE)
    assert (info.status, info.exit_code) == (JobStatus.FAILED, 3)
    assert [task.status for task in info.tasks] == [JobStatus.STOPPED, JobStatus.FAILED, JobStatus.STOPPED]
    assert info.error_message == "replica 1 of 3 exited with code 3"


def test_failed_jobs_are_all_named(cluster: LocalCluster) -> None:
    jobs = [cluster.launch(binary(name, command)) for name, command in (("a", "false"), ("b", "true"), ("c", "false"))]
    with pytest.raises(JobFailedError, match=r"2 job\(s\) failed") as caught:
        cluster.wait(jobs, raise_on_failure=True, timeout=PATIENCE)
    assert jobs[0] in str(caught.value) and jobs[2] in str(caught.value) and jobs[1] not in str(caught.value)


def test_what_a_function_raised_is_the_jobs_message(cluster: LocalCluster) -> None:
    def explode() -> None:
        raise ValueError("no data in shard 7")

    handle = cluster.submit(JobRequest(name="x", entrypoint=Entrypoint.from_callable(explode)))
    with pytest.raises(RuntimeError, match="no data in shard 7"):
        handle.wait(timeout=2 * PATIENCE)
    assert handle.status() is JobStatus.FAILED


@pytest.mark.parametrize(("word", "code"), [("no-such-program", 127), ("/etc/passwd", 126)])
def test_command_that_cannot_be_run_has_the_shells_code_and_a_line(cluster: LocalCluster, word: str, code: int) -> None:
    job = cluster.launch(binary("x", word))
    info = cluster.wait(job, timeout=PATIENCE)
    assert (info.status, info.exit_code) == (JobStatus.FAILED, code)
    assert word in cluster.logs(job)


def test_shell_command_finds_this_interpreter(cluster: LocalCluster) -> None:
    job = cluster.create_job("python -c 'import fray; print(1 + 1)' | cat", RuntimeEnv(env={"A": "b"}))
    cluster.wait(job, raise_on_failure=True, timeout=2 * PATIENCE)
    assert cluster.logs(job) == "2\n"


def test_unknown_id_is_a_key_error(cluster: LocalCluster) -> None:
    for verb in (cluster.poll, cluster.terminate, cluster.delete_job, cluster.logs, cluster.wait):
        with pytest.raises(KeyError, match="there is no job nobody"):
            verb("nobody")


def test_job_larger_than_the_node_is_refused(cluster: LocalCluster) -> None:
    with pytest.raises(InfeasibleError, match="need CPU 3, the node has CPU 2"):
        cluster.launch(binary("x", "true", resources=ResourceConfig(cpu=3)))


def test_job_waits_with_a_reason_until_there_is_room(cluster: LocalCluster) -> None:
    first = cluster.launch(binary("first", "sleep", "1000", resources=ResourceConfig(cpu=2)))
    second = cluster.launch(binary("second", "true", resources=ResourceConfig(cpu=1)))
    eventually(lambda: cluster.poll(first).status is JobStatus.RUNNING)
    info = cluster.poll(second)
    assert info.status is JobStatus.PENDING
    assert info.pending_reason == "waits for CPU 1: the node has CPU 2, of which CPU 0 is free"
    cluster.terminate(first)
    assert cluster.wait(second, timeout=2 * PATIENCE).status is JobStatus.SUCCEEDED


def test_wait_has_a_timeout_and_the_job_goes_on(cluster: LocalCluster) -> None:
    job = cluster.launch(binary("x", "sleep", "1000"))
    with pytest.raises(TimeoutError):
        cluster.wait(job, timeout=0.05)
    assert cluster.poll(job).status is JobStatus.RUNNING


def test_delete_stops_a_living_job_and_forgets_an_ended_one(cluster: LocalCluster) -> None:
    job = cluster.launch(binary("x", "sleep", "1000"))
    cluster.delete_job(job)
    assert cluster.wait(job, timeout=2 * PATIENCE).status is JobStatus.STOPPED
    assert job in [info.job_id for info in cluster.list_jobs()]
    cluster.delete_job(job)
    assert job not in [info.job_id for info in cluster.list_jobs()]


def test_job_that_ignores_signals_is_killed_after_the_grace_time(cluster: LocalCluster) -> None:
    job = cluster.launch(binary("deaf", "sh", "-c", "trap '' INT TERM; echo ready; while :; do sleep 1; done"))
    eventually(lambda: "ready" in cluster.logs(job))
    began = time.monotonic()
    cluster.terminate(job)
    assert cluster.wait(job, timeout=2 * PATIENCE).exit_code == 128 + 9
    assert 4 < time.monotonic() - began < 8


def test_daemons_that_a_job_leaves_end_with_it(cluster: LocalCluster, tmp_path: Path) -> None:
    path = tmp_path / "pid"
    job = cluster.launch(called(job_programs.leave_daemons, str(path)))
    cluster.wait(job, raise_on_failure=True, timeout=2 * PATIENCE)
    assert not Path(f"/proc/{int(path.read_text())}").exists()
    assert not [process for process in marked_processes(current_marker()) if "sleep" in process.command]


def test_output_is_followed_line_by_line_to_the_end(cluster: LocalCluster) -> None:
    job = cluster.launch(binary("x", "sh", "-c", "for i in 1 2 3; do echo $i; sleep 0.05; done; printf end"))
    assert "".join(cluster.follow(job)) == "1\n2\n3\nend"


def test_failures_are_tried_again_as_often_as_allowed(cluster: LocalCluster, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    script = f"if [ -e {mark} ]; then echo second; else touch {mark}; exit 5; fi"
    job = cluster.launch(binary("x", "sh", "-c", script, max_retries_failure=1))
    eventually(lambda: "failure 1 of 1" in (cluster.poll(job).pending_reason or ""))
    assert cluster.wait(job, timeout=2 * PATIENCE).status is JobStatus.SUCCEEDED
    assert cluster.logs(job) == "second\n"


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
    children = Path(f"/proc/{node.pid}/task/{node.pid}/children").read_text().split()
    states = [Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] for child in children]
    assert "Z" not in states
