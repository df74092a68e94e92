"""The steps of the corpus job as plain functions of plain values.

Nothing here knows where it runs: `corpus.py` makes tasks of these functions, `corpus_plain.py` calls those for a single
document in a loop. Files are numbered in the order of their paths, so the smallest path of a group of documents is the
one with the smallest number, and everything after reading works with numbers.

Two documents are duplicates of each other when
    exact   their normalised texts are equal, or
    near    they agree in one of the 16 bands of their MinHash signatures, and the Jaccard index of their shingle sets
            is at least 0.8.
The signature only proposes pairs. What decides is the set of all shingles, not an estimate made from signatures.
"""

from __future__ import annotations

import errno
import gzip
import json
import os
import random
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b, sha256
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SHINGLE_WORDS = 5
PERMUTATIONS = 128
BANDS = 16
ROWS = PERMUTATIONS // BANDS
SIMILAR = 0.8

Numbers = NDArray[np.int64]
Hashes = NDArray[np.uint64]
Bucket = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user asked for. The output depends on nothing else, least of all on the machine's number of cores."""

    root: Path
    out: Path
    seed: int = 0
    shards: int = 16
    batch_bytes: int = 4 << 20  # about as much as one map task reads
    max_file_bytes: int = 16 << 20  # larger files are skipped
    most_files: int | None = None  # of a larger folder, these are an even sample


class Skip(StrEnum):
    """Why a file or folder is not in the corpus."""

    BINARY = "binary"
    EMPTY = "empty"
    NOT_UTF8 = "not_utf8"
    SPECIAL = "special"
    SYMLINK = "symlink"
    TOO_LARGE = "too_large"
    UNREADABLE = "unreadable"
    VANISHED = "vanished"


@dataclass(frozen=True, slots=True)
class File:
    number: int
    path: str  # relative to the root, with undecodable bytes as os.fsdecode leaves them
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Document:
    number: int
    key: str
    order: int  # where the shuffle puts it
    tokens: int
    text: str


@dataclass(frozen=True, slots=True)
class Sketches:
    """What finding duplicates needs to know of every document of a batch: 170 bytes each."""

    numbers: Numbers
    digests: list[bytes]
    band_keys: Hashes  # one row a document, one column a band


@dataclass(frozen=True, slots=True)
class ShingleSets:
    """The shingle sets of a batch end to end in one array, so that readers share it instead of copying it."""

    numbers: Numbers
    ends: Numbers
    values: Hashes

    def items(self) -> Iterator[tuple[int, Hashes]]:
        start = 0
        for number, end in zip(self.numbers.tolist(), self.ends.tolist(), strict=True):
            yield number, self.values[start:end]
            start = end


@dataclass(frozen=True, slots=True)
class Duplicates:
    exact: Numbers
    near: Numbers


@dataclass(frozen=True, slots=True)
class ShardReport:
    name: str
    documents: int
    tokens: int
    text_bytes: int
    file_bytes: int
    sha256: str


# ---- find ------------------------------------------------------------------------------------------------------------


