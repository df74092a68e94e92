"""What happens to work that nobody looks at, or whose worker dies."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.measurement import Measurement, percentile
from benchmarks.payloads import append_byte, stay_unless_retried
from benchmarks.row import Round, Row
from benchmarks.target import AtLeast, AtMost

SUBMITTED = 500
PATIENCE_SECONDS = 20.0


def submitted_never_fetched(bench: Bench) -> Round:
    """How many of 500 tasks run though the driver only sleeps; each appends a byte to a file."""
    submit = bench.engine().bind(append_byte)
    folder = _folder(bench)

    def one_round() -> Measurement:
        path = _new_path(folder)
        start = time.perf_counter()
        refs = [submit(str(path)) for _ in range(SUBMITTED)]
        _poll(lambda: path.exists() and path.stat().st_size >= SUBMITTED)
        figures = {"ms": (time.perf_counter() - start) * 1e3}
        del refs
        return Measurement(float(path.stat().st_size), figures)

    return one_round


def retry_after_kill(bench: Bench) -> Round:
    """Milliseconds from SIGKILL of a worker to the start of its task's second attempt; median of a round's kills."""
    engine = bench.engine()
    submit = engine.bind_retrying(stay_unless_retried)
    folder = _folder(bench)
    kills = bench.size(10, 2)

    def one_kill() -> float:
        path = _new_path(folder)
        ref = submit(str(path))
        pid, _ = _attempts(path, 1)[0]
        if pid == os.getpid():
            raise RuntimeError("the task runs in the driver; there is no worker to kill")
        killed_ns = time.monotonic_ns()
        os.kill(pid, signal.SIGKILL)
        _, retried_ns = _attempts(path, 2)[1]
        engine.get(ref)
        return (retried_ns - killed_ns) / 1e6

    def one_round() -> Measurement:
        milliseconds = [one_kill() for _ in range(kills)]
        return Measurement(percentile(milliseconds, 0.5), {"largest_ms": max(milliseconds)})

    return one_round


def _attempts(path: Path, count: int) -> list[tuple[int, int]]:
    """Wait for so many attempts; return (pid, start in ns) of each."""

    def lines() -> list[bytes]:
        return path.read_bytes().splitlines() if path.exists() else []

    if not _poll(lambda: len(lines()) >= count):
        raise TimeoutError(f"no attempt {count} within {PATIENCE_SECONDS:g} s")
    return [(int(pid), int(start_ns)) for pid, start_ns in (line.split() for line in lines())]


def _poll(reached: Callable[[], bool]) -> bool:
    """Look every millisecond, as long as patience lasts."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not reached():
        if time.monotonic() > end:
            return False
        time.sleep(1e-3)
    return True


def _folder(bench: Bench) -> Path:
    return Path(bench.closing.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))


def _new_path(folder: Path) -> Path:
    return folder / str(time.monotonic_ns())


ROWS = (
    Row(
        "submitted_never_fetched",
        "tasks",
        "higher",
        "how many of 500 submitted and never fetched tasks run",
        submitted_never_fetched,
        peers=("fray", "ray", "pool"),
        targets=(AtLeast(SUBMITTED),),
        rounds={"fray": 3, "ray": 3, "pool": 3},
    ),
    Row(
        "retry_after_kill",
        "ms",
        "lower",
        "from SIGKILL of a worker to the start of the retry",
        retry_after_kill,
        targets=(AtMost(5),),
        timeout_seconds=240,
    ),
)
