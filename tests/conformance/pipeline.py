"""A small library for datasets, written as users write theirs: plain functions over `put`, `get`, `run` and `wait`.

A dataset is a plan; `collect` runs it stage by stage. A stage is one generator task for each shard,
``run(run_stage, stage_context, operations)``. The stage context holds refs and contexts: the shard has the context that
its refs belong to, and so has the stage context itself. A task yields a header and then the items of each chunk.
"""

from __future__ import annotations

import heapq
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from fray import JobContext, ObjectRef

__all__ = ["Chunk", "Dataset", "Shard", "StageContext", "run_stage"]


@dataclass
class Chunk:
    """Some items in the store."""

    count: int
    data: ObjectRef[list[Any]]


@dataclass
class Shard:
    """A part of a dataset, in chunks that are read with the context that travels along."""

    index: int
    chunks: list[Chunk]
    context: JobContext

    def __iter__(self) -> Iterator[Any]:
        for chunk in self.chunks:
            yield from self.context.get(chunk.data)


@dataclass
class StageContext:
    """What the task of one shard gets."""

    shard: Shard
    total: int
    chunk_size: int
    context: JobContext
    others: list[Shard] = field(default_factory=list)


Operation = Callable[[Iterator[Any], StageContext], Iterator[Any]]


@dataclass(frozen=True)
class Scatter:
    """Ends a stage: items go to the shard that their key says."""

    key: Callable[[Any], Any]
    shards: int


def run_stage(stage: StageContext, operations: list[Any]) -> Iterator[Any]:
    """Yield (shard, count) and then the items, chunk by chunk."""
    items: Iterator[Any] = iter(stage.shard)
    for operation in operations:
        if isinstance(operation, Scatter):
            yield from _scattered(items, operation)
            return
        items = operation(items, stage)
    while chunk := list(itertools.islice(items, stage.chunk_size)):
        yield stage.shard.index, len(chunk)
        yield chunk


def _scattered(items: Iterator[Any], scatter: Scatter) -> Iterator[Any]:
    parts: dict[int, list[Any]] = defaultdict(list)
    for item in items:
        parts[scatter.key(item) % scatter.shards].append(item)
    for shard, part in sorted(parts.items()):
        part.sort(key=scatter.key)
        yield shard, len(part)
        yield part