def find_files(root: Path, most: int | None = None) -> tuple[list[File], Counter[Skip]]:
    """Every regular file under `root`, or an even sample of them, numbered by path.

    Symbolic links are not followed, so a loop cannot arise.
    """
    sizes: dict[str, int] = {}
    skipped: Counter[Skip] = Counter()
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            entries = list(os.scandir(root / folder))
        except OSError as error:
            skipped[reason_for(error)] += 1
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            try:
                if entry.is_symlink():
                    skipped[Skip.SYMLINK] += 1
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(path)
                elif entry.is_file(follow_symlinks=False):
                    sizes[path] = entry.stat(follow_symlinks=False).st_size
                else:
                    skipped[Skip.SPECIAL] += 1
            except OSError as error:
                skipped[reason_for(error)] += 1
    paths = sorted(sizes)
    if most is not None and len(paths) > most:
        paths = [paths[number * len(paths) // most] for number in range(most)]
    return [File(number, path, sizes[path]) for number, path in enumerate(paths)], skipped


def reason_for(error: OSError) -> Skip:
    return Skip.VANISHED if error.errno == errno.ENOENT else Skip.UNREADABLE


def split_into_batches(files: Sequence[File], batch_bytes: int) -> list[list[File]]:
    """Consecutive files of about `batch_bytes` together, each counted with 4 KiB more for the work of opening it."""
    batches: list[list[File]] = []
    room = 0
    for file in files:
        if room <= 0:
            batches.append([])
            room = batch_bytes
        batches[-1].append(file)
        room -= file.size_bytes + 4096
    return batches


# ---- read one document -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Content:
    text: str
    size_bytes: int


def read_text(path: Path, max_bytes: int) -> Content | Skip:
    """What the file holds, or why that is no text. A NUL byte makes a file binary."""
    try:
        with open(path, "rb") as stream:
            data = stream.read(8192)
            if b"\0" in data:
                return Skip.BINARY
            data += stream.read(max_bytes + 1 - len(data))
    except OSError as error:
        return reason_for(error)
    if len(data) > max_bytes:
        return Skip.TOO_LARGE
    if b"\0" in data:
        return Skip.BINARY
    try:
        return Content(data.decode("utf-8-sig"), len(data))
    except UnicodeDecodeError:
        return Skip.NOT_UTF8


def normalise(text: str) -> str:
    """Unicode NFC, `\\n` line ends, no space at the end of lines, no empty lines around the text."""
    text = unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n")
    return "\n".join([line.rstrip() for line in text.split("\n")]).strip("\n")


WORD = re.compile(r"\w+")


def split_words(text: str) -> list[str]:
    return WORD.findall(text)


def count_tokens(text: str, words: Sequence[str]) -> int:
    """A token is a word, or one visible character outside of words: the matches of `\\w+|[^\\w\\s]`, counted faster."""
    visible = sum(map(len, text.split()))
    return len(words) + visible - sum(map(len, words))


@lru_cache(maxsize=1 << 18)
def word_hash(word: str) -> int:
    """64 bits of a word, upper and lower case being the same. Cached: text repeats its words."""
    return int.from_bytes(blake2b(word.casefold().encode(), digest_size=8).digest(), "little")


SHINGLE_FACTORS = [word_hash(f"factor {position}") | 1 for position in range(SHINGLE_WORDS)]


def shingles(words: Sequence[str]) -> Hashes:
    """The set of 64-bit hashes of all runs of 5 words, sorted. A shorter text is one run."""
    hashes = np.fromiter(map(word_hash, words), np.uint64, len(words))
    runs = max(1, len(words) - SHINGLE_WORDS + 1)
    total = np.zeros(runs, np.uint64)
    for position, factor in enumerate(SHINGLE_FACTORS[: len(words)]):
        total += hashes[position : position + runs] * np.uint64(factor)
    return np.unique(total)


@dataclass(frozen=True, slots=True)
class Permutations:
    """128 permutations `x -> a*x + b (mod 2^32)` of the 32-bit integers: an odd `a` has an inverse. Two columns."""

    a: NDArray[np.uint32]
    b: NDArray[np.uint32]

    @staticmethod
    def from_seed(seed: int) -> Permutations:
        generator = random.Random(f"minhash {seed}")
        draws = np.array([[generator.getrandbits(32) for _ in range(2)] for _ in range(PERMUTATIONS)], np.uint32)
        return Permutations(a=draws[:, :1] | np.uint32(1), b=draws[:, 1:])


def signature(shingle_set: Hashes, permutations: Permutations) -> NDArray[np.uint32]:
    """MinHash: the smallest image of the set under each permutation."""
    smallest = np.full(PERMUTATIONS, np.iinfo(np.uint32).max, np.uint32)
    points = (shingle_set >> np.uint64(32)).astype(np.uint32)
    for start in range(0, len(points), 4096):  # blocks of 2 MiB, to stay in the cache
        images = permutations.a * points[start : start + 4096]
        images += permutations.b
        np.minimum(smallest, images.min(axis=1), out=smallest)
    return smallest


ROW_FACTORS = np.array([word_hash(f"row {row}") | 1 for row in range(ROWS)], np.uint64)


def band_keys(signatures: NDArray[np.uint32]) -> Hashes:
    """One 64-bit key for the 8 rows of each band, for each signature (a row of `signatures`)."""
    rows = signatures.reshape(-1, BANDS, ROWS).astype(np.uint64)
    return (rows * ROW_FACTORS).sum(axis=2, dtype=np.uint64)


def shuffle_order(key: str, seed: int) -> int:
    """A 64-bit position that depends on the document's key and the seed alone."""
    return int.from_bytes(blake2b(f"{seed}\0{key}".encode(), digest_size=8).digest(), "big")


def shard_of(order: int, shards: int) -> int:
    """Shards are equal ranges of the order: one after the other they are one shuffled sequence."""
    return order * shards >> 64


def document_key(path: str) -> str:
    """The path as valid Unicode: bytes of a file name that are not UTF-8 are written `\\xNN`."""
    return os.fsencode(path).decode(errors="backslashreplace")


# ---- map: read a batch -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reading:
    """All that is learnt from one file."""

    document: Document
    bytes_read: int
    digest: bytes
    shingles: Hashes
    signature: NDArray[np.uint32]


def read_document(settings: Settings, permutations: Permutations, file: File) -> Reading | Skip:
    content = read_text(settings.root / file.path, settings.max_file_bytes)
    if isinstance(content, Skip):
        return content
    text = normalise(content.text)
    words = split_words(text)
    if not words:
        return Skip.EMPTY
    key = document_key(file.path)
    order = shuffle_order(key, settings.seed)
    shingle_set = shingles(words)
    return Reading(
        document=Document(file.number, key, order, count_tokens(text, words), text),
        bytes_read=content.size_bytes,
        digest=blake2b(text.encode(), digest_size=16).digest(),
        shingles=shingle_set,
        signature=signature(shingle_set, permutations),
    )


def read_batch(settings: Settings, files: Sequence[File]) -> tuple[object, ...]:
    """The figures of the batch, the `Sketches`, the `ShingleSets`, then for each shard the list of its `Document`s."""
    permutations = Permutations.from_seed(settings.seed)
    skipped: Counter[Skip] = Counter()
    readings: list[Reading] = []
    for file in files:
        reading = read_document(settings, permutations, file)
        if isinstance(reading, Skip):
            skipped[reading] += 1
        else:
            readings.append(reading)
    documents = [reading.document for reading in readings]
    return count(skipped, readings), sketch(readings), pack(readings), *split_by_shard(documents, settings.shards)


def count(skipped: Counter[Skip], readings: Sequence[Reading]) -> Counter[str]:
    figures = Counter[str]({reason.value: count for reason, count in skipped.items()})
    figures["documents"] = len(readings)
    figures["bytes"] = sum(reading.bytes_read for reading in readings)
    figures["tokens"] = sum(reading.document.tokens for reading in readings)
    return figures


def sketch(readings: Sequence[Reading]) -> Sketches:
    signatures = np.array([reading.signature for reading in readings], np.uint32)
    digests = [reading.digest for reading in readings]
    return Sketches(numbers_of(readings), digests, band_keys(signatures))


def pack(readings: Sequence[Reading]) -> ShingleSets:
    ends = np.cumsum([len(reading.shingles) for reading in readings], dtype=np.int64)
    values = np.concatenate([np.empty(0, np.uint64), *(reading.shingles for reading in readings)])
    return ShingleSets(numbers_of(readings), ends, values)


def numbers_of(readings: Sequence[Reading]) -> Numbers:
    return np.array([reading.document.number for reading in readings], np.int64)


def split_by_shard(documents: Iterable[Document], shards: int) -> list[list[Document]]:
    parts: list[list[Document]] = [[] for _ in range(shards)]
    for document in documents:
        parts[shard_of(document.order, shards)].append(document)
    return parts


# ---- reduce: find duplicates -----------------------------------------------------------------------------------------


def find_exact_duplicates(*batches: Sketches) -> Numbers:
    """The documents whose text is that of a document with a smaller path."""
    seen: set[bytes] = set()
    duplicates: list[int] = []
    for batch in batches:
        for number, digest in zip(batch.numbers.tolist(), batch.digests, strict=True):
            if digest in seen:
                duplicates.append(number)
            seen.add(digest)
    return np.array(duplicates, np.int64)


def find_buckets(bands: Sequence[int], exact: Numbers, *batches: Sketches) -> set[Bucket]:
    """The groups of two and more different documents that share a key in one of `bands`."""
    numbers = np.concatenate([batch.numbers for batch in batches])
    keep = ~np.isin(numbers, exact)
    numbers = numbers[keep]
    buckets: set[Bucket] = set()
    for band in bands:
        keys = np.concatenate([batch.band_keys[:, band] for batch in batches])[keep]
        by_key = np.argsort(keys, kind="stable")
        edges = np.concatenate(([0], np.flatnonzero(np.diff(keys[by_key])) + 1, [len(keys)]))
        shared = np.flatnonzero(np.diff(edges) > 1)
        for start, end in zip(edges[shared].tolist(), edges[shared + 1].tolist(), strict=True):
            buckets.add(tuple(numbers[by_key[start:end]].tolist()))
    return buckets


class Groups:
    """Disjoint sets of numbers (union-find). The smallest number of a group stands for it."""

    def __init__(self) -> None:
        self._parent: dict[int, int] = {}

    def find(self, number: int) -> int:
        parent = self._parent
        while (above := parent.setdefault(number, number)) != number:
            parent[number] = number = parent[above]
        return number

    def join(self, one: int, other: int) -> None:
        one, other = self.find(one), self.find(other)
        self._parent[max(one, other)] = min(one, other)

    def not_smallest(self) -> list[int]:
        return sorted(number for number in self._parent if self.find(number) != number)


def split_candidates(parts: int, *found: set[Bucket]) -> list[list[Bucket]]:
    """All buckets in `parts` shares of about equal work; buckets with a document in common stay together."""
    buckets = sorted({bucket for some in found for bucket in some})
    groups = Groups()
    for bucket in buckets:
        for number in bucket[1:]:
            groups.join(bucket[0], number)
    clusters: dict[int, list[Bucket]] = {}
    for bucket in buckets:
        clusters.setdefault(groups.find(bucket[0]), []).append(bucket)

    shares: list[list[Bucket]] = [[] for _ in range(parts)]
    work = [0] * parts
    for cluster in sorted(clusters.values(), key=pairs_in, reverse=True):
        least = work.index(min(work))
        shares[least] += cluster
        work[least] += pairs_in(cluster)
    return shares


def pairs_in(buckets: Iterable[Bucket]) -> int:
    return sum(len(bucket) * (len(bucket) - 1) // 2 for bucket in buckets)


def find_near_duplicates(buckets: Iterable[Bucket], *batches: ShingleSets) -> Numbers:
    """The documents of `buckets` that are linked, in one or more steps, to a similar one with a smaller path.

    A pair that is linked already is not compared: the answer would change nothing.
    """
    wanted = {number for bucket in buckets for number in bucket}
    sets = {number: members for batch in batches for number, members in batch.items() if number in wanted}
    groups = Groups()
    compared: set[tuple[int, int]] = set()
    for bucket in buckets:
        for pair in combinations(bucket, 2):
            if pair in compared or groups.find(pair[0]) == groups.find(pair[1]):
                continue
            compared.add(pair)
            if similar(sets[pair[0]], sets[pair[1]]):
                groups.join(*pair)
    return np.array(groups.not_smallest(), np.int64)


def similar(one: Hashes, other: Hashes) -> bool:
    """Is the Jaccard index of the two sets (each sorted, without repetition) at least 0.8?"""
    small, large = sorted((len(one), len(other)))
    if small < SIMILAR * large:
        return False
    both = np.concatenate((one, other))
    both.sort()
    common = int(np.count_nonzero(both[1:] == both[:-1]))
    return common / (small + large - common) >= SIMILAR


def merge_duplicates(exact: Numbers, *near: Numbers) -> Duplicates:
    return Duplicates(exact, np.sort(np.concatenate(near)))


# ---- reduce: write ---------------------------------------------------------------------------------------------------


def write_shard(settings: Settings, shard: int, duplicates: Duplicates, *batches: list[Document]) -> ShardReport:
    """Write the documents of `shard` that stay, in the order of the shuffle."""
    dropped = {*duplicates.exact.tolist(), *duplicates.near.tolist()}
    documents = [document for batch in batches for document in batch if document.number not in dropped]
    documents.sort(key=lambda document: (document.order, document.number))
    return write_documents(settings.out, shard, documents)


def write_documents(out: Path, shard: int, documents: Sequence[Document]) -> ShardReport:
    name = f"part-{shard:05d}.jsonl.gz"
    data = gzip.compress("".join(map(json_line, documents)).encode(), compresslevel=6, mtime=0)
    write_whole(out / name, data)
    return ShardReport(
        name=name,
        documents=len(documents),
        tokens=sum(document.tokens for document in documents),
        text_bytes=sum(len(document.text.encode()) for document in documents),
        file_bytes=len(data),
        sha256=sha256(data).hexdigest(),
    )


def json_line(document: Document) -> str:
    record = {"path": document.key, "tokens": document.tokens, "text": document.text}
    return json.dumps(record, ensure_ascii=False) + "\n"


def write_whole(path: Path, data: bytes) -> None:
    """Put `data` at `path` at once: whoever sees the file sees all of it."""
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.write_bytes(data)
    unfinished.replace(path)


# ---- sum up ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Summary:
    """What came of the job. Holds no times and no absolute paths: the same input gives the same summary."""

    seed: int
    skipped: Counter[Skip]
    documents: int
    bytes_read: int
    tokens_read: int
    exact_duplicates: int
    near_duplicates: int
    shards: list[ShardReport]

    @property
    def files(self) -> int:
        return self.documents + self.skipped.total()

    @property
    def kept(self) -> int:
        return sum(shard.documents for shard in self.shards)


def write_summary(out: Path, summary: Summary) -> None:
    """Written last: an output folder with a summary is complete."""
    content = {
        "seed": summary.seed,
        "files": summary.files,
        "skipped": {reason.value: summary.skipped[reason] for reason in Skip},
        "documents": summary.documents,
        "bytes_read": summary.bytes_read,
        "tokens_read": summary.tokens_read,
        "exact_duplicates": summary.exact_duplicates,
        "near_duplicates": summary.near_duplicates,
        "documents_kept": summary.kept,
        "tokens_kept": sum(shard.tokens for shard in summary.shards),
        "shards": [asdict(shard) for shard in summary.shards],
    }
    write_whole(out / "summary.json", (json.dumps(content, indent=2) + "\n").encode())
