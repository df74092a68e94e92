"""The map step of the corpus job in C++ (examples/cpp/corpus), and its output as `corpus_steps` has it.

What a word, a space or a folded letter is, Python decides: its rules go along as tables. A document with characters
that may have to be brought into Unicode's normal form is read by `corpus_steps`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import corpus_steps as steps
import fray
import numpy as np
from corpus_steps import Document, File, Reading, Settings, Skip
from numpy.typing import NDArray

CHARACTERS = 0x20000  # all scripts that live, and emoji; documents with others are left to Python

WORD, SPACE, KNOWN, FOLDED = 1, 2, 4, 8  # `Property` in characters.h

Learnt = dict[str, Any]
"""The fields of `Learnt` in corpus_map.cc."""


@cache
def character_rules() -> dict[str, Any]:
    """Python's rules for characters, with the fields of `CharacterRules` in characters.h."""
    characters = "".join(map(chr, range(CHARACTERS)))
    properties = np.zeros(CHARACTERS, np.uint8)
    _mark(properties, steps.WORD, characters, WORD)
    _mark(properties, re.compile(r"\s+"), characters, SPACE)
    folds = {code: fold for code, one in enumerate(characters) if (fold := one.casefold()) != one}
    properties[list(folds)] |= FOLDED
    properties |= np.where(_unsafe(characters), 0, KNOWN).astype(np.uint8)
    return {"properties": properties, "folded": np.array(list(folds), np.uint32), "folds": list(folds.values())}


def _mark(properties: NDArray[np.uint8], pattern: re.Pattern[str], characters: str, mark: int) -> None:
    for match in pattern.finditer(characters):
        properties[match.start() : match.end()] |= mark


def _unsafe(characters: str) -> NDArray[np.bool_]:
    """Which characters can make a text differ from its normal form: by themselves, or with others before them."""
    unsafe = np.zeros(len(characters), bool)
    unsafe[0xD800:0xE000] = True
    for code, one in enumerate(characters):
        if 0xD800 <= code < 0xE000 or unicodedata.is_normalized("NFD", one):
            continue
        unsafe[code] |= not unicodedata.is_normalized("NFC", one)
        for part in unicodedata.normalize("NFD", one)[1:]:
            if ord(part) < len(characters):
                unsafe[ord(part)] = True
    unsafe |= np.fromiter(map(unicodedata.combining, characters), np.uint8, len(characters)) != 0
    return unsafe


def submit_map(
    ctx: fray.JobContext, library: Path, settings: Settings, batches: Sequence[Sequence[File]]
) -> list[fray.ObjectRef[Learnt]]:
    """Start one C++ task a batch."""
    read_batch = fray.cpp(library).function("read_batch")
    permutations = steps.Permutations.from_seed(settings.seed)
    plain = {
        "root": str(settings.root),
        "seed": settings.seed,
        "max_file_bytes": settings.max_file_bytes,
        "factors": steps.SHINGLE_FACTORS,
        "permutations": np.concatenate([permutations.a.ravel(), permutations.b.ravel()]),
    }
    return [ctx.run(read_batch, plain, character_rules(), _described(batch)) for batch in batches]


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
    texts, digests = memoryview(learnt["texts"]), learnt["digests"].tobytes()
    readings: list[Reading] = []
    text_begin = shingle_begin = 0
    for index, number in enumerate(learnt["numbers"]):
        text_end, shingle_end = learnt["text_ends"][index], learnt["shingle_ends"][index]
        order = int(learnt["orders"][index])
        text = str(texts[text_begin:text_end], "utf-8")
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
