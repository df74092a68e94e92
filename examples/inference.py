"""Score documents with a model that actors hold: batches go out as results come in, which are written in order.

    python examples/inference.py --out DIR [--input FOLDER] [--actors N] [--batch N]

    FOLDER ─▶ documents ─▶ batches ─┬─▶ actor Scorer, with the model ─┬─▶ in order ─▶ DIR/scores.jsonl
                              ▲     └─▶ actor Scorer, with the model ─┘       │
                              └───── never far ahead of what is written ──────┘

All of it is one job, which runs wherever FRAY_CLUSTER_SPEC says: `local` (the default), `ray?address=…` or
`iris?controller=http://…`. Each actor loads the model once. A folder may be of any size, for only a few batches are
in memory at a time. An actor that dies is started again, loads the model again and gets its batch again.

The model stands for any that is large and slow to load. It is a table of 64 MiB that says how probable each byte is
after each two others, made from the first of the documents. The score of a document is how many bits each of its bytes
takes: the more, the less it is like the others.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import json
import os
import sys
import sysconfig
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import fray
import numpy as np
from following import run_and_follow
from numpy.typing import NDArray

FIT_BYTES = 8 << 20
SMOOTHING = 4.0
SENT_TO_EACH = 2
"""One batch runs in an actor while the next one is on its way to it."""
AHEAD_OF_EACH = 8
"""Batches for each actor that were sent and are not written, since one before them is not done."""


@dataclass(frozen=True)
class Config:
    input: Path
    out: Path
    actors: int
    batch: int

    @property
    def model(self) -> Path:
        return self.out / "model.npy"

    @property
    def scores(self) -> Path:
        return self.out / "scores.jsonl"


@dataclass(frozen=True)
class Document:
    path: str
    text: bytes


@dataclass(frozen=True)
class Score:
    path: str
    size: int
    bits_per_byte: float


# ---- the model


class Scorer:
    """The model, in the process of an actor."""

    def __init__(self, model: Path) -> None:
        began = time.perf_counter()
        self._bits = np.load(model)
        self._seconds = time.perf_counter() - began

    def score(self, batch: Sequence[Document]) -> list[Score]:
        return [Score(each.path, len(each.text), self._bits_per_byte(each.text)) for each in batch]

    def _bits_per_byte(self, text: bytes) -> float:
        return float(self._bits[triples(text)].mean()) if len(text) > 2 else 0.0

    def about(self) -> str:
        return f"{self._bits.nbytes >> 20} MiB loaded in {self._seconds:.2f} s by process {os.getpid()}"


def triples(text: bytes) -> NDArray[np.int32]:
    """Return each three bytes that stand together as one number."""
    codes = np.frombuffer(text, np.uint8).astype(np.int32)
    return codes[:-2] << 16 | codes[1:-1] << 8 | codes[2:]


def fitted(text: bytes) -> NDArray[np.float32]:
    """Return how many bits each byte takes after each two others; rare ones are judged by fewer bytes before them."""
    threes = np.bincount(triples(text), minlength=1 << 24).reshape(256, 256, 256).astype(np.float32)
    twos = threes.sum(axis=0)
    ones = twos.sum(axis=0)
    after_none = (ones + 1) / (ones.sum() + 256)
    after_one = (twos + SMOOTHING * after_none) / (twos.sum(axis=1, keepdims=True) + SMOOTHING)
    after_two = (threes + SMOOTHING * after_one) / (threes.sum(axis=2, keepdims=True) + SMOOTHING)
    return -np.log2(after_two).ravel()


def make_model(config: Config) -> None:
    """Write the model's file, whole or not at all, unless it is there."""
    if config.model.exists():
        return
    text, size = [], 0
    for document in documents_in(config.input):
        text.append(document.text)
        if (size := size + len(document.text)) >= FIT_BYTES:
            break
    if not text:
        raise FileNotFoundError(f"{config.input} holds no *.py files; choose another --input")
    unfinished = config.model.with_suffix(".unfinished")
    with unfinished.open("wb") as file:
        np.save(file, fitted(b"\n".join(text)[:FIT_BYTES]))
    unfinished.replace(config.model)


# ---- the data


def documents_in(folder: Path) -> Iterator[Document]:
    """Read documents one by one, when they are asked for, always in the same order."""
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder)
        if path.is_file() and "site-packages" not in name.parts:
            yield Document(str(name), path.read_bytes())


def batched(documents: Iterator[Document], size: int) -> Iterator[list[Document]]:
    while batch := list(itertools.islice(documents, size)):
        yield batch


# ---- the job


