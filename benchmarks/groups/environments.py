"""What a runtime environment adds to the first task that runs in it."""

from __future__ import annotations

import os
import tempfile
import time
import zipfile
from itertools import count
from pathlib import Path

import fray

from benchmarks.bench import Bench
from benchmarks.engines import CPUS
from benchmarks.measurement import Measurement
from benchmarks.row import Round, Row
from benchmarks.target import AtMost


def env_cached(bench: Bench) -> Round:
    """Milliseconds that packages which are in the cache add to the first task of a worker key.

    Each round has two new keys: one differs in a variable only, the other names a package as well.
    """
    folder = Path(bench.closing.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
    os.environ["XDG_CACHE_HOME"] = str(folder)
    os.environ.pop("FRAY_HOME", None)
    _make_wheel(folder)
    context = bench.closing.enter_context(fray.init(cpus=CPUS))
    packages = ["fray-bench-probe", "--no-index", f"--find-links {folder}"]
    numbers = count()

    def first_task_ms(requirements: list[str]) -> float:
        env = fray.RuntimeEnv(package_requirements=requirements, env={"BENCH_KEY": str(next(numbers))})
        start = time.perf_counter()
        context.get(context.create_task(os.getpid, options=fray.TaskOptions(runtime_env=env)))
        return (time.perf_counter() - start) * 1e3

    built_ms = first_task_ms(packages)

    def one_round() -> Measurement:
        plain_ms = first_task_ms([])
        cached_ms = first_task_ms(packages)
        return Measurement(cached_ms - plain_ms, {"plain_ms": plain_ms, "cached_ms": cached_ms, "built_ms": built_ms})

    return one_round


def _make_wheel(folder: Path) -> None:
    about = "fray_bench_probe-1.0.dist-info"
    with zipfile.ZipFile(folder / "fray_bench_probe-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("fray_bench_probe.py", "")
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: fray-bench-probe\nVersion: 1.0\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")


ROWS = (
    Row(
        "env_cached",
        "ms",
        "lower",
        "what cached packages add to the first task in a new environment",
        env_cached,
        peers=("fray",),
        targets=(AtMost(200),),
    ),
)
