"""Jobs of a started node: they outlive it, their ends are never lost, and its records survive what happens to them."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fray
import pytest
from fray import Entrypoint, InfeasibleError, JobRequest, JobStatus, LocalCluster, ResourceConfig

from tests.chaos.harness import PATIENCE, current_marker, eventually, marked_processes
from tests.chaos.job_programs import until
from tests.chaos.started import PROGRAM, command, process_of, report, start

pytestmark = pytest.mark.usefixtures("started_nodes")

NO_CPU = ResourceConfig(cpu=0)
UNREACHABLE = 5


@pytest.fixture
def node() -> dict[str, Any]:
    return start("--cpus", "2")


def home() -> Path:
    return Path(os.environ["FRAY_HOME"])


def launch(script: str, name: str = "job", resources: ResourceConfig = NO_CPU, **options: Any) -> str:
    entrypoint = Entrypoint.from_binary("sh", ["-c", script])
    request = JobRequest(name=name, entrypoint=entrypoint, resources=resources, **options)
    return LocalCluster("auto").launch(request)


def end_of(job: str) -> fray.JobInfo:
    return LocalCluster("auto").wait(job, timeout=2 * PATIENCE)


def kill(node: dict[str, Any]) -> None:
    process = process_of(node)
    process.signal(signal.SIGKILL)
    eventually(lambda: not process.is_alive())


def test_running_job_outlives_the_node_and_is_adopted(node: dict[str, Any], tmp_path: Path) -> None:
    job = launch(f"echo before; until [ -e {tmp_path}/go ]; do sleep 0.02; done; echo after; exit 7")
    eventually(lambda: LocalCluster("auto").logs(job) == "before\n")
    kill(node)
    start("--cpus", "2")
    assert LocalCluster("auto").poll(job).status is JobStatus.RUNNING
    (tmp_path / "go").touch()
    info = end_of(job)
    assert (info.status, info.exit_code) == (JobStatus.FAILED, 7)
    assert LocalCluster("auto").logs(job) == "before\nafter\n"


def test_who_follows_a_job_whose_node_dies_is_told_how_to_follow_it_again(node: dict[str, Any], tmp_path: Path) -> None:
    job = launch(f"echo before; until [ -e {tmp_path}/go ]; do sleep 0.02; done; echo after; exit 7")
    arguments = [PROGRAM, "job", "logs", "-f", job]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as follower:
        assert follower.stdout is not None
        assert follower.stdout.readline() == "before\n"
        kill(node)
        _, said = follower.communicate(timeout=PATIENCE)
    assert follower.returncode == UNREACHABLE, said
    assert "the node went away" in said
    assert f"  fray job logs -f {job}" in said
    missing = command("job", "logs", "-f", job)
    assert (missing.code, "fray start" in missing.stderr) == (UNREACHABLE, True), missing.stderr
    start("--cpus", "2")
    (tmp_path / "go").touch()
    again = command("job", "logs", "-f", job)
    assert (again.code, again.stdout) == (7, "before\nafter\n"), again.stderr


def test_end_of_a_job_while_there_is_no_node_is_not_lost(node: dict[str, Any], tmp_path: Path) -> None:
    job = launch(f"until [ -e {tmp_path}/go ]; do sleep 0.02; done; echo done > {tmp_path}/done; exit 9")
    eventually(lambda: LocalCluster("auto").poll(job).status is JobStatus.RUNNING)
    kill(node)
    (tmp_path / "go").touch()
    until(tmp_path / "done")
    start("--cpus", "2")
    assert end_of(job).exit_code == 9


def test_job_that_waited_when_the_node_was_killed_starts_under_the_next_one(
    node: dict[str, Any], tmp_path: Path
) -> None:
    blocker = LocalCluster("auto").launch(
        JobRequest(name="b", entrypoint=Entrypoint.from_binary("sleep", ["1000"]), resources=ResourceConfig(cpu=2))
    )
    waiting = LocalCluster("auto").launch(
        JobRequest(name="w", entrypoint=Entrypoint.from_binary("sh", ["-c", f"echo $0 > {tmp_path}/ran"]))
    )
    eventually(lambda: LocalCluster("auto").poll(blocker).status is JobStatus.RUNNING)
    kill(node)
    start("--cpus", "2")
    assert LocalCluster("auto").poll(waiting).status is JobStatus.PENDING
    LocalCluster("auto").terminate(blocker)
    assert end_of(waiting).status is JobStatus.SUCCEEDED
    assert end_of(blocker).status is JobStatus.STOPPED


@pytest.mark.parametrize("seed", range(20))
def test_node_killed_at_any_moment_of_a_jobs_life_loses_no_accepted_job(
    node: dict[str, Any], seed: int, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    accepted: list[str] = []
    process = process_of(node)
    deadline = time.monotonic() + rng.random() * 0.12
    cluster = LocalCluster("auto")
    try:
        while time.monotonic() < deadline:
            number = len(accepted)
            script = f"echo run >> {tmp_path}/{number}; sleep 0.0{rng.randrange(10)}; exit {number % 5}"
            request = JobRequest(name="x", entrypoint=Entrypoint.from_binary("sh", ["-c", script]), resources=NO_CPU)
            accepted.append(cluster.launch(request))
            if number == 0 and rng.random() < 0.5:
                break
        process.signal(signal.SIGKILL)
    except fray.NodeDiedError:
        pass
    eventually(lambda: not process.is_alive())
    start("--cpus", "2")
    for number, job in enumerate(accepted):
        info = end_of(job)
        assert (info.exit_code, info.status.value) == (number % 5, "failed" if number % 5 else "succeeded"), info
        assert (tmp_path / str(number)).read_text() == "run\n", "each job ran once"


def test_killed_supervisor_is_a_preemption_and_its_job_runs_again(node: dict[str, Any], tmp_path: Path) -> None:
    script = (
        f"echo x >> {tmp_path}/runs; if [ $(wc -l < {tmp_path}/runs) = 1 ]; then setsid sleep 1000 & sleep 1000; fi"
    )
    job = launch(script)
    eventually(lambda: [p for p in marked_processes(current_marker()) if p.command.startswith("sleep")])
    supervisor = next(p for p in marked_processes(current_marker()) if "fray-supervisor" in p.command)
    supervisor.signal(signal.SIGKILL)
    assert end_of(job).status is JobStatus.SUCCEEDED
    assert (tmp_path / "runs").read_text() == "x\nx\n"
    eventually(lambda: not [p for p in marked_processes(current_marker()) if p.command.startswith("sleep")])


def test_stopping_the_node_stops_its_jobs(node: dict[str, Any]) -> None:
    job = launch("setsid sleep 1000 & sleep 1000")
    eventually(lambda: LocalCluster("auto").poll(job).status is JobStatus.RUNNING)
    command("stop").ok()
    eventually(lambda: not [p for p in marked_processes(current_marker()) if "sleep" in p.command])
    start()
    info = LocalCluster("auto").poll(job)
    assert (info.status, info.error_message) == (JobStatus.STOPPED, "the node was stopped")


def test_damaged_database_is_moved_aside_and_read_from_the_folders_and_said(node: dict[str, Any]) -> None:
    job = launch("exit 4")
    assert end_of(job).exit_code == 4
    kill(node)
    database = home() / "jobs" / "jobs.db"
    database.write_bytes(b"this is no database" * 1000)
    for rest in ("-wal", "-shm"):
        database.with_name(database.name + rest).unlink(missing_ok=True)
    start()
    info = LocalCluster("auto").poll(job)
    assert (info.status, info.exit_code) == (JobStatus.FAILED, 4)
    assert [path for path in (home() / "jobs").iterdir() if path.name.startswith("jobs.db.damaged-")]
    assert "records of jobs were damaged" in (home() / "logs" / "node.log").read_text()


def test_first_job_of_a_new_home_leaves_nothing_to_complain_of(node: dict[str, Any]) -> None:
    assert end_of(launch("exit 0")).exit_code == 0
    assert report()["job_records"] == {"trouble": "", "rebuilt": ""}
    kill(node)
    start()
    assert report()["job_records"] == {"trouble": "", "rebuilt": ""}


def test_missing_database_is_read_from_the_folders_and_said(node: dict[str, Any], tmp_path: Path) -> None:
    ended = launch("exit 4")
    running = launch(f"until [ -e {tmp_path}/go ]; do sleep 0.02; done; exit 5")
    assert end_of(ended).exit_code == 4
    eventually(lambda: LocalCluster("auto").poll(running).status is JobStatus.RUNNING)
    kill(node)
    for name in ("jobs.db", "jobs.db-wal", "jobs.db-shm"):
        (home() / "jobs" / name).unlink(missing_ok=True)
    start()
    assert LocalCluster("auto").poll(ended).exit_code == 4
    assert LocalCluster("auto").poll(running).status is JobStatus.RUNNING
    (tmp_path / "go").touch()
    assert end_of(running).exit_code == 5
    assert "jobs.db was not there; 2 jobs are known again" in (home() / "logs" / "node.log").read_text()
    assert "was not there" in command("status").ok()


def test_record_that_cannot_be_read_is_taken_from_its_folder(node: dict[str, Any]) -> None:
    job = launch("exit 4")
    assert end_of(job).exit_code == 4
    kill(node)
    with contextlib.closing(sqlite3.connect(home() / "jobs" / "jobs.db")) as database, database:
        database.execute("UPDATE job SET record = 'no record'")
    start()
    assert LocalCluster("auto").poll(job).exit_code == 4
    assert f"the record of the job {job} cannot be read" in (home() / "logs" / "node.log").read_text()


def test_sync_that_fails_takes_no_more_jobs_and_those_that_run_go_on(tmp_path: Path) -> None:
    node = start("--cpus", "2", env={"FRAY_FAULT": "records_sync:2+"})
    job = launch(f"until [ -e {tmp_path}/go ]; do sleep 0.02; done; exit 6")
    eventually(lambda: LocalCluster("auto").poll(job).status is JobStatus.RUNNING)
    with pytest.raises(fray.FrayError, match="the job cannot be taken"):
        launch("true")
    assert "disk I/O error" in command("status").ok()
    (tmp_path / "go").touch()
    assert end_of(job).exit_code == 6
    kill(node)
    start()
    assert end_of(job).exit_code == 6, "the supervisor had written it down"


@pytest.fixture
def small_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home on a file system of 8 MiB."""
    folder = tempfile.mkdtemp(prefix="fray-disk-")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "fray", folder], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        os.rmdir(folder)
        pytest.skip("file systems cannot be mounted here")
    monkeypatch.setenv("FRAY_HOME", f"{folder}/home")
    os.mkdir(f"{folder}/home", 0o700)
    yield Path(folder)
    fray.shutdown()
    command("stop", "--force")
    subprocess.run(["umount", "-l", folder], check=True)
    os.rmdir(folder)


