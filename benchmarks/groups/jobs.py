"""Jobs: whole programs, from the submission to the end, their status, their output, and their records after a crash."""

from __future__ import annotations

import os
import signal
import time
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from statistics import median

from benchmarks.bench import Bench
from benchmarks.engines.job_clusters import RayJobs, StartedNode, ray_jobs, resident_megabytes, started_node
from benchmarks.groups.startup import true_start
from benchmarks.measurement import Measurement, percentile
from benchmarks.row import Round, Row
from benchmarks.target import AtMost
from benchmarks.timing import seconds_of

FLOOD_MEGABYTES = 500
JOBS = 1000


def _cluster(bench: Bench) -> StartedNode | RayJobs:
    return bench.closing.enter_context(started_node() if bench.peer == "fray" else ray_jobs())


def job_true(bench: Bench) -> Round:
    """Milliseconds from the submission of `true` to its success, in the median of many."""
    cluster, count = _cluster(bench), bench.size(50 if bench.peer == "fray" else 5, 2)

    def once() -> None:
        job = cluster.run("true")
        cluster.cluster.wait(job) if isinstance(cluster, StartedNode) else cluster.wait(job)

    def one_round() -> Measurement:
        times = [seconds_of(once) * 1e3 for _ in range(count)]
        return Measurement(median(times), {"p99_ms": percentile(times, 0.99)})

    return one_round


def jobs_1000(bench: Bench) -> Round:
    """Seconds from the first submission to the end of the last of 1000 jobs, and what the node weighs then."""
    node = bench.closing.enter_context(started_node())
    count = bench.size(JOBS, 20)

    def one_round() -> Measurement:
        seconds = seconds_of(lambda: node.cluster.wait([node.run("true") for _ in range(count)]))
        return Measurement(seconds, {"node_mb": resident_megabytes(node.pid)})

    return one_round


def job_status(bench: Bench) -> Round:
    """Microseconds of one call that asks how a job is doing."""
    cluster, count = _cluster(bench), bench.size(300, 10)
    job = cluster.run("true")
    ask = cluster.cluster.poll if isinstance(cluster, StartedNode) else cluster.client.get_job_info

    def one_round() -> Measurement:
        times = [seconds_of(ask, job) * 1e6 for _ in range(count)]
        return Measurement(median(times), {"p99_us": percentile(times, 0.99)})

    return one_round


def http_status(bench: Bench) -> Round:
    """Microseconds of one GET of the node's status, on a connection that is kept."""
    node = bench.closing.enter_context(started_node())
    connection = bench.closing.enter_context(closing(HTTPConnection(node.url.removeprefix("http://"))))
    headers, count = {"Authorization": f"Bearer {node.token}"}, bench.size(300, 10)

    def ask() -> None:
        connection.request("GET", "/api/v1/status", headers=headers)
        answer = connection.getresponse()
        if answer.status != 200 or not answer.read().startswith(b"{"):
            raise RuntimeError(f"the node answered {answer.status}")

    def one_round() -> Measurement:
        times = [seconds_of(ask) * 1e6 for _ in range(count)]
        return Measurement(median(times), {"p99_us": percentile(times, 0.99)})

    return one_round


def log_follow_delay(bench: Bench) -> Round:
    """Milliseconds from the moment when a job prints a line to its arrival at whoever follows."""
    node = bench.closing.enter_context(started_node())
    count = bench.size(100, 5)
    script = f"import time\nfor _ in range({count}):\n  print(time.time_ns(), flush=True)\n  time.sleep(0.01)\n"

    def one_round() -> Measurement:
        delays = [
            (time.time_ns() - int(line)) / 1e6
            for text in node.cluster.follow(node.run("python3", "-c", script))
            for line in text.split()
        ]
        return Measurement(median(delays), {"p99_ms": percentile(delays, 0.99)})

    return one_round


def log_flood(bench: Bench) -> Round:
    """Most memory, in MB, of supervisor and node together, while a job prints 500 MB and somebody follows."""
    node = bench.closing.enter_context(started_node())
    megabytes = bench.size(FLOOD_MEGABYTES, 20)

    def one_round() -> Measurement:
        began = time.perf_counter()
        job = node.run("sh", "-c", f"yes 0123456789012345678901234567890 | head -c {megabytes}000000")
        most = 0.0
        while node.cluster.poll(job).status in ("pending", "running"):
            most = max(most, resident_megabytes(node.pid) + sum(map(_weight, _children(node.pid))))
            time.sleep(0.02)
        seconds = time.perf_counter() - began
        return Measurement(most, {"mb_per_s": megabytes / seconds})

    return one_round


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _weight(pid: int) -> float:
    try:
        return resident_megabytes(pid)
    except OSError:
        return 0.0


def job_records_after_crash(bench: Bench) -> Round:
    """Milliseconds from the start of a node to its answer about 1000 jobs of the node that was killed before it."""
    node = bench.closing.enter_context(started_node())
    count = bench.size(JOBS, 20)
    node.cluster.wait([node.run("true") for _ in range(count)])

    def one_round() -> Measurement:
        os.kill(node.pid, signal.SIGKILL)
        while Path(f"/proc/{node.pid}").exists() and _is_alive(node.pid):
            time.sleep(0.001)
        seconds = seconds_of(node.start)
        seconds += seconds_of(lambda: _check(len(node.cluster.list_jobs()), count))
        return Measurement(seconds * 1e3)

    return one_round


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _check(found: int, expected: int) -> None:
    if found != expected:
        raise RuntimeError(f"{found} jobs came back of {expected}")


ROWS = (
    Row(
        "job_true",
        "ms",
        "lower",
        "submit `true` to a started node, to succeeded; median of 50",
        job_true,
        limit=true_start,
        targets=(AtMost(15),),
        rounds={"ray": 2},
        timeout_seconds=120,
    ),
    Row(
        "jobs_1000",
        "s",
        "lower",
        "1000 jobs `true`, from the first submission to the last end",
        jobs_1000,
        peers=("fray",),
        targets=(AtMost(10), AtMost(80, "node_mb")),
        rounds={"fray": 3},
        timeout_seconds=120,
    ),
    Row(
        "job_status",
        "us",
        "lower",
        "how is this job doing?",
        job_status,
        targets=(AtMost(1000),),
        rounds={"ray": 2},
        timeout_seconds=120,
    ),
    Row(
        "http_status",
        "us",
        "lower",
        "GET /api/v1/status on a kept connection",
        http_status,
        peers=("fray",),
        targets=(AtMost(1000),),
    ),
    Row(
        "log_follow_delay",
        "ms",
        "lower",
        "a line printed by a job, to whoever follows",
        log_follow_delay,
        peers=("fray",),
        targets=(AtMost(20),),
    ),
    Row(
        "log_flood",
        "MB",
        "lower",
        "memory of node and supervisor while a job prints 500 MB",
        log_flood,
        peers=("fray",),
        targets=(AtMost(64),),
        rounds={"fray": 3},
        timeout_seconds=120,
    ),
    Row(
        "job_records_after_crash",
        "ms",
        "lower",
        "kill -9 of the node, start, and the list of 1000 jobs",
        job_records_after_crash,
        peers=("fray",),
        targets=(AtMost(500),),
        rounds={"fray": 3},
        timeout_seconds=180,
    ),
)
