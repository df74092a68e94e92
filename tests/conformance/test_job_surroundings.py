"""What a job gets and finds: arguments, words, variables, its folder, packages, the cluster that runs it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fray import Entrypoint, JobRequest, JobStatus, SerializationError, create_environment
from fray.cluster import Cluster

from tests.conformance import job_functions
from tests.conformance.clusters import NOTHING, PATIENCE, function, program, python
from tests.conformance.gates import Gate


@pytest.mark.behaviour("J060")
def test_a_function_gets_what_was_given_at_the_launch(cluster: Cluster, gate: Callable[[], Gate]) -> None:
    captured = {"a": [1]}
    words: list[Any] = ["x"]

    def show(given: list[Any], *, key: str) -> None:
        print(given, key, captured)

    order = JobRequest("job", Entrypoint.from_callable(show, [words], {"key": "日本"}), NOTHING)
    jobs = [cluster.launch(order)]
    words.append("later")
    captured["a"].append(2)
    jobs.append(cluster.launch(order))
    jobs.append(cluster.launch(function(lambda: print(os.path.join("from", "a lambda")))))
    cluster.wait(jobs, raise_on_failure=True, timeout=PATIENCE)
    assert [cluster.logs(job) for job in jobs] == [
        "['x'] 日本 {'a': [1]}\n",
        "['x', 'later'] 日本 {'a': [1, 2]}\n",
        "from/a lambda\n",
    ]


@pytest.mark.behaviour("J061")
def test_a_program_gets_its_words_as_they_are(cluster: Cluster) -> None:
    words = ["a b", "$HOME", "it's", "*", "", 'ü\n"x"', "-c", "--", "&& exit 9", "\\", "`id`"]
    job = cluster.launch(python("import sys; print(ascii(sys.argv[1:]))", *words))
    cluster.wait(job, raise_on_failure=True, timeout=PATIENCE)
    assert ascii(words) in cluster.logs(job).splitlines()


@pytest.mark.behaviour("J062")
def test_variables_reach_the_job_and_are_shown_nowhere(cluster: Cluster) -> None:
    given = {"MINE": "canary  5c1f=1", "EMPTY": "", "WORDS": '日本 \'n \\ "x"'}
    environment = create_environment(env_vars={**given, "HF_DATASETS_TRUST_REMOTE_CODE": None})
    code = "import os, sys; print(*[f'{n}={os.environ.get(n)}' for n in sys.argv[1:]], sep='\\n')"
    told = function(job_functions.tell_variables, [*given, "TOKENIZERS_PARALLELISM"], environment=environment)
    order = python(code, *given, "TOKENIZERS_PARALLELISM", environment=environment)
    jobs = [cluster.launch(order), cluster.launch(told)]
    infos = cluster.wait(jobs, raise_on_failure=True, timeout=PATIENCE)
    for job in jobs:
        expected = {*(f"{name}={value}" for name, value in given.items()), "TOKENIZERS_PARALLELISM=false"}
        assert expected <= set(cluster.logs(job).splitlines())
    assert "canary" not in repr((infos, order, told, cluster.list_jobs()))


@pytest.mark.behaviour("J062B")
def test_dollars_in_variables_stay(cluster: Cluster) -> None:
    environment = create_environment(env_vars={"MINE": "$HOME ${HOME} $$"})
    jobs = [cluster.launch(program("env", environment=environment))]
    jobs.append(cluster.launch(function(job_functions.tell_variables, ["MINE"], environment=environment)))
    cluster.wait(jobs, raise_on_failure=True, timeout=PATIENCE)
    assert all("MINE=$HOME ${HOME} $$" in cluster.logs(job).splitlines() for job in jobs)


@pytest.mark.behaviour("J063")
def test_processes_know_their_job(cluster: Cluster) -> None:
    names = ["FRAY_JOB_ID", "FRAY_JOB_NAME", "FRAY_JOB_ATTEMPT", "FRAY_REPLICA_ID", "FRAY_REPLICA_COUNT"]
    jobs = [
        cluster.launch(program("env", name="計数")),
        cluster.launch(function(job_functions.tell_variables, names, name="計数")),
    ]
    gang = cluster.launch(function(job_functions.tell_variables, names, replicas=2))
    cluster.wait([*jobs, gang], raise_on_failure=True, timeout=PATIENCE)
    for job in jobs:
        values = [job, "計数", "1", "0", "1"]
        assert {f"{name}={value}" for name, value in zip(names, values, strict=True)} <= set(
            cluster.logs(job).splitlines()
        )
    for replica in ("0", "1"):
        values = [gang, "job", "1", replica, "2"]
        lines = {f"[replica-{replica}] {name}={value}" for name, value in zip(names, values, strict=True)}
        assert lines <= set(cluster.logs(gang).splitlines())


@pytest.mark.behaviour("J064")
def test_a_job_runs_in_its_workspace(cluster: Cluster, tmp_path: Path) -> None:
    workspace = tmp_path / "it's a folder"
    workspace.mkdir()
    (workspace / "data").write_text("from the workspace")
    environment = create_environment(workspace=workspace)
    jobs = [
        cluster.launch(program("cat", "data", environment=environment)),
        cluster.launch(function(job_functions.read_here, "data", environment=environment)),
        cluster.launch(program("pwd")),
        cluster.launch(function(lambda: print(os.getcwd()))),
    ]
    cluster.wait(jobs, raise_on_failure=True, timeout=PATIENCE)
    logs = [cluster.logs(job) for job in jobs]
    assert "from the workspace" in logs[0]
    assert logs[1] == f"from the workspace in {workspace}\n"
    assert os.getcwd() in logs[2].splitlines()
    assert logs[3] == f"{os.getcwd()}\n"


@pytest.mark.behaviour("J065")
def test_packages_are_installed_for_the_job(cluster: Cluster, tmp_path: Path) -> None:
    from tests.chaos.wheels import make_wheel

    make_wheel(tmp_path, "fray_test_tier", "1.0", "def main():\n    print('installed')\n", script="fray-test-tier")
    lines = ["fray_test_tier", "--no-index", f"--find-links {tmp_path}"]
    environment = create_environment(pip_packages=lines)
    jobs = [cluster.launch(program("fray-test-tier", environment=environment))]
    jobs.append(cluster.launch(function(lambda: __import__("fray_test_tier").main(), environment=environment)))
    missing = create_environment(pip_packages=["fray-test-of-nobody", *lines[1:]])
    jobs.append(cluster.launch(program("true", environment=missing)))
    *well, failed = cluster.wait(jobs, timeout=PATIENCE)
    assert [info.status for info in well] == [JobStatus.SUCCEEDED] * 2, well
    assert [cluster.logs(job) for job in jobs[:2]] == ["installed\n"] * 2
    assert failed.status is JobStatus.FAILED
    assert "fray-test-of-nobody" in (failed.error_message or "")


@pytest.mark.behaviour("J066")
def test_a_job_finds_the_cluster_that_runs_it(cluster: Cluster) -> None:
    job = cluster.launch(function(job_functions.look_around))
    cluster.wait(job, raise_on_failure=True, timeout=PATIENCE)
    assert cluster.logs(job).splitlines()[-1] == f"{type(cluster).__name__} 20"


@pytest.mark.behaviour("J067")
def test_a_job_launches_jobs_and_reads_their_output(cluster: Cluster) -> None:
    job = cluster.launch(function(job_functions.launch_child, "grandchild"))
    cluster.wait(job, raise_on_failure=True, timeout=PATIENCE)
    assert cluster.logs(job).splitlines() == ["program succeeded said it", "function succeeded said it"]


@pytest.mark.behaviour("J067B")
def test_a_child_ends_with_its_parent(cluster: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "child"
    parent = cluster.launch(function(job_functions.launch_and_end, str(path)))
    cluster.wait(parent, raise_on_failure=True, timeout=PATIENCE)
    child = cluster.wait(path.read_text(), timeout=PATIENCE)
    assert (child.status, child.error_message) == (JobStatus.STOPPED, f"its parent job {parent} has ended")


@pytest.mark.behaviour("J068")
def test_a_function_that_cannot_travel_is_refused_at_the_launch(cluster: Cluster) -> None:
    lock = job_functions.Lock()
    before = {info.job_id for info in cluster.list_jobs()}
    for order in (function(lambda: lock), function(max, [1, lock])):
        with pytest.raises(
            SerializationError, match=r"the call of a job cannot be pickled .*'?inner'?.*lock"
        ) as caught:
            cluster.launch(order)
        assert len(str(caught.value)) < 500
    assert {info.job_id for info in cluster.list_jobs()} == before
