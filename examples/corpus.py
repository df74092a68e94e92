"""Turn a folder of text files into a clean, shuffled corpus: read, drop duplicates, count tokens, write shards.

    python examples/corpus.py INPUT --out DIR --seed N [--files N] [--compare] [--timeline FILE] [--native-map LIBRARY]

    INPUT ─▶ find files ─▶ batches                                        (arrows into a task are object refs)
                              │
              ┌───────────────┴──── read_batch, one task a batch ─────────────────┐
              │ sketches of documents          │ shingle sets                     │ texts, one list a shard
              ▼                                │                                  │
    find_exact_duplicates ──────────────────┐  │                                  │
              │ numbers                     │  │                                  │
              ▼                             │  │                                  │
    find_buckets, one task for 4 bands      │  │                                  │
              │ who may be alike            │  │                                  │
              ▼                             │  ▼                                  │
    split_candidates ──────▶ find_near_duplicates, 8 tasks                        │
                                            │ numbers                             │
                                            ▼                                     ▼
                                   merge_duplicates ─────────▶ write_shard, one task a shard ─▶ DIR/part-NNNNN.jsonl.gz
                                                                                  └─ reports ─▶ DIR/summary.json

All tasks are submitted at once; each starts when what it needs is there. Texts, shingles and sketches stay in shared
memory: this process holds refs to them, and receives only counts. The tasks that take long report them to an actor (see
corpus_status.py), which is where the progress line, the table and the summary have them from. Where the tasks run is no
matter of this file: set FRAY_CLUSTER_SPEC to `sync`, `thread?max_workers=2`, `local` (the default) or a cluster. The
output is the same.
"""

from __future__ import annotations

import argparse
import filecmp
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import corpus_native
import corpus_steps as steps
import fray
from corpus_status import JobStatus
from corpus_steps import Bucket, Document, File, Settings, Skip, Summary

BANDS_PER_TASK = 4
COMPARE_TASKS = 8


# ---- the job ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Submitted:
    """The refs that the driver waits for. It keeps no others, so memory is freed as soon as tasks are done with it."""

    read: Sequence[fray.ObjectRef[int]]
    compared: Sequence[fray.ObjectRef[steps.Numbers]]
    duplicates: fray.ObjectRef[steps.Duplicates]
    shards: Sequence[fray.ObjectRef[steps.ShardReport]]


def submit(
    ctx: fray.JobContext,
    settings: Settings,
    status: JobStatus,
    batches: Sequence[Sequence[File]],
    native_map: Path | None = None,
) -> Submitted:
    def task(function: Callable[..., object], *args: object, returns: int = 1) -> Any:
        return ctx.create_task(function, args=args, options=fray.TaskOptions(num_returns=returns))

    returns = 3 + settings.shards
    if native_map is None:
        batched = [task(read, status, part, settings, batch, returns=returns) for part, batch in enumerate(batches)]
    else:
        learnt = corpus_native.submit_map(ctx, native_map, settings, batches)
        batched = [
            task(take_in, status, part, settings, batch, learnt[part], returns=returns)
            for part, batch in enumerate(batches)
        ]
    parts, sketches, shingles, *texts = zip(*batched, strict=True)

    exact = task(steps.find_exact_duplicates, *sketches)
    bands = [range(first, first + BANDS_PER_TASK) for first in range(0, steps.BANDS, BANDS_PER_TASK)]
    buckets = [task(steps.find_buckets, some, exact, *sketches) for some in bands]
    candidates = task(steps.split_candidates, COMPARE_TASKS, *buckets, returns=COMPARE_TASKS)
    near = [task(compare, status, part, share, *shingles) for part, share in enumerate(candidates)]
    duplicates = task(steps.merge_duplicates, exact, *near)
    shards = [task(write, status, settings, shard, duplicates, *texts[shard]) for shard in range(settings.shards)]
    return Submitted(parts, near, duplicates, shards)


def read(status: JobStatus, part: int, settings: Settings, batch: Sequence[File]) -> tuple[object, ...]:
    figures, *objects = steps.read_batch(settings, batch)
    status.report("read", part, figures)
    return part, *objects


