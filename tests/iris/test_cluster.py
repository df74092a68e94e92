"""`IrisCluster`: whole programs through the API that all clusters have."""

from __future__ import annotations

import pickle
import re
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import fray
import fray.errors
import pytest
from fray import Entrypoint, JobRequest, JobStatus, ResourceConfig, create_environment
from fray.backend.iris.cluster import IrisCluster
from fray.cluster import create_cluster

from tests.iris.conftest import Cluster
from tests.iris.controller import Controller
from tests.iris.inside import PATHS
from tests.iris.worker import slice_of

SMALL = ResourceConfig(cpu=0.1, ram="64m", disk="0")


@pytest.fixture
def iris(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[IrisCluster]:
    """A cluster of which this process's folder, empty, is the workspace."""
    monkeypatch.chdir(tmp_path)
    with IrisCluster(cluster.url, user="tester") as made:
        yield made


def shell(script: str, **fields: object) -> JobRequest:
    return JobRequest(name="job", entrypoint=Entrypoint.from_binary("bash", ["-c", script]), resources=SMALL, **fields)


def test_a_program_runs_in_a_copy_of_the_workspace(iris: IrisCluster, tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("from the workspace")
    job = iris.launch(shell("cat data.txt; echo; echo more > data.txt"))
    info = iris.wait(job, timeout=60)
    assert (info.status, info.exit_code, info.name) == (JobStatus.SUCCEEDED, 0, "job")
    followed = "".join(iris.follow(job))
    assert followed.splitlines()[0] == "from the workspace"
    assert iris.logs(job) == followed
    assert (tmp_path / "data.txt").read_text() == "from the workspace"


def test_words_of_a_command_reach_it_as_they_are(iris: IrisCluster) -> None:
    entrypoint = Entrypoint.from_binary("printf", ["%s|", "a b", "$HOME", "'", ""])
    job = iris.launch(JobRequest(name="words", entrypoint=entrypoint, resources=SMALL))
    assert "".join(iris.follow(job)) == "a b|$HOME|'||\n"


def test_a_function_runs_with_its_arguments(iris: IrisCluster) -> None:
    def greet(name: str, *, loudly: bool = False) -> None:
        print(f"hello {name.upper() if loudly else name}", flush=True)

    entrypoint = Entrypoint.from_callable(greet, ["wörld"], {"loudly": True})
    job = iris.launch(JobRequest(name="call", entrypoint=entrypoint, resources=SMALL))
    assert "".join(iris.follow(job)) == "hello WÖRLD\n"
    assert iris.wait(job).status is JobStatus.SUCCEEDED


def test_what_a_function_raises_is_in_the_jobs_error(iris: IrisCluster) -> None:
    def fail() -> None:
        raise ValueError("intended")

    job = iris.launch(JobRequest(name="call", entrypoint=Entrypoint.from_callable(fail), resources=SMALL))
    with pytest.raises(fray.errors.JobFailedError, match="ValueError: intended"):
        iris.wait(job, raise_on_failure=True, timeout=60)
    assert iris.poll(job).exit_code == 1


def test_a_function_of_the_workspace_finds_its_module(iris: IrisCluster, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def greet(name):\n    print('hello', name)\n")
    sys.path.insert(0, str(tmp_path))
    try:
        import mine
    finally:
        sys.path.remove(str(tmp_path))
    job = iris.launch(
        JobRequest(name="call", entrypoint=Entrypoint.from_callable(mine.greet, ["you"]), resources=SMALL)
    )
    assert "".join(iris.follow(job)) == "hello you\n"


def test_a_function_for_another_python_says_so(iris: IrisCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 99))
    job = iris.launch(JobRequest(name="call", entrypoint=Entrypoint.from_callable(print), resources=SMALL))
    monkeypatch.undo()
    info = iris.wait(job, timeout=60)
    assert info.status is JobStatus.FAILED
    assert "pickled by Python 3.99" in (info.error_message or "")


_NO_FRAY = """\
import sys

class NoFray:
    def find_spec(self, name, path=None, target=None):
        if name == "fray":
            raise ModuleNotFoundError("No module named 'fray'", name=name)

sys.meta_path.insert(0, NoFray())
"""


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("sitecustomize.py", _NO_FRAY, f"lacks fray=={fray.__version__}, which the function of this job needs"),
        ("fray.py", "__version__ = '0.0.1'", f"launched by fray {fray.__version__} and its task has fray 0.0.1"),
    ],
)
def test_a_function_that_meets_no_fray_or_another_one_says_so(
    iris: IrisCluster, tmp_path: Path, file: str, text: str, told: str
) -> None:
    (tmp_path / file).write_text(text)
    environment = create_environment(env_vars={"PYTHONPATH": str(tmp_path)})
    entrypoint = Entrypoint.from_callable(print, [JobStatus.SUCCEEDED])
    info = iris.wait(iris.launch(JobRequest("call", entrypoint, SMALL, environment)), timeout=60)
    assert info.status is JobStatus.FAILED
    assert told in (info.error_message or "")


