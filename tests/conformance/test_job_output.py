"""What jobs print, read while they run and after their end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import pytest
from fray import JobStatus
from fray.cluster import Cluster

from tests.conformance import job_functions
from tests.conformance.clusters import PATIENCE, function, program, python, shell
from tests.conformance.gates import Gate

TALK = "echo hello; echo to stderr >&2; sh -c 'echo from a child'"


@pytest.mark.behaviour("J050")
def test_the_output_is_what_everybody_in_the_job_prints(cluster: Cluster) -> None:
    job, called = cluster.launch(shell(TALK)), cluster.launch(function(job_functions.talk, "hello"))
    cluster.wait([job, called], raise_on_failure=True, timeout=PATIENCE)
    assert {"hello", "to stderr", "from a child"} <= set(cluster.logs(job).splitlines())
    assert sorted(cluster.logs(called).splitlines()) == ["from a child", "from the descriptor", "hello", "to stderr"]
    for one in (job, called):
        assert sorted("".join(cluster.follow(one)).splitlines()) == sorted(cluster.logs(one).splitlines())


@pytest.mark.behaviour("J051")
def test_the_output_of_a_program_is_nothing_else(cluster: Cluster) -> None:
    silent, talking = cluster.launch(program("true")), cluster.launch(program("printf", "a\\000b\\r\\n\\n c"))
    cluster.wait([silent, talking], raise_on_failure=True, timeout=PATIENCE)
    assert (cluster.logs(silent), cluster.logs(talking)) == ("", "a\0b\r\n\n c")
    assert list(cluster.follow(silent)) == []


@pytest.mark.behaviour("J052")
def test_a_large_output_arrives_whole(cluster: Cluster) -> None:
    expected = [f"{number:06} " + "x" * 93 for number in range(20_000)]
    code = "for n in range(20_000): print(f'{n:06} ' + 'x' * 93)"
    for job in (cluster.launch(python(code)), cluster.launch(function(job_functions.print_many, 20_000))):
        followed = "".join(cluster.follow(job))
        cluster.wait(job, raise_on_failure=True, timeout=PATIENCE)
        for text in (followed, cluster.logs(job)):
            assert [line for line in text.splitlines() if line.endswith("xxx")] == expected


@pytest.mark.behaviour("J053")
def test_bytes_of_a_function_that_are_no_text_are_marked(cluster: Cluster) -> None:
    jobs = [
        cluster.launch(function(job_functions.write_bytes, data))
        for data in (b"a\0b\xff\r\n\xc3", "é日😀\n".encode() * 40_000)
    ]
    cluster.wait(jobs, raise_on_failure=True, timeout=PATIENCE)
    assert cluster.logs(jobs[0]) == "a\0b\ufffd\r\n\ufffd"
    assert cluster.logs(jobs[1]) == "é日😀\n" * 40_000


@pytest.mark.behaviour("J053B")
def test_bytes_of_a_program_that_are_no_text_are_marked(cluster: Cluster) -> None:
    job = cluster.launch(program("printf", "a\\000b\\377\\n\\303"))
    cluster.wait(job, raise_on_failure=True, timeout=PATIENCE)
    assert cluster.logs(job) == "".join(cluster.follow(job)) == "a\0b\ufffd\n\ufffd"


@pytest.mark.behaviour("J054")
def test_a_last_line_without_an_end_arrives(cluster: Cluster) -> None:
    jobs = [cluster.launch(program("printf", "one\\ntwo")), cluster.launch(function(print, "one\ntwo", name="f"))]
    jobs.append(cluster.launch(function(job_functions.write_bytes, b"one\ntwo")))
    cluster.wait(jobs, raise_on_failure=True, timeout=PATIENCE)
    assert "one\ntwo" in cluster.logs(jobs[0])
    assert "one\ntwo" in "".join(cluster.follow(jobs[0]))
    assert [cluster.logs(job) for job in jobs[1:]] == ["one\ntwo\n", "one\ntwo"]
    assert ["".join(cluster.follow(job)) for job in jobs[1:]] == ["one\ntwo\n", "one\ntwo"]


@pytest.mark.behaviour("J055")
def test_lines_of_replicas_say_whose_they_are(cluster: Cluster) -> None:
    job = cluster.launch(function(job_functions.write_bytes, b"first\n\n10%\r20%\nlast", replicas=3))
    cluster.wait(job, raise_on_failure=True, timeout=PATIENCE)
    lines = ("first", "", "10%\r20%", "last")
    expected = sorted(["", *(f"[replica-{n}] {line}" for n in range(3) for line in lines)])
    assert sorted(cluster.logs(job).split("\n")) == expected
    assert sorted("".join(cluster.follow(job)).split("\n")) == expected


@pytest.mark.behaviour("J056")
@pytest.mark.parametrize("kind", ["program", "function"])
def test_lines_are_followed_while_the_job_runs(cluster: Cluster, gate: Callable[[], Gate], kind: str) -> None:
    end = gate()
    if kind == "program":
        job = cluster.launch(
            python("import sys; print('first'); open(sys.argv[1]).read(); print('last words', end='')", end.path)
        )
    else:
        job = cluster.launch(function(job_functions.print_and_wait, "first", end))
    texts: list[str] = []
    other = threading.Thread(target=lambda: texts.extend(cluster.follow(job)))
    other.start()
    followed = cluster.follow(job)
    seen = ""
    while "first\n" not in seen:
        seen += next(followed)
    assert cluster.poll(job).status is JobStatus.RUNNING
    assert "first\n" in cluster.logs(job)
    end.open()
    seen += "".join(followed)
    other.join(PATIENCE)
    assert not other.is_alive()
    assert "last words" in seen
    assert "".join(texts) == seen == "".join(cluster.follow(job)) == cluster.logs(job)
    assert cluster.wait(job, timeout=PATIENCE).status is JobStatus.SUCCEEDED


@pytest.mark.behaviour("J056")
def test_following_ends_with_a_job_that_is_terminated(cluster: Cluster) -> None:
    jobs = [
        cluster.launch(python("import time; print('up'); time.sleep(3600)")),
        cluster.launch(function(job_functions.sleep_for_ever)),
    ]
    for job in jobs:
        followed = cluster.follow(job)
        while "up" not in (text := next(followed)) and "asleep" not in text:
            pass
        cluster.terminate(job)
        list(followed)
    assert [info.status for info in cluster.wait(jobs, timeout=PATIENCE)] == [JobStatus.STOPPED] * 2


@pytest.mark.behaviour("J057")
def test_monitor_shows_the_lines_and_tells_the_end(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    job, called = cluster.launch(shell("echo one; printf two; exit 3")), cluster.launch(function(print, "one\ntwo"))
    with caplog.at_level(logging.INFO, logger="fray"):
        assert cluster.monitor(job).exit_code == 3
        assert cluster.monitor(called).status is JobStatus.SUCCEEDED
    lines = [record.getMessage() for record in caplog.records]
    assert f"[{job}] one" in lines and any(line.startswith(f"[{job}] two") for line in lines)
    assert [line for line in lines if line.startswith(f"[{called}]")] == [f"[{called}] one", f"[{called}] two"]