def take_in(
    status: JobStatus, part: int, settings: Settings, batch: Sequence[File], learnt: corpus_native.Learnt
) -> tuple[object, ...]:
    figures, *objects = corpus_native.take_in(settings, batch, learnt)
    status.report("read", part, figures)
    return part, *objects


def compare(status: JobStatus, part: int, share: Sequence[Bucket], *batches: steps.ShingleSets) -> steps.Numbers:
    duplicates = steps.find_near_duplicates(share, *batches)
    status.report("compare", part, {"duplicates": len(duplicates)})
    return duplicates


def write(
    status: JobStatus, settings: Settings, shard: int, duplicates: steps.Duplicates, *batches: list[Document]
) -> steps.ShardReport:
    report = steps.write_shard(settings, shard, duplicates, *batches)
    status.report("write", shard, {"documents": report.documents, "bytes": report.file_bytes})
    return report


def run_on_fray(ctx: fray.JobContext, settings: Settings, watch: Stopwatch, native_map: Path | None = None) -> Summary:
    files, skipped = steps.find_files(settings.root, settings.most_files)
    if not files:
        raise UsageError(f"{settings.root} holds no files")
    status = JobStatus.begin(ctx, settings.out)
    watch.lap("find")

    batches = steps.split_into_batches(files, settings.batch_bytes)
    submitted = submit(ctx, settings, status, batches, native_map)
    for _ in ctx.as_completed(submitted.read):
        done = status.totals("read")
        watch.show("read", f"{done['documents']:,} documents, {megabytes(done['bytes'])}")
    watch.lap("read")

    for _ in ctx.as_completed(submitted.compared):
        done = status.totals("compare")
        watch.show("compare", f"{done['parts']} of {COMPARE_TASKS} parts, {done['duplicates']:,} near duplicates")
    duplicates = ctx.get(submitted.duplicates)
    watch.lap("compare")

    for _ in ctx.as_completed(submitted.shards):
        done = status.totals("write")
        watch.show("write", f"{done['parts']} of {settings.shards} shards, {megabytes(done['bytes'])}")
    done = status.totals("read")
    summary = Summary(
        seed=settings.seed,
        skipped=skipped + Counter({reason: done[reason] for reason in Skip}),
        documents=done["documents"],
        bytes_read=done["bytes"],
        tokens_read=done["tokens"],
        exact_duplicates=len(duplicates.exact),
        near_duplicates=len(duplicates.near),
        shards=ctx.get(submitted.shards),
    )
    status.end()
    steps.write_summary(settings.out, summary)
    watch.lap("write")
    return summary


# ---- what the user sees ----------------------------------------------------------------------------------------------