def test_a_function_that_cannot_be_pickled_never_leaves(iris: IrisCluster) -> None:
    entrypoint = Entrypoint.from_callable(print, [threading.Lock()])
    with pytest.raises(fray.SerializationError, match="lock"):
        iris.launch(JobRequest(name="call", entrypoint=entrypoint))


def test_replicas_have_statuses_and_numbered_lines(iris: IrisCluster) -> None:
    job = iris.launch(shell('echo "${IRIS_TASK_ID##*/}"; test "${IRIS_TASK_ID##*/}" != 1', replicas=2))
    info = iris.wait(job, timeout=60)
    assert info.status is JobStatus.FAILED
    assert info.tasks[1].status is JobStatus.FAILED
    assert sorted("".join(iris.follow(job)).splitlines()) == ["[replica-0] 0", "[replica-1] 1"]


def test_variables_reach_the_job(iris: IrisCluster) -> None:
    job = iris.launch(shell('echo "$WHO"', environment=create_environment(env_vars={"WHO": "world"})))
    assert "".join(iris.follow(job)) == "world\n"


_WHO = ["FRAY_JOB_ID", "FRAY_JOB_NAME", "FRAY_JOB_ATTEMPT", "FRAY_REPLICA_ID", "FRAY_REPLICA_COUNT"]


def test_processes_know_their_job_and_which_attempt_and_replica_they_are(iris: IrisCluster) -> None:
    script = f'echo "{" ".join(f"${name}" for name in _WHO)}"; test "$FRAY_JOB_ATTEMPT" = 2'
    program = Entrypoint.from_binary("bash", ["-c", script])
    job = iris.launch(JobRequest("計数", program, SMALL, replicas=2, max_retries_failure=1))
    assert iris.wait(job, timeout=60).status is JobStatus.SUCCEEDED
    told = sorted(line.partition("] ")[2] for line in "".join(iris.follow(job)).splitlines())
    assert told == [f"{job} 計数 {attempt} {replica} 2" for attempt in (1, 2) for replica in (0, 1)]


def test_a_function_knows_its_job_by_the_name_for_people(iris: IrisCluster) -> None:
    def tell(names: list[str]) -> None:
        import os

        print(*(os.environ[name] for name in names))

    taken = f"taken-{uuid.uuid4().hex}"
    job = iris.launch(JobRequest("its-$a'name", Entrypoint.from_callable(tell, [_WHO]), SMALL, id=taken))
    assert "".join(iris.follow(job)) == f"/tester/{taken} its-$a'name 1 0 1\n"


def test_children_are_told_of_themselves_and_not_of_their_parent(iris: IrisCluster) -> None:
    def launch_child(who: list[str]) -> None:
        import fray

        script = f"echo {' '.join(f'${name}' for name in who)}"
        request = fray.JobRequest(
            "child", fray.Entrypoint.from_binary("sh", ["-c", script]), fray.ResourceConfig(cpu=0)
        )
        job = fray.current_cluster().launch(request)
        print("".join(fray.current_cluster().follow(job)) + job)

    environment = create_environment(env_vars={"PYTHONPATH": PATHS})
    request = JobRequest("parent", Entrypoint.from_callable(launch_child, [_WHO]), SMALL, environment)
    told, child = "".join(iris.follow(iris.launch(request))).splitlines()
    assert told == f"{child} child 1 0 1"


def test_a_name_may_be_used_again_and_again(iris: IrisCluster) -> None:
    jobs = [iris.launch(shell("true")) for _ in range(2)]
    assert len(set(jobs)) == 2
    assert [iris.wait(job, timeout=60).name for job in jobs] == ["job", "job"]


def test_a_job_that_is_stopped_says_so(iris: IrisCluster) -> None:
    job = iris.launch(shell("sleep 600"))
    iris.terminate(job)
    iris.terminate(job)
    assert iris.wait(job, timeout=60).status is JobStatus.STOPPED


def test_several_jobs_are_waited_for_in_the_order_given(iris: IrisCluster) -> None:
    jobs = [iris.launch(shell("exit 3")), iris.launch(shell("true"))]
    infos = iris.wait(jobs, timeout=60)
    assert [info.exit_code for info in infos] == [3, 0]


def test_a_wait_that_lasts_too_long_names_what_goes_on(iris: IrisCluster) -> None:
    job = iris.launch(shell("sleep 600"))
    with pytest.raises(TimeoutError, match="it goes on"):
        iris.wait(job, timeout=0.2)
    iris.terminate(job)


def test_jobs_are_listed_in_the_order_of_acceptance(iris: IrisCluster) -> None:
    jobs = [iris.launch(shell("true")) for _ in range(2)]
    iris.wait(jobs, timeout=60)
    assert [info.job_id for info in iris.list_jobs() if info.job_id in jobs] == jobs


def test_a_job_that_is_not_there_is_a_key_error(iris: IrisCluster) -> None:
    for verb in (iris.poll, iris.wait, iris.terminate, iris.logs):
        with pytest.raises(KeyError, match="no-such-job"):
            verb("no-such-job")


