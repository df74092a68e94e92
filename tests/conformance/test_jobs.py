"""Jobs of a cluster from their launch to their end: ids, names, lists, waits, handles."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fray
import pytest
from fray import JobExistsError, JobFailedError, JobHandle, JobStatus, NodeDiedError, RuntimeEnv, wait_all
from fray.cluster import Cluster

from tests.conformance import job_functions
from tests.conformance.clusters import PATIENCE, begun, function, program, shell
from tests.conformance.gates import Gate, Journal


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is this process's: `create_job` may send it along."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def held(gate: Gate, started: Gate, kind: str = "program") -> Any:
    """Return the order for a job that says when it runs and waits at a gate."""
    if kind == "function":
        return function(job_functions.announce_and_wait, started, gate)
    return shell('exec 3<>"$2"; : > "$1"; head -c 1 <&3 > /dev/null', started.path, gate.path)


@pytest.mark.behaviour("J001")
def test_ids_differ_and_a_job_is_known_by_its_name(cluster: Cluster) -> None:
    jobs = [cluster.launch(program("true", name="twin")), cluster.launch(function(print, name="twin"))]
    jobs.append(cluster.launch(function(print, name="third")))
    assert len(set(jobs)) == 3
    assert all(isinstance(job, str) and name in job for job, name in zip(jobs, ["twin", "twin", "third"], strict=True))
    infos = cluster.wait(jobs, raise_on_failure=True, timeout=PATIENCE)
    assert [(info.job_id, info.name) for info in infos] == list(zip(jobs, ["twin", "twin", "third"], strict=True))
    assert [cluster.poll(job) for job in jobs] == infos


@pytest.mark.behaviour("J002")
@pytest.mark.parametrize("kind", ["program", "function"])
def test_a_job_goes_through_its_states_in_order(cluster: Cluster, gate: Callable[[], Gate], kind: str) -> None:
    started, end = gate(), gate()
    job = cluster.launch(held(end, started, kind))
    first = cluster.poll(job)
    assert first.status in (JobStatus.PENDING, JobStatus.RUNNING)
    assert (first.exit_code, first.error_message) == (None, None)
    started.wait()
    info = begun(cluster, job)
    assert (info.status, info.pending_reason) == (JobStatus.RUNNING, None)
    assert [task.status for task in info.tasks] == [JobStatus.RUNNING]
    end.open_if_waited_for()
    info = cluster.wait(job, timeout=PATIENCE)
    assert (info.status, info.exit_code, info.error_message) == (JobStatus.SUCCEEDED, 0, None)
    assert [task.status for task in info.tasks] == [JobStatus.SUCCEEDED]
    cluster.terminate(job)
    assert cluster.poll(job) == info


@pytest.mark.behaviour("J003", "J040", "J042")
@pytest.mark.parametrize(
    "order", [program("sleep", "3600"), function(job_functions.sleep_for_ever)], ids=["program", "function"]
)
def test_a_handle_waits_and_terminates(cluster: Cluster, order: Any) -> None:
    handle = cluster.submit(order)
    assert begun(cluster, handle.job_id).status is handle.status() is JobStatus.RUNNING
    handle.terminate()
    handle.terminate()
    assert handle.wait(PATIENCE, raise_on_failure=False) is JobStatus.STOPPED
    handle.terminate()
    info = handle.info()
    assert (info.status, info.error_message) == (JobStatus.STOPPED, "it was stopped")
    with pytest.raises(JobFailedError, match=f"{handle.job_id}: it was stopped") as caught:
        handle.wait(PATIENCE)
    assert (caught.value.job_id, caught.value.failed_status) == (handle.job_id, JobStatus.STOPPED)


@pytest.mark.behaviour("J004")
def test_a_name_may_be_kept_to_one_living_job(cluster: Cluster) -> None:
    endless = function(job_functions.sleep_for_ever, name="only")
    first = cluster.submit(endless, adopt_existing=False)
    with pytest.raises(JobExistsError, match="only") as caught:
        cluster.submit(program("true", name="only"), adopt_existing=False)
    assert isinstance(caught.value.handle, JobHandle)
    assert caught.value.handle.job_id == first.job_id
    second = cluster.submit(endless)
    assert second.job_id != first.job_id
    for handle in (first, second):
        handle.terminate()
    wait_all([first, second], timeout=PATIENCE, raise_on_failure=False)
    third = cluster.submit(function(print, name="only"), adopt_existing=False)
    assert third.wait(PATIENCE) is JobStatus.SUCCEEDED


@pytest.mark.behaviour("J005")
def test_names_are_told_as_they_were_given(cluster: Cluster) -> None:
    names = ["計数-Zähler", "..", "-rf", "a'b\"c`$(x)&;|*?[#%~\\", "n" * 255, "計" * 85, "😀"]
    jobs = [cluster.launch(function(print, name, name=name)) for name in names]
    jobs.append(cluster.launch(program("echo", "it", name=names[0])))
    infos = cluster.wait(jobs, raise_on_failure=True, timeout=2 * PATIENCE)
    assert [info.name for info in infos] == [*names, names[0]]
    assert [cluster.logs(job) for job in jobs[: len(names)]] == [f"{name}\n" for name in names]
    assert all(job.isascii() and "/" not in job for job in jobs)


@pytest.mark.behaviour("J006")
@pytest.mark.parametrize("unknown", ["nobody", "../nobody", "no body", "日本", "", "x" * 300])
def test_unknown_ids_are_key_errors(cluster: Cluster, unknown: str) -> None:
    verbs: list[Callable[[str], Any]] = [
        cluster.poll,
        cluster.logs,
        cluster.terminate,
        cluster.delete_job,
        cluster.wait,
        cluster.monitor,
        lambda job: list(cluster.follow(job)),
        lambda job: cluster.wait([job], timeout=1),
        lambda job: JobHandle(cluster, fray.JobId(job)).wait(),
    ]
    for verb in verbs:
        with pytest.raises(KeyError) as caught:
            verb(unknown)
        assert isinstance(caught.value, fray.JobNotFoundError)
        assert unknown[:20] in str(caught.value)


@pytest.mark.behaviour("J006")
def test_the_beginning_of_an_id_means_no_job(cluster: Cluster) -> None:
    job = cluster.launch(program("sleep", "60"))
    verbs: list[Callable[[str], Any]] = [
        cluster.poll,
        cluster.logs,
        cluster.terminate,
        cluster.delete_job,
        lambda beginning: list(cluster.follow(beginning)),
        lambda beginning: cluster.wait(beginning, timeout=1),
    ]
    for verb in verbs:
        with pytest.raises(fray.JobNotFoundError, match=job[:-1]):
            verb(job[:-1])
    assert not JobStatus.finished(cluster.poll(job).status)
    cluster.terminate(job)
    assert cluster.wait(job, timeout=PATIENCE).status is JobStatus.STOPPED


@pytest.mark.behaviour("J007", "J008")
def test_the_list_has_each_job_once_until_it_is_deleted(cluster: Cluster) -> None:
    endless = function(job_functions.sleep_for_ever)
    orders = [program("true"), function(print), program("sleep", "3600"), endless]
    jobs = [cluster.launch(order) for order in orders]
    cluster.wait(jobs[:2], timeout=PATIENCE)
    assert [info.job_id for info in cluster.list_jobs() if info.job_id in jobs] == jobs
    for job in jobs[2:]:
        cluster.delete_job(job)
    assert [info.status for info in cluster.wait(jobs[2:], timeout=PATIENCE)] == [JobStatus.STOPPED] * 2
    assert [info.job_id for info in cluster.list_jobs() if info.job_id in jobs] == jobs
    for job in jobs:
        cluster.delete_job(job)
        with pytest.raises(KeyError):
            cluster.poll(job)
    assert not [info for info in cluster.list_jobs() if info.job_id in jobs]


@pytest.mark.behaviour("J009")
def test_a_line_of_shell_is_a_job(cluster: Cluster, folder: Path) -> None:
    (folder / "words").write_text("of this folder\n")
    job = cluster.create_job("cat words | tr a-z A-Z; echo $MINE; exit 3", RuntimeEnv(env={"MINE": "a  b"}))
    bare = cluster.create_job("python -c 'print(6 * 7)'")
    info, other = cluster.wait([job, bare], timeout=PATIENCE)
    assert (info.status, info.exit_code, other.status) == (JobStatus.FAILED, 3, JobStatus.SUCCEEDED)
    assert {"OF THIS FOLDER", "a b"} <= set(cluster.logs(job).splitlines())
    assert "42" in cluster.logs(bare).splitlines()
    assert info.name == other.name == "fray"


IN_ANOTHER_PROCESS = """
import pickle, sys
cluster, handle = pickle.load(open(sys.argv[1], "rb"))
print(cluster.poll(handle.job_id).status, handle.status())
handle.terminate()
print(handle.wait(60, raise_on_failure=False))
cluster.shutdown(wait=False)
"""


def from_another_process(cluster: Cluster, handle: JobHandle, path: Path) -> list[str]:
    path.write_bytes(pickle.dumps((cluster, handle)))
    done = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_PROCESS, str(path)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.behaviour("J010")
def test_a_pickled_cluster_reaches_its_programs(cluster: Cluster, tmp_path: Path) -> None:
    handle = cluster.submit(program("sleep", "3600"))
    begun(cluster, handle.job_id)
    assert from_another_process(cluster, handle, tmp_path / "pickle") == ["running", "running", "stopped"]
    assert handle.status() is JobStatus.STOPPED
    again = pickle.loads(pickle.dumps(handle))
    assert again.status() is JobStatus.STOPPED


@pytest.mark.behaviour("J010B")
def test_a_pickled_cluster_reaches_its_functions(cluster: Cluster, tmp_path: Path) -> None:
    handle = cluster.submit(function(job_functions.sleep_for_ever))
    begun(cluster, handle.job_id)
    assert from_another_process(cluster, handle, tmp_path / "pickle") == ["running", "running", "stopped"]


@pytest.mark.behaviour("J011")
def test_command_and_id_of_a_wrong_type_are_refused(cluster: Cluster) -> None:
    for order in (print, ["python", "x.py"], "", "  ", None):
        with pytest.raises(TypeError, match="create_job needs a shell command"):
            cluster.create_job(order)  # type: ignore[arg-type]
    handle = cluster.submit(program("true"))
    for wrong in (5, None, handle, [handle], [handle.job_id, 5]):
        with pytest.raises(
            TypeError, match=r"wait needs the id of a job, or a list of ids, got .*JobHandle has its own"
        ):
            cluster.wait(wrong)  # type: ignore[arg-type,call-overload]
    for verb in (cluster.poll, cluster.terminate, cluster.logs, cluster.delete_job):
        with pytest.raises(TypeError):
            verb(5)  # type: ignore[arg-type]
    assert handle.wait(PATIENCE) is JobStatus.SUCCEEDED


@pytest.mark.behaviour("J012")
@pytest.mark.timeout(180)
def test_fifty_jobs_at_once(cluster: Cluster) -> None:
    one_cpu = fray.ResourceConfig(cpu=1)
    jobs = [cluster.launch(function(print, f"job {number}", resources=one_cpu)) for number in range(49)]
    jobs.append(cluster.launch(program("echo", "job 49")))
    infos = cluster.wait(jobs, timeout=2 * PATIENCE)
    assert [info.status for info in infos] == [JobStatus.SUCCEEDED] * 50
    assert all(f"job {number}" in cluster.logs(job).splitlines() for number, job in enumerate(jobs))


@pytest.mark.behaviour("J013")
def test_many_threads_use_one_cluster(cluster: Cluster) -> None:
    job = cluster.launch(function(print))

    def use(number: int) -> tuple[Any, Any, str]:
        own = cluster.launch(function(print, number))
        ends = cluster.wait(job, timeout=PATIENCE).status, cluster.wait(own, timeout=PATIENCE).status
        assert {job, own} <= {info.job_id for info in cluster.list_jobs()}
        return *ends, cluster.logs(own)

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(use, range(8))) == [("succeeded", "succeeded", f"{number}\n") for number in range(8)]


@pytest.mark.behaviour("J014")
def test_a_cluster_that_was_shut_down_says_so(new_cluster: Cluster) -> None:
    job = new_cluster.launch(program("true"))
    new_cluster.shutdown()
    new_cluster.shutdown(wait=False)
    uses: list[Callable[[], Any]] = [
        lambda: new_cluster.launch(program("true")),
        lambda: new_cluster.create_job("true"),
        new_cluster.list_jobs,
        lambda: new_cluster.poll(job),
        lambda: list(new_cluster.follow(job)),
    ]
    for use in uses:
        with pytest.raises(NodeDiedError, match="was shut down; make a new one"):
            use()


@pytest.mark.behaviour("J015")
@pytest.mark.parametrize("wait", [True, False])
def test_shutdown_ends_functions_or_waits_for_them(
    new_cluster: Cluster, gate: Callable[[], Gate], tmp_path: Path, wait: bool
) -> None:
    journal, started, end = Journal(str(tmp_path / "journal")), gate(), gate()

    def note_the_end() -> None:
        end.announce_and_wait(started)
        journal.add("through")

    new_cluster.launch(function(note_the_end))
    started.wait()
    closing = threading.Thread(target=new_cluster.shutdown, args=(wait,))
    closing.start()
    if wait:
        closing.join(0.2)
        assert closing.is_alive()
        end.open_if_waited_for()
    closing.join(PATIENCE)
    assert not closing.is_alive()
    new_cluster.shutdown(wait)
    end.open_if_waited_for()
    assert journal.lines() == (["through"] if wait else [])


# ---- waiting


@pytest.mark.behaviour("J020", "J021")
def test_wait_for_several_tells_of_all_and_names_those_that_failed(cluster: Cluster) -> None:
    orders = [
        program("false", name="a"),
        function(print, name="b"),
        function(job_functions.no_luck, name="c"),
        function(print),
    ]
    jobs = [cluster.launch(order) for order in orders]
    ends = [JobStatus.FAILED, JobStatus.SUCCEEDED, JobStatus.FAILED, JobStatus.SUCCEEDED]
    infos = cluster.wait(jobs, timeout=PATIENCE)
    assert [info.status for info in infos] == ends
    assert cluster.wait(jobs[1], raise_on_failure=True) == infos[1]
    assert cluster.wait(reversed(jobs)) == infos[::-1]  # type: ignore[call-overload]
    assert cluster.wait([jobs[1], jobs[1]]) == [infos[1]] * 2
    assert cluster.wait([]) == []
    with pytest.raises(JobFailedError, match=r"2 job\(s\) failed: ") as caught:
        cluster.wait(tuple(jobs), raise_on_failure=True)
    text = str(caught.value)
    assert jobs[0] in text and jobs[2] in text and jobs[1] not in text and "no luck in shard 7" in text
    assert (caught.value.job_id, caught.value.failed_status) == (jobs[0], JobStatus.FAILED)
    assert isinstance(caught.value, RuntimeError)


@pytest.mark.behaviour("J022")
@pytest.mark.parametrize("timeout", [1e30, 10**400])
def test_a_timeout_that_is_longer_than_any_wait_waits(cluster: Cluster, timeout: float) -> None:
    handle = cluster.submit(program("sleep", "0.2"))
    assert cluster.wait(handle.job_id, timeout=timeout).status is JobStatus.SUCCEEDED
    assert handle.wait(timeout) is JobStatus.SUCCEEDED


@pytest.mark.behaviour("J022")
def test_wait_gives_up_and_the_jobs_go_on(cluster: Cluster) -> None:
    job, other = cluster.launch(program("sleep", "3600")), cluster.launch(function(job_functions.sleep_for_ever))
    for timeout in (0, 0.05):
        with pytest.raises(TimeoutError, match=f"job {job} is still (pending|running); it goes on"):
            cluster.wait(job, timeout=timeout)
        with pytest.raises(TimeoutError, match="is still"):
            JobHandle(cluster, other).wait(timeout)
    with pytest.raises(TimeoutError):
        cluster.wait([job, other], timeout=0)
    assert not any(JobStatus.finished(info.status) for info in (cluster.poll(job), cluster.poll(other)))
    for one in (job, other):
        cluster.terminate(one)
    cluster.wait([job, other], timeout=PATIENCE)
    assert [info.status for info in cluster.wait([job, other], timeout=0)] == [JobStatus.STOPPED] * 2


@pytest.mark.behaviour("J023")
@pytest.mark.parametrize(
    ("timeout", "kind"),
    [(-1, ValueError), (float("nan"), ValueError), (float("inf"), ValueError), ("1", TypeError), (True, TypeError)],
)
def test_timeouts_that_make_no_sense_are_refused(cluster: Cluster, timeout: Any, kind: type[Exception]) -> None:
    for wait in (
        lambda: cluster.wait("nobody", timeout=timeout),
        lambda: cluster.wait([], timeout=timeout),
        lambda: JobHandle(cluster, fray.JobId("nobody")).wait(timeout),
        lambda: wait_all([], timeout=timeout),
    ):
        with pytest.raises(kind, match=r"timeout must be a .*number of at least 0, got"):
            wait()


@pytest.mark.behaviour("J024")
def test_wait_all_raises_at_the_first_failure(cluster: Cluster) -> None:
    endless, failed, well = (
        cluster.submit(order) for order in (function(job_functions.sleep_for_ever), program("false"), function(print))
    )
    with pytest.raises(JobFailedError, match=f"{failed.job_id}: it .*code 1|{failed.job_id}: .*code 1") as caught:
        wait_all([endless, failed, well], timeout=PATIENCE)
    assert caught.value.job_id == failed.job_id
    with pytest.raises(TimeoutError, match=f"job {endless.job_id} is still (pending|running); it goes on"):
        wait_all([endless, failed], timeout=0.05, raise_on_failure=False)
    endless.terminate()
    ends = wait_all([endless, failed, well], timeout=PATIENCE, raise_on_failure=False)
    assert ends == [JobStatus.STOPPED, JobStatus.FAILED, JobStatus.SUCCEEDED]
    assert wait_all([]) == []
