"""The output of jobs, as it comes and to its end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.iris.conftest import Cluster, client_of
from tests.iris.controller import Controller
from tests.waiting import LONG_PATIENCE, eventually


def test_both_streams_come_line_by_line(cluster: Cluster) -> None:
    job = cluster.submit("echo out; echo err >&2; printf 'no end of line'")
    log = cluster.jobs.follow(job)
    found: list[tuple[str, str]] = []
    while (lines := log.read(5)) is not None:
        found += [(line[3], line[5]) for line in lines]
        assert all(line[:3] == (job, 0, 0) and line[4] > 0 for line in lines)
    assert sorted(found) == [("stderr", "err"), ("stdout", "no end of line"), ("stdout", "out")]


def test_output_comes_while_the_job_runs(cluster: Cluster) -> None:
    job = cluster.submit("echo first; sleep 600")
    log = cluster.jobs.follow(job)
    found: list[str] = []

    def read() -> bool:
        found.extend(line[5] for line in log.read(1) or [])
        return bool(found)

    eventually(read, LONG_PATIENCE, every=0.02)
    assert found == ["first"]
    assert cluster.jobs.states([job])[job] == "RUNNING"
    cluster.jobs.stop(job)


def test_attempts_follow_each_other_in_one_log(cluster: Cluster) -> None:
    job = cluster.submit('echo "${IRIS_TASK_ID##*/}"; test "${IRIS_TASK_ID##*:}" = 1', max_retries_failure=1)
    assert cluster.lines(job) == ["0", "0:1"]


def test_lines_that_workers_send_late_stand_where_they_were_written(
    own: Cluster, stand_in: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = stand_in.logs.add
    held: list[tuple[str, list[tuple[str, str, int]]]] = []
    monkeypatch.setattr(stand_in.logs, "add", lambda key, lines: held.append((key, lines)))
    job = own.submit('echo "${IRIS_TASK_ID##*/}"; test "${IRIS_TASK_ID##*:}" = 1', max_retries_failure=1)
    own.jobs.wait(job, 30)
    eventually(lambda: sum(len(lines) for _, lines in held) == 2, LONG_PATIENCE, every=0.02)
    for key, lines in reversed(held):
        add(key, lines)
    assert own.lines(job) == ["0", "0:1"]


def test_the_lines_of_all_replicas_come(cluster: Cluster) -> None:
    job = cluster.submit('for i in 1 2 3; do echo "$IRIS_TASK_ID $i"; done', replicas=3)
    lines = cluster.lines(job)
    assert sorted(lines) == [f"{job}/{task} {i}" for task in range(3) for i in (1, 2, 3)]
    for task in range(3):
        mine = [line for line in lines if line.startswith(f"{job}/{task} ")]
        assert mine == sorted(mine)


def test_children_are_left_out_unless_they_are_wanted(cluster: Cluster) -> None:
    parent = cluster.submit("echo parent; sleep 600")
    child = cluster.submit("echo child", parent=parent)
    cluster.jobs.wait(child, 60)
    assert cluster.lines(child) == ["child"]
    cluster.jobs.stop(parent)
    assert cluster.lines(parent) == ["parent"]
    assert sorted(cluster.lines(parent, with_children=True)) == ["child", "parent"]


def test_a_log_goes_on_from_a_cursor(cluster: Cluster, tmp_path: Path) -> None:
    door = tmp_path / "door"
    job = cluster.submit(f"echo one; until test -e {door}; do sleep 0.02; done; echo two")
    log = cluster.jobs.follow(job)
    first: list[str] = []
    while not first:
        first = [line[5] for line in log.read(5) or []]
    assert first == ["one"]
    door.touch()
    assert cluster.lines(job, log.cursor) == ["two"]


def test_a_log_of_thousands_of_lines_is_whole(cluster: Cluster) -> None:
    job = cluster.submit("seq 1 5000")
    assert cluster.lines(job) == [str(i) for i in range(1, 5001)]


def test_bytes_that_are_no_text_end_the_task(cluster: Cluster, tmp_path: Path) -> None:
    door = tmp_path / "door"
    job = cluster.submit(rf"echo before; until test -e {door}; do sleep 0.02; done; printf 'a\377b\n'; sleep 600")
    log = cluster.jobs.follow(job)
    eventually(lambda: log.read(1), LONG_PATIENCE, every=0.02)
    door.touch()
    details = cluster.jobs.wait(job, 60)
    assert (details["state"], details["exit_code"]) == ("FAILED", 1)
    assert "can't decode byte 0xff" in details["error"]
    assert cluster.lines(job) == ["before"]


def test_lines_that_come_after_the_end_of_the_job_are_not_lost(
    start: Callable[..., Controller], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FRAY_IRIS_LATE_SECONDS", raising=False)
    controller = start()
    own = Cluster(controller.url, client_of(controller.url))
    add, fetch = controller.logs.add, controller.logs.fetch
    held: list[tuple[str, list[tuple[str, str, int]]]] = []

    def add_after(request: Any) -> Any:
        answer = fetch(request)
        while held:
            add(*held.pop(0))
        return answer

    monkeypatch.setattr(controller.logs, "add", lambda key, lines: held.append((key, lines)))
    job = own.submit("echo last words")
    own.jobs.wait(job, 30)
    monkeypatch.setattr(controller.logs, "fetch", add_after)  # they come when the log was read after the end
    assert own.lines(job) == ["last words"]


@pytest.mark.parametrize("seconds", ["soon", "-1", "nan", "1.5 s"])
def test_a_rest_that_is_no_number_of_seconds_is_refused(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, seconds: str
) -> None:
    job = cluster.submit("true")
    monkeypatch.setenv("FRAY_IRIS_LATE_SECONDS", seconds)
    with pytest.raises(ValueError, match=f"FRAY_IRIS_LATE_SECONDS must be a number of seconds.*'{seconds}'"):
        cluster.lines(job)


def test_a_controller_that_is_away_loses_no_line_and_repeats_none(own: Cluster, stand_in: Controller) -> None:
    job = own.submit("for i in $(seq 1 40); do echo $i; sleep 0.03; done")
    log = own.jobs.follow(job)
    found: list[str] = []
    while len(found) < 5:
        found += [line[5] for line in log.read(5) or []]
    stand_in.go_away()
    eventually(lambda: stand_in.jobs.get(job).is_over, LONG_PATIENCE, every=0.02)  # its tasks go on meanwhile
    stand_in.come_back()
    while (lines := log.read(5)) is not None:
        found += [line[5] for line in lines]
    assert found == [str(i) for i in range(1, 41)]
