"""Steps that need each other, whose outputs are named after all that made them. Run again, finished steps are kept.

    python examples/executor.py --out DIR [--input FOLDER] [--files N] [--orders N ...]

    sources ─▶ split ─┬─▶ train-1 ─▶ score-1 ─┐
                      ├─▶ train-2 ─▶ score-2 ─┼─▶ report          (train-N: a model of texts by runs of N characters)
                      └─▶ train-3 ─▶ score-3 ─┘

A step is a function that fills a folder: ``function(out, *inputs, **config)``, `inputs` being the folders of the steps
that it needs. Its version is a hash of the function's source, the config, the environment and the versions of these
steps. Its output is DIR/<name>-<version>, which is there whole or not at all. So a program that was killed goes on
where it was, and after a change only what depends on it is made anew; the outputs of before stay beside it.

All steps are submitted at once, each with refs of those that it needs; each has the environment that it asks for. They
tell an actor what they do; the progress comes from there. The actor is detached: on Ray and on a started node it
outlives this program.

Where the steps run is no matter of this file: set FRAY_CLUSTER_SPEC to `sync`, `thread?max_workers=2`, `local` (the
default), `ray` or `iris?controller=http://...`. On several machines FOLDER and DIR must be seen by all of them.
"""

from __future__ import annotations

import argparse
import inspect
import itertools
import json
import math
import os
import random
import shutil
import sys
import sysconfig
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import fray
from following import follow

# ---- the executor ----------------------------------------------------------------------------------------------------


def digest(*content: object) -> str:
    return blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=4).hexdigest()


@dataclass(frozen=True)
class Step:
    """A function that fills a folder, and all that its content depends on.

    `function` alone is read for the version, not what it calls: a number in `config` tells of changes there.
    """

    name: str
    function: Callable[..., None]
    needs: Sequence[Step] = ()
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    environment: fray.RuntimeEnv = field(default_factory=fray.RuntimeEnv)
    version: str = field(init=False)

    def __post_init__(self) -> None:
        needed = [step.version for step in self.needs]
        around = [list(self.environment.package_requirements), dict(self.environment.env)]
        version = digest(inspect.getsource(self.function), dict(self.config), around, needed)
        object.__setattr__(self, "version", version)

    @property
    def folder(self) -> str:
        return f"{self.name}-{self.version}"


class StepError(Exception):
    """A step failed; the text says which."""


class StatusActor:
    """What the steps of all runs do, for everybody who asks."""

    def __init__(self) -> None:
        self._events: dict[str, list[tuple[str, str]]] = {}
        self._runs: Counter[str] = Counter()

    def begin(self, plan: str) -> int:
        """Say that a run of a plan begins; return how many of it this actor has seen."""
        self._events[plan] = []
        self._runs[plan] += 1
        return self._runs[plan]

    def report(self, plan: str, step: str, event: str) -> None:
        self._events.setdefault(plan, []).append((step, event))

    def events(self, plan: str, first: int) -> list[tuple[str, str]]:
        """Return the events of the latest run of a plan, from one on."""
        return self._events.get(plan, [])[first:]


STATUS = fray.ActorOptions(
    name="status_actor",
    get_if_exists=True,
    lifetime=fray.Lifetime.DETACHED,
    resources={"CPU": 0, "head_node": 0.0001},
    max_restarts=-1,
    max_task_retries=-1,
)


def run_step(step: Step, out: Path, plan: str, status: fray.ActorHandle, *inputs: Path) -> Path:
    """What a task does: call the function with a folder that gets its name when all is in it."""
    status.report(plan, step.name, f"runs in process {os.getpid()}").result()
    started = time.perf_counter()
    folder, unfinished = out / step.folder, out / f".{step.folder}.{uuid.uuid4().hex}"
    unfinished.mkdir()
    try:
        step.function(unfinished, *inputs, **step.config)
        unfinished.replace(folder)
    except Exception as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        if not folder.exists():  # else another run was first
            raise StepError(f"step {step.name}: {type(error).__name__}: {error}") from error
    for left in out.glob(f".{step.folder}.*"):  # by runs that were killed
        shutil.rmtree(left, ignore_errors=True)
    status.report(plan, step.name, f"done in {time.perf_counter() - started:.1f} s").result()
    return folder


def execute(ctx: fray.JobContext, steps: Sequence[Step], out: Path) -> None:
    """Run the steps whose output is not there, and show what they do. Each stands behind those that it needs."""
    out.mkdir(parents=True, exist_ok=True)
    plan = digest(str(out), [step.version for step in steps])
    status = ctx.create_actor(StatusActor, options=STATUS)
    kept = [step for step in steps if (out / step.folder).exists()]
    print(f"plan {plan}, run {status.begin(plan).result()}: {len(steps)} steps, {len(kept)} kept", flush=True)

    paths: dict[str, Any] = {step.name: out / step.folder for step in kept}  # of a step that is to run: the ref of it
    pending: list[fray.ObjectRef[Path]] = []
    for step in steps:
        if step not in kept:
            options = fray.TaskOptions(name=f"{step.function.__name__}:{step.name}", runtime_env=step.environment)
            inputs = [paths[needed.name] for needed in step.needs]
            paths[step.name] = ctx.create_task(run_step, (step, out, plan, status, *inputs), options=options)
            pending.append(paths[step.name])

    shown = 0
    while True:
        ready, pending = ctx.wait(pending, timeout=0.2)
        events = status.events(plan, shown).result()
        shown += len(events)
        for name, event in events:
            print(f"{name:10} {event}", flush=True)
        ctx.get(ready)  # raises what a step has raised
        if not pending:
            return


# ---- the steps -------------------------------------------------------------------------------------------------------


