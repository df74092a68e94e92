"""The corpus job's map step in C++ beside the one in Python: the same files, one core, the same output."""

from __future__ import annotations

import os
import sys
import sysconfig
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench
from benchmarks.groups.limits import find_program
from benchmarks.measurement import Measurement
from benchmarks.row import Round, Row
from benchmarks.target import AtLeast

_EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
_BATCH_BYTES = 4 << 20


def map_step(bench: Bench) -> Round:
    """MB/s of text through the C++ step, until Python has its outcome; and how many times the Python step that is.

    Raises:
        RuntimeError: the two steps differ in what they learn.
    """
    sys.path.insert(0, str(_EXAMPLES))
    import corpus_native
    import corpus_steps
    import fray

    library = find_program("libcorpus_map.so")
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # and so the node and its workers
    root = Path(sysconfig.get_path("stdlib"))
    settings = corpus_steps.Settings(root, root)  # nothing is written
    batches = corpus_steps.split_into_batches(_sources(corpus_steps.find_files(root)[0]), _BATCH_BYTES)
    batches = batches[: bench.size(len(batches), 1)]
    ctx = bench.closing.enter_context(fray.init(cpus=1))

    def submit_cpp() -> list[fray.ObjectRef[Any]]:
        return corpus_native.submit_map(ctx, library, settings, batches)

    def take_in(learnt: Sequence[fray.ObjectRef[Any]]) -> list[fray.ObjectRef[Any]]:
        pairs = zip(batches, learnt, strict=True)
        return [ctx.run(corpus_native.take_in, settings, batch, one) for batch, one in pairs]

    def submit_python() -> list[fray.ObjectRef[Any]]:
        return [ctx.run(corpus_steps.read_batch, settings, batch) for batch in batches]

    def seconds_until_ready(submit: Callable[[], list[fray.ObjectRef[Any]]]) -> float:
        start = time.perf_counter()
        refs = submit()
        ctx.wait(refs, num_returns=len(refs))
        return time.perf_counter() - start

    text_bytes = 0
    for cpp, python in zip(take_in(submit_cpp()), submit_python(), strict=True):
        one, other = ctx.get(cpp), ctx.get(python)
        if _comparable(one) != _comparable(other):
            raise RuntimeError("the map step in C++ has another outcome than the one in Python")
        text_bytes += one[0]["bytes"]

    def one_round() -> Measurement:
        megabytes = text_bytes / 1e6
        cpp = megabytes / seconds_until_ready(lambda: take_in(submit_cpp()))
        alone = megabytes / seconds_until_ready(submit_cpp)
        python = megabytes / seconds_until_ready(submit_python)
        more = {"alone_mb_per_s": alone, "python_mb_per_s": python, "times_python": cpp / python}
        return Measurement(cpp, {**more, "megabytes": megabytes})

    return one_round


def _sources(files: Sequence[Any]) -> list[Any]:
    """Return those that every Python of this version has: its own sources."""
    return [file for file in files if file.path.endswith(".py") and "-packages/" not in file.path]


def _comparable(outcome: Sequence[Any]) -> list[Any]:
    figures, sketches, shingles, *documents = outcome
    arrays = (sketches.numbers, sketches.band_keys, shingles.numbers, shingles.ends, shingles.values)
    return [dict(figures), sketches.digests, [array.tobytes() for array in arrays], documents]


ROWS = (
    Row(
        "cpp_map_step",
        "MB/s",
        "higher",
        "the corpus job's map step in C++, with its way into Python's objects; one core, Python's own sources",
        map_step,
        peers=("fray",),
        targets=(AtLeast(5, "times_python"),),
        timeout_seconds=120,
    ),
)