def test_full_disk_loses_output_with_a_mark_and_nothing_else(small_disk: Path, tmp_path: Path) -> None:
    start("--cpus", "2")
    job = launch(
        f"echo first; until [ -e {tmp_path}/full ]; do sleep 0.02; done; head -c 3000000 /dev/zero | tr '\\0' x; "
        f"echo; touch {tmp_path}/written; until [ -e {tmp_path}/free ]; do echo more; sleep 0.02; done; "
        "echo last; exit 6"
    )
    eventually(lambda: LocalCluster("auto").logs(job) == "first\n")
    filler = small_disk / "filler"
    with filler.open("wb") as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(1 << 16))
            file.flush()
    with contextlib.suppress(OSError), filler.open("ab", buffering=0) as file:
        while True:
            file.write(bytes(512))
    with pytest.raises(fray.FrayError, match=r"the job cannot be taken: .*(disk is full|No space left)"):
        launch("true")
    (tmp_path / "full").touch()
    eventually(lambda: (tmp_path / "written").exists())  # the job does not wait for the disk
    assert "more" not in LocalCluster("auto").logs(job)
    filler.unlink()
    eventually(lambda: LocalCluster("auto").logs(job).endswith("more\n"))
    (tmp_path / "free").touch()
    assert end_of(job).exit_code == 6
    text = LocalCluster("auto").logs(job)
    assert text.startswith("first\n")
    assert "bytes of this output are missing here]" in text
    assert text.endswith("last\n")
    assert end_of(launch("exit 3")).exit_code == 3