def read_sources(out: Path, files: Sequence[str], content: str) -> None:
    """Copy the texts of files, one a line. `content` is there for the version: it changes with the texts."""
    with (out / "texts.jsonl").open("w") as lines:
        lines.writelines(json.dumps(Path(file).read_text("utf-8", "replace")) + "\n" for file in files)


def split(out: Path, sources: Path, seed: int) -> None:
    """Deal the texts out: a tenth to learn how good a model is, the rest to train it."""
    texts = (sources / "texts.jsonl").read_text().splitlines()
    random.Random(seed).shuffle(texts)
    tenth = len(texts) // 10 + 1
    (out / "test.jsonl").write_text("\n".join(texts[:tenth]))
    (out / "train.jsonl").write_text("\n".join(texts[tenth:]))


LETTERS = 128  # that a text is made of, about


def texts_in(file: Path) -> list[str]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def train(out: Path, texts: Path, order: int) -> None:
    """Count which character follows each run of `order` characters."""
    counts: Counter[str] = Counter()
    for text in texts_in(texts / "train.jsonl"):
        counts.update(text[at : at + order + 1] for at in range(len(text) - order))
    (out / "counts.json").write_text(json.dumps(counts))


def score(out: Path, texts: Path, model: Path, order: int) -> None:
    """Write how many bits a character of the other texts costs when the counts foretell it."""
    smoothing = float(os.environ["SMOOTHING"])  # as many programs, this one is told by a variable
    counts = Counter(json.loads((model / "counts.json").read_text()))
    before: Counter[str] = Counter()
    for run, count in counts.items():
        before[run[:-1]] += count
    bits, size = 0.0, 0
    for text in texts_in(texts / "test.jsonl"):
        for at in range(len(text) - order):
            run = text[at : at + order + 1]
            bits -= math.log2((counts[run] + smoothing) / (before[run[:-1]] + smoothing * LETTERS))
        size += max(0, len(text) - order)
    (out / "score.json").write_text(json.dumps({"order": order, "runs": len(counts), "bits": bits / max(1, size)}))


def report(out: Path, *scores: Path) -> None:
    rows = [json.loads((score / "score.json").read_text()) for score in scores]
    lines = ["order     runs  bits a character"]
    lines += [f"{row['order']:5} {row['runs']:8,} {row['bits']:17.3f}" for row in rows]
    (out / "report.txt").write_text("\n".join(lines) + "\n")


def plan_of(options: argparse.Namespace) -> list[Step]:
    """The steps of the picture above, each behind those that it needs."""
    files = sorted(file for file in options.input.rglob("*.py") if file.is_file())[: options.files]
    if not files:
        sys.exit(f"executor.py: there are no Python files in {options.input}")
    content = blake2b(b"".join(file.read_bytes() for file in files), digest_size=16).hexdigest()
    sources = Step("sources", read_sources, config={"files": [str(file) for file in files], "content": content})
    texts = Step("split", split, [sources], {"seed": options.seed})
    steps, scores = [sources, texts], []
    for order in sorted(set(options.orders)):
        model = Step(f"train-{order}", train, [texts], {"order": order})
        smooth = fray.RuntimeEnv(env={"SMOOTHING": "0.01"})
        scores.append(Step(f"score-{order}", score, [texts, model], {"order": order}, smooth))
        steps += [model, scores[-1]]
    return [*steps, Step("report", report, scores)]


# ---- the program -----------------------------------------------------------------------------------------------------


def work(steps: Sequence[Step], out: Path) -> None:
    """Do all of it, where tasks can be started."""
    try:
        execute(fray.get_job_context(), steps, out)
    except (StepError, fray.FrayError, OSError) as error:
        sys.exit(f"executor.py: {error}")
    print((out / steps[-1].folder / "report.txt").read_text(), end="")


def run_as_job(steps: Sequence[Step], out: Path) -> int:
    """Do the work in a job of its own, and show what it prints. A run that goes on without its program is joined."""
    cluster = fray.current_cluster()
    environment = fray.create_environment(workspace=Path(__file__).parent)
    entrypoint = fray.Entrypoint.from_callable(work, [steps, out])
    for number in itertools.count(1):
        job = f"executor-{digest(str(out), [step.version for step in steps])}-{number}"
        request = fray.JobRequest("executor", entrypoint, fray.ResourceConfig(cpu=2), environment, id=job)
        try:
            job = cluster.launch(request)
            break
        except fray.JobExistsError:
            if not fray.JobStatus.finished(cluster.poll(job).status):
                print(f"job {job} is at it: this is what it prints", flush=True)
                break
    return follow(cluster, job)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="executor.py", description="Train and compare models of texts, step by step.")
    parser.add_argument("--out", metavar="DIR", type=Path, required=True, help="for the outputs of all steps")
    parser.add_argument("--input", metavar="FOLDER", type=Path, help="of *.py files (default: Python's own library)")
    parser.add_argument("--files", metavar="N", type=int, default=300, help="read the first N only (default 300)")
    parser.add_argument("--orders", metavar="N", type=int, nargs="+", default=[1, 2, 3, 4], help="of the models")
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="of the split (default 0)")
    options = parser.parse_args()
    if min(options.files, *options.orders) < 1:
        parser.error("--files and --orders must be at least 1")
    # Absolute, because a worker need not have this program's working folder.
    options.input = (options.input or Path(sysconfig.get_path("stdlib"))).absolute()
    options.out = options.out.absolute()
    return options


def main() -> int | None:
    options = parse()
    steps = plan_of(options)
    try:
        fray.get_job_context()
    except fray.UnsupportedError:  # on Iris, where tasks are started in jobs only
        return run_as_job(steps, options.out)
    return work(steps, options.out)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (fray.FrayError, OSError) as error:
        sys.exit(f"executor.py: {error}")