class Stopwatch:
    """The time of each stage, and on a terminal one line that tells how far the present one is."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._started = time.perf_counter()

    @property
    def total(self) -> float:
        return sum(self.laps.values())

    def show(self, stage: str, state: str) -> None:
        if sys.stderr.isatty():
            seconds = time.perf_counter() - self._started
            print(f"\r\033[K{stage:8} {seconds:6.1f} s  {state}", end="", file=sys.stderr, flush=True)

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self.laps[stage] = now - self._started
        self._started = now
        start_of_line = "\r\033[K" if sys.stderr.isatty() else ""
        print(f"{start_of_line}{stage:8} {self.laps[stage]:6.1f} s", file=sys.stderr, flush=True)


def megabytes(size_bytes: float) -> str:
    return f"{size_bytes / 1e6:,.1f} MB"


def table(summary: Summary, watch: Stopwatch) -> list[tuple[str, str]]:
    skipped = ", ".join(f"{count:,} {reason}" for reason, count in summary.skipped.most_common())
    stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in watch.laps.items())
    return [
        ("files", f"{summary.files:,}"),
        ("skipped", skipped or "none"),
        ("documents", f"{summary.documents:,} of {megabytes(summary.bytes_read)}"),
        ("exact duplicates", f"{summary.exact_duplicates:,}"),
        ("near duplicates", f"{summary.near_duplicates:,}"),
        ("tokens", f"{summary.tokens_read:,}"),
        ("kept", f"{summary.kept:,} documents, {sum(shard.tokens for shard in summary.shards):,} tokens"),
        ("written", f"{len(summary.shards)} shards, {megabytes(sum(shard.file_bytes for shard in summary.shards))}"),
        ("time", f"{watch.total:.2f} s ({stages})"),
        ("speed", f"{megabytes(summary.bytes_read / watch.total)}/s"),
    ]


def compare_with_one_core(settings: Settings, watch: Stopwatch) -> tuple[list[tuple[str, str]], bool]:
    """Run the same tasks one by one in this process: the rows that this adds, and whether the output is the same."""
    alone = Stopwatch()
    with tempfile.TemporaryDirectory(prefix="corpus-") as folder, fray.LocalJobContext() as ctx:
        summary = run_on_fray(ctx, replace(settings, out=Path(folder)), alone)
        equal = same_files(settings.out, Path(folder))
    return [
        ("one core", f"{alone.total:.2f} s, {megabytes(summary.bytes_read / alone.total)}/s"),
        ("speed-up", f"{alone.total / watch.total:.2f} on {len(os.sched_getaffinity(0))} cores"),
        ("same output", "yes, byte for byte" if equal else f"NO: one core wrote other files than {settings.out} has"),
    ], equal


def same_files(one: Path, other: Path) -> bool:
    names = sorted(path.name for path in one.iterdir())
    if names != sorted(path.name for path in other.iterdir()):
        return False
    return filecmp.cmpfiles(one, other, names, shallow=False)[0] == names


def save_timeline(path: Path) -> str:
    try:
        fray.timeline(str(path))
    except fray.UnsupportedError as error:
        return f"none: {error}"
    return f"{path} opens in https://ui.perfetto.dev"


def warm_page_cache(settings: Settings) -> None:
    """Read all files once, so that neither side of a comparison waits for the disk more than the other."""
    for file in steps.find_files(settings.root, settings.most_files)[0]:
        steps.read_text(settings.root / file.path, settings.max_file_bytes)


# ---- the command -----------------------------------------------------------------------------------------------------


class UsageError(Exception):
    """Something that the user can put right."""


def check_folders(settings: Settings) -> None:
    root, out = settings.root, settings.out
    if not root.exists():
        raise UsageError(f"there is no folder {root}")
    if not root.is_dir():
        raise UsageError(f"{root} is not a folder")
    if out.resolve().is_relative_to(root.resolve()):
        raise UsageError(f"the output folder {out} lies inside the input folder {root}: choose another --out")
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is not a folder: choose another --out")
    if out.is_dir() and any(out.iterdir()):
        raise UsageError(f"the output folder {out} is not empty: remove its files or choose another --out")


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(f"{number} is not positive")
    return number


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="corpus.py", description="Turn a folder of text files into a corpus.")
    parser.add_argument("input", metavar="INPUT", type=Path, help="folder of text files")
    parser.add_argument("--out", metavar="DIR", type=Path, required=True, help="new or empty folder for the corpus")
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="of the shuffle and of MinHash (default 0)")
    parser.add_argument("--files", metavar="N", type=positive, help="read an even sample of so many (default all)")
    parser.add_argument("--shards", metavar="N", type=positive, default=16, help="output files (default 16)")
    parser.add_argument("--compare", action="store_true", help="do it once more on one core, and compare")
    parser.add_argument("--timeline", metavar="FILE", type=Path, help="write what ran when, for ui.perfetto.dev")
    parser.add_argument("--native-map", metavar="LIBRARY", type=Path, help="map with the C++ of this libcorpus_map.so")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    # Absolute, because a worker need not have this process's working folder.
    settings = Settings(
        options.input.absolute(), options.out.absolute(), options.seed, options.shards, most_files=options.files
    )
    try:
        check_folders(settings)
        settings.out.mkdir(parents=True, exist_ok=True)
        if options.compare:
            warm_page_cache(settings)
        watch = Stopwatch()
        summary = run_on_fray(fray.get_job_context(), settings, watch, options.native_map)
        rows, equal = table(summary, watch), True
        if options.timeline is not None:
            rows.append(("timeline", save_timeline(options.timeline)))
        if options.compare:
            more, equal = compare_with_one_core(settings, watch)
            rows += more
    except (UsageError, fray.SettingsError, fray.UnsupportedError, OSError) as error:
        print(f"corpus.py: {error}", file=sys.stderr)
        return 2
    for name, value in rows:
        print(f"{name:17} {value}")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