def test_a_cluster_pickles_and_a_spec_makes_one(iris: IrisCluster, cluster: Cluster) -> None:
    job = iris.launch(shell("true"))
    assert pickle.loads(pickle.dumps(iris)).wait(job, timeout=60).status is JobStatus.SUCCEEDED
    made = create_cluster(f"iris?controller={cluster.url}&user=tester")
    assert made.poll(job).status is JobStatus.SUCCEEDED


def test_a_cluster_travels_with_the_user_whose_jobs_it_means(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOGNAME", "ann")
    packed = pickle.dumps(IrisCluster(cluster.url))
    monkeypatch.setenv("LOGNAME", "bob")
    assert pickle.loads(packed).launch(shell("true")).startswith("/ann/")
    assert IrisCluster(cluster.url).launch(shell("true")).startswith("/bob/")


def call(function: Callable[[], None], env_vars: dict[str, str], **fields: object) -> JobRequest:
    """A job that runs a function, in the folder of this process."""
    environment = create_environment(env_vars={"PYTHONPATH": PATHS, **env_vars})
    entrypoint = Entrypoint.from_callable(function)
    return JobRequest(name="parent", entrypoint=entrypoint, resources=SMALL, environment=environment, **fields)


def test_the_cluster_of_a_task_is_its_own_and_jobs_there_are_children_and_inherit(
    iris: IrisCluster, tmp_path: Path
) -> None:
    def launch_child() -> None:
        import fray
        from fray import Entrypoint, JobRequest, ResourceConfig, create_environment

        cluster = fray.current_cluster()
        script = "cat data.txt; echo $KEPT $OWN $TOKENIZERS_PARALLELISM"
        for environment in (None, create_environment(env_vars={"OWN": "own"})):
            request = JobRequest(
                name="child",
                entrypoint=Entrypoint.from_binary("sh", ["-c", script]),
                resources=ResourceConfig(cpu=0.1, ram="64m", disk="0"),
                environment=environment,
            )
            job = cluster.launch(request)
            print("".join(cluster.follow(job)) + job, flush=True)

    (tmp_path / "data.txt").write_text("of the parent\n")
    variables = {"KEPT": "kept", "TOKENIZERS_PARALLELISM": "true"}
    job = iris.launch(call(launch_child, variables, metadata={"not": "inherited"}))
    lines = "".join(iris.follow(job)).splitlines()
    assert [lines[0], lines[1], lines[3], lines[4]] == ["of the parent", "kept true", "of the parent", "kept own false"]
    assert [line.rpartition("-")[0] for line in (lines[2], lines[5])] == [f"{job}/child"] * 2
    assert iris.wait(job).status is JobStatus.SUCCEEDED


def test_a_program_in_a_task_has_the_context_of_its_job(iris: IrisCluster) -> None:
    def show() -> None:
        import fray

        print(type(fray.get_job_context()).__name__)

    job = iris.launch(call(show, {}))
    assert "".join(iris.follow(job)) == "IrisJobContext\n"


def test_a_cluster_without_an_address_is_that_of_a_task_alone() -> None:
    with pytest.raises(ValueError, match="this is no task of Iris"):
        create_cluster("iris")


def test_an_id_is_taken_once_and_metadata_stay_with_the_job(iris: IrisCluster) -> None:
    name = f"once-{uuid.uuid4().hex}"
    job = iris.launch(shell("true", id=name, metadata={"owner": "me"}))
    assert job == f"/tester/{name}"
    with pytest.raises(fray.errors.JobExistsError):
        iris.launch(shell("true", id=name))
    assert iris.wait(job, timeout=60).name == "job"


def test_what_iris_lacks_is_refused_by_name(iris: IrisCluster) -> None:
    with pytest.raises(fray.errors.UnsupportedError, match="max_files"):
        iris.launch(shell("true", max_files=10))


def test_nobody_there_is_a_node_that_died() -> None:
    cluster = IrisCluster("http://127.0.0.1:1")
    with pytest.raises(fray.errors.NodeDiedError, match="nobody listens"):
        cluster.list_jobs()


def test_the_program_of_the_guide_runs(
    start: Callable[..., Controller],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    guide = Path(__file__).parents[2] / "docs" / "guides" / "iris.md"
    found = re.search(r"```python\n(.*?)```", guide.read_text(), re.DOTALL)
    assert found is not None
    controller = start(slice_of("slice", 4))
    (tmp_path / "train.py").write_text("import os\nprint(os.environ['IRIS_TASK_ID'][-2:])\n")
    monkeypatch.chdir(tmp_path)
    exec(compile(found[1].replace("http://127.0.0.1:10000", controller.url), str(guide), "exec"), {})
    *lines, status = capsys.readouterr().out.splitlines()
    assert sorted(lines) == [f"[replica-{i}] /{i}" for i in range(4)]
    assert status == "succeeded"
