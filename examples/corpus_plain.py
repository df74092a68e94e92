"""The corpus job as one loop after another, without fray: what `corpus.py` must equal byte for byte.

What is done to a single document is the same code as in the distributed job. All the rest is written again in the
obvious way: one list of all documents, dictionaries, every pair compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from corpus_steps import (
    BANDS,
    ROWS,
    SIMILAR,
    Permutations,
    Reading,
    Settings,
    Skip,
    Summary,
    find_files,
    read_document,
    shard_of,
    write_documents,
    write_summary,
)


def run_plain(settings: Settings) -> Summary:
    files, skipped = find_files(settings.root, settings.most_files)
    permutations = Permutations.from_seed(settings.seed)
    readings: list[Reading] = []
    for file in files:
        reading = read_document(settings, permutations, file)
        if isinstance(reading, Skip):
            skipped[reading] += 1
        else:
            readings.append(reading)

    exact = find_exact(readings)
    near = find_near([reading for reading in readings if reading.document.number not in exact])
    kept = [reading.document for reading in readings if reading.document.number not in exact | near]
    kept.sort(key=lambda document: (document.order, document.number))

    shards = [
        write_documents(settings.out, shard, [it for it in kept if shard_of(it.order, settings.shards) == shard])
        for shard in range(settings.shards)
    ]
    summary = Summary(
        seed=settings.seed,
        skipped=skipped,
        documents=len(readings),
        bytes_read=sum(reading.bytes_read for reading in readings),
        tokens_read=sum(reading.document.tokens for reading in readings),
        exact_duplicates=len(exact),
        near_duplicates=len(near),
        shards=shards,
    )
    write_summary(settings.out, summary)
    return summary


def find_exact(readings: Sequence[Reading]) -> set[int]:
    """The numbers of the documents that repeat the text of an earlier one."""
    seen: set[str] = set()
    duplicates: set[int] = set()
    for reading in readings:
        if reading.document.text in seen:
            duplicates.add(reading.document.number)
        seen.add(reading.document.text)
    return duplicates


def find_near(readings: Sequence[Reading]) -> set[int]:
    """The numbers of the documents that are linked, in one or more steps, to an earlier similar one."""
    neighbours: dict[int, set[int]] = defaultdict(set)
    for one, other in candidate_pairs(readings):
        if jaccard(one, other) >= SIMILAR:
            neighbours[one.document.number].add(other.document.number)
            neighbours[other.document.number].add(one.document.number)

    duplicates: set[int] = set()
    for first in sorted(neighbours):
        if first not in duplicates:
            duplicates |= reachable(first, neighbours) - {first}
    return duplicates


def candidate_pairs(readings: Sequence[Reading]) -> list[tuple[Reading, Reading]]:
    """The pairs of documents that have all 8 rows of some band in common."""
    pairs: dict[tuple[int, int], tuple[Reading, Reading]] = {}
    for band in range(BANDS):
        buckets: dict[bytes, list[Reading]] = defaultdict(list)
        for reading in readings:
            rows = reading.signature[band * ROWS : (band + 1) * ROWS]
            buckets[rows.tobytes()].append(reading)
        for bucket in buckets.values():
            for one, other in combinations(bucket, 2):
                pairs[one.document.number, other.document.number] = (one, other)
    return list(pairs.values())


def jaccard(one: Reading, other: Reading) -> float:
    common = np.intersect1d(one.shingles, other.shingles)
    return len(common) / len(np.union1d(one.shingles, other.shingles))


def reachable(start: int, neighbours: Mapping[int, set[int]]) -> set[int]:
    reached = {start}
    front = [start]
    while front:
        new = neighbours[front.pop()] - reached
        reached |= new
        front += new
    return reached
