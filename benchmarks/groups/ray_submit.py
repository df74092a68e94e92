"""Submitting a job to Ray: the client in C++ beside Ray's own `JobSubmissionClient`, each in a new process."""

from __future__ import annotations

import json
import time

from benchmarks.bench import Bench
from benchmarks.measurement import Measurement
from benchmarks.program import Program
from benchmarks.row import Round, Row

_LOOK_SECONDS = 0.1


def ray_submit(bench: Bench) -> Round:
    """Milliseconds from the client's making to the answer, and the most memory that its process had."""
    head = bench.closing.enter_context(Program("ray_head", "dashboard"))
    url = head.answer()
    order = ["fray", "ray"]

    def one_round() -> Measurement:
        found: dict[str, dict[str, float]] = {}
        for name in order:
            found[name] = _submit(name, url)
        order.reverse()
        ours, theirs = found["fray"], found["ray"]
        more = {f"fray_{key}": ours[key] for key in ("process_ms", "peak_mb")}
        more |= {f"ray_{key}": theirs[key] for key in ("submit_ms", "process_ms", "peak_mb")}
        return Measurement(ours["submit_ms"], more)

    return one_round


def _submit(name: str, url: str) -> dict[str, float]:
    """Submit a job and wait for its end, so that it is in nobody's way."""
    from fray._ray_jobs import RayJobs

    start = time.perf_counter()
    with Program(f"submit_{name}", url) as program:
        found = json.loads(program.answer())
    found["process_ms"] = 1e3 * (time.perf_counter() - start)
    jobs, job = RayJobs(url), found.pop("job")
    while jobs.status(job) in ("PENDING", "RUNNING"):
        time.sleep(_LOOK_SECONDS)
    return found


ROWS = (
    Row(
        "ray_submit",
        "ms",
        "lower",
        "submit `true` to Ray's dashboard from a new process; ray_: JobSubmissionClient",
        ray_submit,
        peers=("fray",),
        rounds={"fray": 7},
        timeout_seconds=180,
    ),
)
