"""The map step of the corpus job in C++ (examples/cpp/corpus_map.cc), and its output as `corpus_steps` has it.

What a letter, a space or a folded letter is, Python decides: its rules go along as tables. A document with a character
beyond U+02FF is read by `corpus_steps`, for it may have to be brought into Unicode's normal form first.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import corpus_steps as steps
import fray
import numpy as np
from corpus_steps import Document, File, Reading, Settings, Skip

KNOWN_CHARACTERS = 0x300

Learnt = dict[str, Any]
"""The fields of `Learnt` in corpus_map.cc."""


def characters() -> dict[str, Any]:
    """Python's rules for the characters that the C++ code reads itself, all of which are in normal form."""
    known = [chr(code) for code in range(KNOWN_CHARACTERS)]
    assert all(unicodedata.normalize("NFC", one) == one and not unicodedata.combining(one) for one in known)
    return {
        "word": [steps.WORD.fullmatch(one) is not None for one in known],
        "space": [one.isspace() for one in known],
        "folded": [one.casefold() for one in known],
    }


def submit_map(
    ctx: fray.JobContext, library: Path, settings: Settings, batches: Sequence[Sequence[File]]
) -> list[fray.ObjectRef[Learnt]]:
    """Start one C++ task a batch."""
    read_batch = fray.cpp(library).function("read_batch")
    rules, permutations = characters(), steps.Permutations.from_seed(settings.seed)
    numbers = np.concatenate([permutations.a.ravel(), permutations.b.ravel()])
    plain = {
        "root": str(settings.root),
        "seed": settings.seed,
        "max_file_bytes": settings.max_file_bytes,
        "factors": steps.SHINGLE_FACTORS,
    }
    return [ctx.run(read_batch, plain, rules, numbers, _described(batch)) for batch in batches]


def _described(batch: Sequence[File]) -> list[list[object]]:
    """Files whose names are no UTF-8 have an empty path: the C++ code leaves those to Python."""
    return [
        [file.number, file.path if file.path.isprintable() else "", steps.document_key(file.path)] for file in batch
    ]


def take_in(settings: Settings, batch: Sequence[File], learnt: Learnt) -> tuple[object, ...]:
    """Return what `corpus_steps.read_batch` returns for the batch."""
    skipped = Counter({Skip(reason): count for reason, count in learnt["skipped"].items()})
    readings = {reading.document.number: reading for reading in _readings(batch, learnt)}
    left = set(learnt["left"])
    permutations = steps.Permutations.from_seed(settings.seed) if left else None
    for file in batch:
        if permutations is not None and file.number in left:
            reading = steps.read_document(settings, permutations, file)
            if isinstance(reading, Skip):
                skipped[reading] += 1
            else:
                readings[file.number] = reading
    ordered = [readings[number] for number in sorted(readings)]
    figures = steps.count(skipped, ordered)
    figures["bytes"] += learnt["bytes"]
    documents = [reading.document for reading in ordered]
    return figures, steps.sketch(ordered), steps.pack(ordered), *steps.split_by_shard(documents, settings.shards)


def _readings(batch: Sequence[File], learnt: Learnt) -> list[Reading]:
    """The documents that were read in C++; their bytes are counted there."""
    keys = {file.number: steps.document_key(file.path) for file in batch}
    texts, digests = learnt["texts"], learnt["digests"]
    readings: list[Reading] = []
    text_begin = shingle_begin = 0
    for index, number in enumerate(learnt["numbers"]):
        text_end, shingle_end = learnt["text_ends"][index], learnt["shingle_ends"][index]
        order = int(learnt["orders"][index])
        text = texts[text_begin:text_end].decode()
        readings.append(
            Reading(
                document=Document(number, keys[number], order, learnt["tokens"][index], text),
                bytes_read=0,
                digest=digests[16 * index : 16 * index + 16],
                shingles=learnt["shingles"][shingle_begin:shingle_end],
                signature=learnt["signatures"][index],
            )
        )
        text_begin, shingle_begin = text_end, shingle_end
    return readings