@dataclass(frozen=True)
class Dataset:
    """Items in shards, and what is to become of them."""

    shards: tuple[tuple[Any, ...], ...]
    steps: tuple[Any, ...] = ()
    chunk_size: int = 3

    @staticmethod
    def of(items: Iterable[Any], shards: int = 3) -> Dataset:
        listed = list(items)
        return Dataset(tuple(tuple(listed[number::shards]) for number in range(shards)))

    def _then(self, *steps: Any) -> Dataset:
        return replace(self, steps=(*self.steps, *steps))

    def map(self, fn: Callable[[Any], Any]) -> Dataset:
        return self._then(lambda items, stage: (fn(item) for item in items))

    def flat_map(self, fn: Callable[[Any], Iterable[Any]]) -> Dataset:
        return self._then(lambda items, stage: (found for item in items for found in fn(item)))

    def filter(self, keep: Callable[[Any], bool]) -> Dataset:
        return self._then(lambda items, stage: (item for item in items if keep(item)))

    def map_shard(self, fn: Callable[[Iterator[Any], StageContext], Iterator[Any]]) -> Dataset:
        return self._then(fn)

    def group_by(self, key: Callable[[Any], int], reduce: Callable[[int, list[Any]], Any], shards: int = 2) -> Dataset:
        def grouped(items: Iterator[Any], stage: StageContext) -> Iterator[Any]:
            # Each chunk of a shard was sorted by the task that scattered it.
            runs = [stage.context.get(chunk.data) for chunk in stage.shard.chunks]
            for value, group in itertools.groupby(heapq.merge(*runs, key=key), key=key):
                yield reduce(value, list(group))

        return self._then(Scatter(key, shards), grouped)

    def join(
        self, right: Dataset, key: Callable[[Any], int], combine: Callable[[Any, Any], Any], shards: int = 2
    ) -> Dataset:
        """Join sorted shards one by one; an item without a partner on the right is combined with None."""

        def joined(items: Iterator[Any], stage: StageContext) -> Iterator[Any]:
            partners = {key(item): item for other in stage.others for item in other}
            for item in sorted(items, key=key):
                yield combine(item, partners.get(key(item)))

        return self._then(Scatter(key, shards), _Joined(right._then(Scatter(key, shards)), joined))

    def reshard(self, shards: int) -> Dataset:
        return self._then(_Reshard(shards))

    def reduce(self, fn: Callable[[Iterable[Any]], Any]) -> Dataset:
        def once(items: Iterator[Any], stage: StageContext) -> Iterator[Any]:
            first = next(items, _NOTHING)
            if first is not _NOTHING:
                yield fn(itertools.chain([first], items))

        return self._then(once, _Reshard(1), once)

    def collect(self, context: JobContext, most_tasks: int = 4) -> list[Any]:
        return [item for shard in self._run(context, most_tasks) for item in shard]

    def _run(self, context: JobContext, most_tasks: int) -> list[Shard]:
        shards = [
            Shard(index, [Chunk(len(items), context.put(list(items)))] if items else [], context)
            for index, items in enumerate(self.shards)
        ]
        for operations, others in self._stages(context, most_tasks):
            if isinstance(operations, _Reshard):
                shards = _resharded(shards, operations.shards)
            else:
                stages = [
                    StageContext(shard, len(shards), self.chunk_size, context, [right[shard.index] for right in others])
                    for shard in shards
                ]
                shards = _run_tasks(context, stages, operations, most_tasks)
        return shards

    def _stages(self, context: JobContext, most_tasks: int) -> Iterator[tuple[Any, list[list[Shard]]]]:
        """Yield the operations of each stage, with the shards that they are joined with; see `_Reshard` too."""
        operations: list[Any] = []
        others: list[list[Shard]] = []
        for step in self.steps:
            if isinstance(step, _Reshard):
                if operations:
                    yield operations, others
                yield step, []
                operations, others = [], []
                continue
            if isinstance(step, _Joined):
                others = [*others, step.right._run(context, most_tasks)]
                step = step.operation
            operations.append(step)
            if isinstance(step, Scatter):
                yield operations, others
                operations, others = [], []
        if operations:
            yield operations, others


@dataclass(frozen=True)
class _Reshard:
    shards: int


@dataclass(frozen=True)
class _Joined:
    right: Dataset
    operation: Operation


_NOTHING = object()


def _resharded(shards: list[Shard], count: int) -> list[Shard]:
    """Deal the chunks out anew; nothing is read."""
    chunks = [chunk for shard in shards for chunk in shard.chunks]
    return [Shard(number, chunks[number::count], shards[0].context) for number in range(count)]


def _run_tasks(context: JobContext, stages: list[StageContext], operations: list[Any], most_tasks: int) -> list[Shard]:
    """Run a task for each stage context, no more than `most_tasks` at once, and put their chunks together to shards."""
    chunks: dict[int, dict[int, list[Chunk]]] = defaultdict(lambda: defaultdict(list))
    waiting = list(enumerate(stages))
    running: dict[Any, int] = {}
    while waiting or running:
        while waiting and len(running) < most_tasks:
            number, stage = waiting.pop(0)
            running[context.run(run_stage, stage, operations, name=f"stage of shard {number}")] = number
        ready, _ = context.wait(list(running), num_returns=1)
        for ref in ready:
            try:
                shard, count = context.get(next(ref))
                chunks[shard][running[ref]].append(Chunk(count, next(ref)))
            except StopIteration:
                del running[ref]
    last = next((step for step in operations if isinstance(step, Scatter)), None)
    return [
        Shard(index, [chunk for _, found in sorted(chunks[index].items()) for chunk in found], context)
        for index in range(len(stages) if last is None else last.shards)
    ]