def test_lost_folder_of_a_job_does_not_keep_the_node_from_starting(node: dict[str, Any]) -> None:
    job = launch("sleep 1000")
    eventually(lambda: LocalCluster("auto").poll(job).status is JobStatus.RUNNING)
    LocalCluster("auto").terminate(job)
    end_of(job)
    kill(node)
    shutil.rmtree(home() / "jobs" / job)
    start()
    assert LocalCluster("auto").poll(job).status is JobStatus.STOPPED
    assert LocalCluster("auto").logs(job) == ""


def test_full_disk_refuses_submissions_and_running_jobs_go_on(tmp_path: Path) -> None:
    start("--cpus", "2", env={"FRAY_FAULT": "records_full:3-200"})
    job = launch(f"until [ -e {tmp_path}/go ]; do sleep 0.02; done; exit 6")
    eventually(lambda: LocalCluster("auto").poll(job).status is JobStatus.RUNNING)
    with pytest.raises(fray.FrayError, match="the disk is full"):
        launch("true")
    (tmp_path / "go").touch()
    assert end_of(job).exit_code == 6
    assert [info.job_id for info in LocalCluster("auto").list_jobs()] == [job]


@pytest.fixture
def full_log() -> Callable[[Path], None]:
    """Make a log that takes no line, as on a full disk."""

    def make(path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            os.mknod(path, stat.S_IFCHR | 0o600, os.stat("/dev/full").st_rdev)
            path.open("w").close()
        except PermissionError:
            pytest.skip("devices cannot be made here")

    return make


def test_node_whose_log_takes_no_line_goes_on(tmp_path: Path, full_log: Callable[[Path], None]) -> None:
    full_log(home() / "logs" / "node.log")
    process = process_of(start("--cpus", "2", env={"FRAY_FAULT": "records_full:3-5"}))
    job = launch(f"until [ -e {tmp_path}/go ]; do sleep 0.02; done; exit 6")  # its records are what cannot be kept
    (tmp_path / "go").touch()
    assert end_of(job).exit_code == 6
    assert process.is_alive()


def test_exit_code_is_kept_when_neither_it_nor_a_line_of_log_can_be_written_for_a_while(
    tmp_path: Path, full_log: Callable[[Path], None]
) -> None:
    start("--cpus", "1", env={"FRAY_FAULT": "report_write:1-3"})
    before = launch(f"until [ -e {tmp_path}/go ]; do sleep 0.02; done", resources=ResourceConfig.with_cpu(cpu=1))
    job = launch("exit $((6 + FRAY_JOB_ATTEMPT))", resources=ResourceConfig.with_cpu(cpu=1))
    full_log(home() / "jobs" / job / "attempt-1" / "supervisor.log")
    (tmp_path / "go").touch()
    assert end_of(before).exit_code == 0
    assert end_of(job).exit_code == 7


def test_thousand_records_are_back_after_a_crash(node: dict[str, Any]) -> None:
    jobs = [launch("true", name=f"n{number}") for number in range(100)]
    for job in jobs:
        end_of(job)
    kill(node)
    start()
    assert [info.job_id for info in LocalCluster("auto").list_jobs()] == jobs


def test_jobs_that_ended_long_ago_are_forgotten_with_their_folders_and_running_ones_are_not() -> None:
    start("--cpus", "2", env={"FRAY_KEEP_JOBS_DAYS": "0.00001"})
    running = launch("sleep 1000")
    ended = launch("true")
    with contextlib.suppress(fray.JobNotFoundError):  # it may be forgotten before this process hears of its end
        end_of(ended)
    eventually(lambda: [info.job_id for info in LocalCluster("auto").list_jobs()] == [running])
    eventually(lambda: not (home() / "jobs" / ended).exists())
    assert LocalCluster("auto").poll(running).status is JobStatus.RUNNING


def test_setting_that_is_no_number_keeps_the_node_from_starting() -> None:
    refused = command("start", env={"FRAY_KEEP_JOBS": "many"})
    assert refused.code != 0
    assert "FRAY_KEEP_JOBS must be a whole number" in refused.stderr


def test_job_of_higher_priority_starts_first(node: dict[str, Any], tmp_path: Path) -> None:
    submit = ("job", "submit", "--no-wait", "--cpus", "2")
    blocker = command(*submit, "--", "sleep", "1000").stdout.strip()
    for name, priority in (("low", "-1"), ("usual", "0"), ("high", "7")):
        command(*submit, "--id", name, "--priority", priority, "--", "sh", "-c", f"echo {name} >> {tmp_path}/order")
    eventually(lambda: LocalCluster("auto").poll(blocker).status is JobStatus.RUNNING, what="nobody makes way")
    command("job", "stop", blocker).ok()
    for name in ("low", "usual", "high"):
        end_of(name)
    assert (tmp_path / "order").read_text().split() == ["high", "usual", "low"]


def test_job_larger_than_the_started_node_is_refused(node: dict[str, Any]) -> None:
    with pytest.raises(InfeasibleError, match="ask for less, or start the node with more"):
        LocalCluster("auto").launch(
            JobRequest(name="x", entrypoint=Entrypoint.from_binary("true"), resources=ResourceConfig(cpu=99))
        )


def test_environment_of_a_job_is_kept_private_and_removed_at_its_end(node: dict[str, Any], tmp_path: Path) -> None:
    job = launch(f"until [ -e {tmp_path}/go ]; do sleep 0.02; done")
    folder = home() / "jobs" / job
    assert (folder / "environment").stat().st_mode & 0o777 == 0o600
    assert "environment" not in json.loads((folder / "spec.json").read_text())["spec"]
    (tmp_path / "go").touch()
    end_of(job)
    assert not (folder / "environment").exists()
