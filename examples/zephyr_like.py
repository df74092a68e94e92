"""A small dataflow library, and a program that uses it: what do the modules of this Python import, and how often?

    python examples/zephyr_like.py --out DIR [--input FOLDER] [--shards N] [--files N] [--strict]

    files of FOLDER ─▶ parse, a task for each shard ─▶ DIR/imports/part-*.jsonl ─▶ read, a task for each shard
                                                                                   │ lists, one for each next shard
                      DIR/modules/part-*.jsonl ◀─ count, a task for each shard ◀───┘

The library is the first half. A `Dataset` is a plan of steps (map, flat_map, filter, group_by, reduce) for items in
shards; `write` and `collect` run it stage by stage. A stage is a task for each shard, and ends where items change their
shard. What is written is there whole or not at all, so a program that was killed goes on where it was: shards whose
file is there are not made again.

Where the tasks run is no matter of this file: set FRAY_CLUSTER_SPEC to `sync`, `thread?max_workers=2`, `local` (the
default), `ray` or `iris?controller=http://...`. On several machines FOLDER and DIR must be seen by all of them.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import sysconfig
import time
import uuid
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from heapq import nlargest
from itertools import chain
from pathlib import Path
from typing import Any

import fray
from following import follow

Step = Callable[[Iterator[Any]], Iterable[Any]]  # is given all items of a shard
End = Callable[[Iterator[Any], int], list[Any]]  # makes outputs of the items of a shard, whose number it is told
Refs = list[fray.ObjectRef[Any]]


# ---- the library -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stage:
    """Steps that follow each other within a shard, and what is made of the items then: so many outputs."""

    name: str
    steps: tuple[Step, ...] = ()
    end: End = lambda items, shard: [list(items)]
    outputs: int = 1


class ShardError(Exception):
    """A step failed; the text says in which shard of which stage, and at which item."""


def run_shard(stage: Stage, shard: int, *chunks: Sequence[Any]) -> list[Any]:
    """What a task does. Returns the number of items read, and then each output."""
    count, current = 0, []

    def read() -> Iterator[Any]:
        nonlocal count, current
        for item in chain(*chunks):
            count, current = count + 1, [item]
            yield item
        current = []

    items = read()
    try:
        for step in stage.steps:
            items = iter(step(items))
        outputs = stage.end(items, shard)
    except Exception as error:
        where = f"stage {stage.name}, shard {shard}" + "".join(f", item {item!r:.200}" for item in current)
        raise ShardError(f"{where}: {type(error).__name__}: {error}") from error
    return [count, *outputs]


def run_stage(ctx: fray.JobContext, stage: Stage, inputs: Mapping[int, Refs]) -> dict[int, Refs]:
    """Run a task for each shard; return the refs of their outputs, which stay where they were made."""
    shared = ctx.put(stage)  # once for all tasks
    outputs: dict[int, Refs] = {}
    pending: Refs = []
    for shard, chunks in inputs.items():
        options = fray.TaskOptions(name=f"{stage.name}-{shard}", num_returns=1 + stage.outputs)
        count, *outputs[shard] = ctx.create_task(run_shard, (shared, shard, *chunks), options=options)
        pending.append(count)

    items, started = 0, time.perf_counter()
    while pending:
        ready, pending = ctx.wait(pending)
        items += sum(ctx.get(ready))
        done, seconds = len(inputs) - len(pending), time.perf_counter() - started
        print(f"{stage.name:8} {done:3} of {len(inputs)} shards  {seconds:5.1f} s  {items:,} items", flush=True)
    return outputs


def shard_of(key: object, shards: int) -> int:
    """The same in every process, as Python's own `hash` of a text is not."""
    return int.from_bytes(blake2b(repr(key).encode(), digest_size=8).digest(), "big") % shards


def write_whole(path: Path, text: str) -> None:
    """Put `text` at `path` at once: whoever sees the file sees all of it. Several may write the same."""
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    unfinished.write_text(text)
    with suppress(FileNotFoundError):  # another run was first, and has cleared up
        unfinished.replace(path)
    for left in path.parent.glob(f".{path.name}.*"):  # by runs that were killed
        left.unlink(missing_ok=True)