def score_in_order(
    ctx: fray.JobContext, scorers: Sequence[fray.ActorHandle], batches: Iterable[Sequence[Document]]
) -> Iterator[list[Score]]:
    """Yield the scores of each batch in the order of the batches, which are taken only as their scores are yielded."""
    numbered = enumerate(batches)
    idle = deque([*scorers] * SENT_TO_EACH)
    running: dict[fray.ObjectRef[list[Score]], tuple[int, fray.ActorHandle]] = {}
    done: dict[int, list[Score]] = {}
    following = 0
    while True:
        while idle and len(running) + len(done) < AHEAD_OF_EACH * len(scorers):
            number, batch = next(numbered, (0, None))
            if batch is None:
                break
            scorer = idle.popleft()
            running[scorer.score(batch)] = number, scorer
        if not running:
            return
        for ref in ctx.wait(list(running), num_returns=1)[0]:
            number, scorer = running.pop(ref)
            done[number] = ref.result()
            idle.append(scorer)
        while following in done:
            yield done.pop(following)
            following += 1


def run(config: Config) -> None:
    """Score all documents of the folder. This is what the job runs."""
    config.out.mkdir(parents=True, exist_ok=True)
    make_model(config)
    ctx = fray.get_job_context()
    options = fray.ActorOptions(
        max_restarts=-1, max_task_retries=3
    )  # a batch that ends its actor four times ends the job
    scorers = [ctx.create_actor(Scorer, config.model, options=options) for _ in range(config.actors)]
    about = ctx.get([scorer.about() for scorer in scorers])
    for number, text in enumerate(about):
        say(f"scorer {number}: model of {text}")

    progress = Progress()
    unfinished = config.scores.with_suffix(".unfinished")
    with unfinished.open("w") as file:
        for scores in score_in_order(ctx, scorers, batched(documents_in(config.input), config.batch)):
            file.writelines(json.dumps(asdict(score)) + "\n" for score in scores)
            progress.add(scores)
    unfinished.replace(config.scores)
    progress.end()
    again = sum(before != now for before, now in zip(about, ctx.get([each.about() for each in scorers]), strict=True))
    if again:
        say(f"{again} of {config.actors} scorers died and were started again")


class Progress:
    """A line each second, and a summary."""

    def __init__(self) -> None:
        self._began = self._shown = time.perf_counter()
        self._documents = self._bytes = 0
        self._strangest: list[tuple[float, str]] = []

    def add(self, scores: Sequence[Score]) -> None:
        self._documents += len(scores)
        self._bytes += sum(score.size for score in scores)
        found = [(score.bits_per_byte, score.path) for score in scores]
        self._strangest = heapq.nlargest(3, [*self._strangest, *found])
        if time.perf_counter() - self._shown > 1.0:
            self._shown = time.perf_counter()
            self._show()

    def _show(self) -> None:
        seconds = time.perf_counter() - self._began
        megabytes = self._bytes / 1e6
        say(f"{self._documents:6,} documents  {megabytes:6.1f} MB  {megabytes / seconds:5.1f} MB/s  {seconds:5.1f} s")

    def end(self) -> None:
        self._show()
        for bits, path in self._strangest:
            say(f"{bits:5.2f} bits a byte  {path}")


def say(line: str) -> None:
    print(line, flush=True)


# ---- the command


def parse(arguments: Sequence[str] | None) -> Config:
    parser = argparse.ArgumentParser(prog="inference.py", description="Score documents with a model in actors.")
    parser.add_argument("--out", metavar="DIR", type=Path, required=True, help="for the model and the scores")
    parser.add_argument("--input", metavar="FOLDER", type=Path, help="of *.py files (default: Python's own library)")
    parser.add_argument("--actors", metavar="N", type=int, default=2, help="that hold the model (default 2)")
    parser.add_argument("--batch", metavar="N", type=int, default=32, help="documents in a batch (default 32)")
    options = parser.parse_args(arguments)
    if options.actors < 1 or options.batch < 1:
        parser.error("--actors and --batch must be at least 1")
    folder = options.input or Path(sysconfig.get_path("stdlib"))
    if not folder.is_dir():
        parser.error(f"there is no folder {folder}")
    # Absolute, because the job need not have this program's working folder.
    return Config(folder.absolute(), options.out.absolute(), options.actors, options.batch)


def main(arguments: Sequence[str] | None = None) -> int:
    config = parse(arguments)
    return run_and_follow(
        fray.JobRequest(
            name="inference",
            entrypoint=fray.Entrypoint.from_callable(run, args=[config]),
            resources=fray.ResourceConfig.with_cpu(cpu=config.actors),  # the actors hold none of their own
            environment=fray.create_environment(workspace=Path(__file__).parent),
        )
    )


if __name__ == "__main__":
    sys.exit(main())