@dataclass(frozen=True)
class Dataset:
    """Items in shards, and what is to become of them. Nothing runs before `write` or `collect`."""

    source: Sequence[Sequence[Any]]
    stages: Sequence[Stage]

    @staticmethod
    def of(name: str, items: Sequence[Any], shards: int) -> Dataset:
        """Items dealt out to so many shards, and a first stage of that name, which has no steps yet."""
        return Dataset([items[shard::shards] for shard in range(shards)], [Stage(name)])

    @property
    def shards(self) -> int:
        """How many there are at the end of the plan."""
        return self.stages[-2].outputs if len(self.stages) > 1 else len(self.source)

    def then(self, step: Step) -> Dataset:
        *before, last = self.stages
        return replace(self, stages=[*before, replace(last, steps=(*last.steps, step))])

    def map(self, function: Callable[[Any], Any]) -> Dataset:
        return self.then(lambda items: map(function, items))

    def flat_map(self, function: Callable[[Any], Iterable[Any]]) -> Dataset:
        return self.then(lambda items: chain.from_iterable(map(function, items)))

    def filter(self, keep: Callable[[Any], object]) -> Dataset:
        return self.then(lambda items: filter(keep, items))

    def group_by(
        self, name: str, key: Callable[[Any], Any], reduce: Callable[[Any, list[Any]], Any], shards: int
    ) -> Dataset:
        """A stage more: items go to the shard of their key, which is left with ``reduce(key, items)`` of each key."""

        def scatter(items: Iterator[Any], shard: int) -> list[Any]:
            parts: list[list[Any]] = [[] for _ in range(shards)]
            for item in items:
                parts[shard_of(key(item), shards)].append(item)
            return parts

        def gather(items: Iterator[Any]) -> Iterator[Any]:
            groups: dict[Any, list[Any]] = defaultdict(list)
            for item in items:
                groups[key(item)].append(item)
            return (reduce(value, groups[value]) for value in sorted(groups))

        *before, last = self.stages
        return replace(self, stages=[*before, replace(last, end=scatter, outputs=shards), Stage(name, (gather,))])

    def reduce(self, name: str, function: Callable[[list[Any]], Any]) -> Dataset:
        """One item: `function` of what it makes of the items of each shard. Without items there is none."""
        partial = self.then(lambda items: [function(some)] if (some := list(items)) else [])
        return partial.group_by(name, lambda item: 0, lambda key, items: function(items), shards=1)

    def collect(self, ctx: fray.JobContext) -> list[Any]:
        outputs = self._run(ctx, self.stages[-1], range(self.shards))
        return [item for (ref,) in outputs.values() for item in ctx.get(ref)]

    def write(self, ctx: fray.JobContext, folder: Path) -> list[Path]:
        """Write a file of JSON lines for each shard; those that are there are not made again."""
        paths = [folder / f"part-{shard:05}-of-{self.shards:05}.jsonl" for shard in range(self.shards)]

        def write_lines(items: Iterator[Any], shard: int) -> list[Any]:
            write_whole(paths[shard], "".join(json.dumps(item) + "\n" for item in items))
            return [paths[shard]]

        folder.mkdir(exist_ok=True)
        last = replace(self.stages[-1], end=write_lines)
        missing = [shard for shard, path in enumerate(paths) if not path.exists()]
        if len(missing) < self.shards:
            print(f"{last.name:8} {self.shards - len(missing):3} of {self.shards} shards were there", flush=True)
        if missing:
            self._run(ctx, last, missing)
        return paths

    def _run(self, ctx: fray.JobContext, last: Stage, wanted: Iterable[int]) -> dict[int, Refs]:
        inputs = {shard: [ctx.put(items)] for shard, items in enumerate(self.source)}
        for stage in self.stages[:-1]:
            outputs = run_stage(ctx, stage, inputs)
            inputs = {shard: list(column) for shard, column in enumerate(zip(*outputs.values(), strict=True))}
        return run_stage(ctx, last, {shard: inputs[shard] for shard in wanted})


# ---- the program -----------------------------------------------------------------------------------------------------


def imports_of(file: Path, strict: bool) -> Iterator[dict[str, str]]:
    """A record for each import in a file; none for a file that this Python cannot read, unless `strict`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the texts of others
            tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        if strict:
            raise
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ({"module": alias.name, "file": str(file)} for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield {"module": node.module, "file": str(file)}


def count(module: str, imports: list[dict[str, str]]) -> dict[str, Any]:
    return {"module": module, "files": len({found["file"] for found in imports}), "imports": len(imports)}


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines()


def claim(out: Path, plan: dict[str, Any]) -> None:
    """Keep `out` for one plan: what another one has left would be taken for shards of this."""
    note = out / "plan.json"
    out.mkdir(parents=True, exist_ok=True)
    if not any(out.iterdir()):
        write_whole(note, json.dumps(plan))
    elif not note.exists() or json.loads(note.read_text()) != plan:
        sys.exit(f"zephyr_like.py: {out} holds something else, or what other files have given: choose another --out")


def work(options: argparse.Namespace) -> None:
    """Do all of it, where tasks can be started."""
    try:
        count_imports(fray.get_job_context(), options)
    except (ShardError, fray.FrayError, OSError) as error:
        sys.exit(f"zephyr_like.py: {error}")


def count_imports(ctx: fray.JobContext, options: argparse.Namespace) -> None:
    files = [file for file in options.input.rglob("*.py") if file.is_file() and "-packages" not in str(file)]
    files = sorted(files)[: options.files]
    if not files:
        sys.exit(f"zephyr_like.py: there are no Python files in {options.input}")
    facts = repr([(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files])
    claim(options.out, {"files": blake2b(facts.encode(), digest_size=16).hexdigest(), "shards": options.shards})

    shards, strict = options.shards, options.strict
    parsed = Dataset.of("parse", files, shards).flat_map(lambda file: imports_of(file, strict))
    imports = parsed.filter(lambda found: found["module"] != "__future__").write(ctx, options.out / "imports")

    read = Dataset.of("read", imports, shards).flat_map(lines_of).map(json.loads)
    grouped = read.group_by("count", lambda found: found["module"].partition(".")[0], count, shards)
    modules = grouped.write(ctx, options.out / "modules")

    rows = Dataset.of("rank", modules, shards).flat_map(lines_of).map(json.loads).map(lambda row: [row])
    top = rows.reduce("top", lambda some: nlargest(10, chain(*some), key=lambda row: (row["files"], row["module"])))
    for row in chain([{"module": "module", "files": "files", "imports": "imports"}], *top.collect(ctx)):
        print(f"{row['module']:16} {row['files']:>7} {row['imports']:>8}")


def run_as_job(options: argparse.Namespace) -> int:
    """Do the work in a job of its own, and show what it prints."""
    cluster = fray.current_cluster()
    environment = fray.create_environment(workspace=Path(__file__).parent)
    entrypoint = fray.Entrypoint.from_callable(work, [options])
    request = fray.JobRequest("zephyr-like", entrypoint, fray.ResourceConfig(cpu=2), environment)
    return follow(cluster, cluster.launch(request))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="zephyr_like.py", description="Count what the modules of a Python import.")
    parser.add_argument("--out", metavar="DIR", type=Path, required=True, help="new, or that of a run to go on with")
    parser.add_argument("--input", metavar="FOLDER", type=Path, help="of *.py files (default: Python's own library)")
    parser.add_argument("--shards", metavar="N", type=int, default=8, help="of every stage (default 8)")
    parser.add_argument("--files", metavar="N", type=int, help="read the first N only (default: all)")
    parser.add_argument("--strict", action="store_true", help="end at a file that this Python cannot read")
    options = parser.parse_args()
    if options.shards < 1 or (options.files is not None and options.files < 1):
        parser.error("--shards and --files must be at least 1")
    # Absolute, because a worker need not have this program's working folder.
    options.input = (options.input or Path(sysconfig.get_path("stdlib"))).absolute()
    options.out = options.out.absolute()
    return options


def main() -> int | None:
    options = parse()
    try:
        fray.get_job_context()
    except fray.UnsupportedError:  # on Iris, where tasks are started in jobs only
        return run_as_job(options)
    return work(options)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (fray.FrayError, OSError) as error:
        sys.exit(f"zephyr_like.py: {error}")
