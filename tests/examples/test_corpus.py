"""The corpus example: one result everywhere, the right documents dropped, clear words about bad input."""

from __future__ import annotations

import contextlib
import gzip
import importlib
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import fray
import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))

import corpus  # noqa: E402
import corpus_plain  # noqa: E402
import corpus_status  # noqa: E402
import corpus_steps as steps  # noqa: E402

SKIPPED = {"binary": 1, "empty": 2, "not_utf8": 1, "special": 1, "symlink": 3, "too_large": 1}


def words(seed: int, count: int) -> list[str]:
    generator = random.Random(seed)
    return [f"w{generator.randrange(10**6)}" for _ in range(count)]


def text(*parts: list[str]) -> str:
    return " ".join(word for part in parts for word in part) + "\n"


def write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Sixty documents of their own, planted duplicates, and files that are no documents."""
    root = tmp_path / "input"
    for number in range(60):
        write(root / f"unique/{number % 7}/{number:02}.txt", text(words(number, 20 + 9 * number)))
    plant_exact_duplicates(root)
    plant_chain(root)
    plant_short_texts(root)
    plant_skipped(root)
    return root


def plant_exact_duplicates(root: Path) -> None:
    body = text(words(1000, 80))
    write(root / "exact/a.txt", body)
    write(root / "exact/b.txt", b"\xef\xbb\xbf" + body.encode())
    write(root / "zz/a.txt", "\r\n\r\n" + body.rstrip("\n") + "  \r\n\r\n")


def plant_chain(root: Path) -> None:
    """a ~ b and b ~ c have a Jaccard index of 0.88, a and c of 0.78: all three are one component."""
    shared, one, other = words(2000, 876), words(2001, 124), words(2002, 124)
    write(root / "chain/a.txt", text(shared, one))
    write(root / "chain/b.txt", text(other[62:], shared, one[:62]))
    write(root / "chain/c.txt", text(other, shared))
    write(root / "different/half.txt", text(words(2003, 500), shared[:500]))


def plant_short_texts(root: Path) -> None:
    write(root / "short/one.txt", "alone")
    write(root / "short/two.txt", "  alone  \n")  # the space before it stays: near, not exact
    write(root / "short/three.txt", "two words")


def plant_skipped(root: Path) -> None:
    write(root / "skipped/binary", b"text first, then \0 and more")
    write(root / "skipped/empty", "")
    write(root / "skipped/no words", "... !\n")
    write(root / "skipped/latin-1", "na\u00efve".encode("latin-1"))
    write(root / "skipped/large", "large " * 10_000)
    os.mkfifo(root / "skipped/pipe")
    (root / "skipped/loop").symlink_to(root)
    (root / "skipped/link").symlink_to(root / "short/one.txt")
    (root / "skipped/broken").symlink_to("nowhere")


@pytest.fixture
def settings(root: Path, tmp_path: Path) -> steps.Settings:
    return steps.Settings(root, tmp_path / "out", seed=3, shards=4, batch_bytes=20_000, max_file_bytes=50_000)


CONTEXTS = {
    "sync": lambda: fray.LocalJobContext(),
    "serialize": lambda: fray.LocalJobContext(serialize=True),
    "thread": lambda: fray.ThreadContext(max_workers=2),
}
with contextlib.suppress(ImportError):
    importlib.import_module("fray.backend.native.context")
    CONTEXTS["native"] = lambda: fray.init(cpus=2)


@pytest.fixture(params=CONTEXTS)
def ctx(request: pytest.FixtureRequest) -> Iterator[fray.JobContext]:
    with CONTEXTS[request.param]() as ctx:
        yield ctx
    fray.set_job_context(None)


def files_of(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(out.iterdir())}


def plain(settings: steps.Settings) -> dict[str, bytes]:
    settings.out.mkdir()
    corpus_plain.run_plain(settings)
    return files_of(settings.out)


def documents_of(files: dict[str, bytes]) -> list[dict[str, object]]:
    shards = [gzip.decompress(data) for name, data in files.items() if name.endswith(".gz")]
    return [json.loads(line) for shard in shards for line in shard.splitlines()]


def paths_of(files: dict[str, bytes]) -> list[object]:
    return [document["path"] for document in documents_of(files)]


def run_script(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLES / "corpus.py"), *map(str, arguments)]
    path = os.pathsep.join(entry for entry in sys.path if entry)
    env = {**os.environ, "FRAY_CLUSTER_SPEC": "sync", "PYTHONPATH": path, **environment}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


# ---- the same everywhere


def test_every_context_writes_the_bytes_of_the_plain_computation(
    ctx: fray.JobContext, settings: steps.Settings, tmp_path: Path
) -> None:
    settings.out.mkdir()
    corpus.run_on_fray(ctx, settings, corpus.Stopwatch())
    assert files_of(settings.out) == plain(replace(settings, out=tmp_path / "plain"))


def test_size_of_batches_does_not_change_the_output(settings: steps.Settings, tmp_path: Path) -> None:
    outputs = []
    for batch_bytes in (1, 10**9):
        changed = replace(settings, out=tmp_path / str(batch_bytes), batch_bytes=batch_bytes)
        changed.out.mkdir()
        with fray.LocalJobContext() as ctx:
            corpus.run_on_fray(ctx, changed, corpus.Stopwatch())
        outputs.append(files_of(changed.out))
    assert outputs[0] == outputs[1]


def test_string_hashing_of_python_does_not_change_the_output(root: Path, tmp_path: Path) -> None:
    outputs = []
    for hash_seed in ("1", "2"):
        out = tmp_path / hash_seed
        finished = run_script(root, "--out", out, "--seed", 5, PYTHONHASHSEED=hash_seed)
        assert finished.returncode == 0, finished.stderr
        outputs.append(files_of(out))
    assert outputs[0] == outputs[1]


def test_plain_computation_does_not_import_fray() -> None:
    code = "import sys, corpus_plain; sys.exit(any(name.split('.')[0] == 'fray' for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], cwd=EXAMPLES, timeout=60, check=False).returncode == 0


def test_other_seed_shuffles_differently_and_keeps_the_same_of_clear_cases(
    settings: steps.Settings, tmp_path: Path
) -> None:
    """Clear: far from 0.8 on either side. Near 0.8 the seed decides which pairs are compared at all."""
    one = paths_of(plain(replace(settings, out=tmp_path / "one", seed=1)))
    other = paths_of(plain(replace(settings, out=tmp_path / "other", seed=2)))
    assert one != other
    assert set(one) == set(other)


# ---- reports of the tasks


def begin(ctx: fray.JobContext, folder: Path) -> corpus_status.JobStatus:
    folder.mkdir(exist_ok=True)
    return corpus_status.JobStatus.begin(ctx, folder)


def report(status: corpus_status.JobStatus, part: int, figures: dict[str, int]) -> None:
    status.report("read", part, figures)


def test_jobs_of_one_node_share_the_named_actor_and_keep_apart(ctx: fray.JobContext, tmp_path: Path) -> None:
    one, other = begin(ctx, tmp_path / "one"), begin(ctx, tmp_path / "other")
    assert ctx.get_actor("status_actor") == one.actor == other.actor
    ctx.get([ctx.run(report, one, part, {"bytes": 10}) for part in range(3)])
    ctx.get(ctx.run(report, other, 0, {"bytes": 7}))
    assert (one.totals("read"), other.totals("read")) == ({"parts": 3, "bytes": 30}, {"parts": 1, "bytes": 7})
    assert one.totals("write") == {}


def test_part_that_is_reported_again_is_counted_once_as_it_was_last(ctx: fray.JobContext, tmp_path: Path) -> None:
    status = begin(ctx, tmp_path)
    for size in (10, 10, 12):
        status.report("read", 0, {"bytes": size})
    assert status.totals("read") == {"parts": 1, "bytes": 12}


def test_job_in_a_folder_used_before_starts_from_nothing(ctx: fray.JobContext, tmp_path: Path) -> None:
    begin(ctx, tmp_path).report("read", 0, {"bytes": 1})
    assert begin(ctx, tmp_path).totals("read") == {}


def test_journal_is_gone_with_the_end_of_the_job_however_often_it_is_said(ctx: fray.JobContext, tmp_path: Path) -> None:
    status = begin(ctx, tmp_path)
    status.report("read", 0, {"bytes": 1})
    assert list(tmp_path.iterdir()) == [status.journal]
    status.end()
    status.end()
    assert list(tmp_path.iterdir()) == []


def test_actor_that_is_started_again_knows_what_was_reported(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    actor = corpus_status.StatusActor()
    actor.begin(journal)
    actor.report(journal, "read", 0, {"bytes": 1})
    assert corpus_status.StatusActor().totals(journal, "read") == {"parts": 1, "bytes": 1}


def test_report_that_was_cut_off_by_a_kill_is_made_anew(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    journal.write_text('["read", 0, {"bytes": 1}]\n["read", 1, {"byt')
    corpus_status.StatusActor().report(journal, "read", 1, {"bytes": 2})
    assert corpus_status.StatusActor().totals(journal, "read") == {"parts": 2, "bytes": 3}


def test_folder_is_told_when_its_journal_cannot_be_written(ctx: fray.JobContext, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"status\.unfinished"):
        corpus_status.JobStatus.begin(ctx, tmp_path / "missing")


# ---- kills


@pytest.fixture
def native() -> Iterator[fray.JobContext]:
    if "native" not in CONTEXTS:
        pytest.fail("the native engine is not built")
    with CONTEXTS["native"]() as ctx:
        yield ctx
    fray.set_job_context(None)


def first_to_come(mark: Path) -> bool:
    """Whether nobody has made `mark` yet; makes it."""
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def then_die_once(mark: Path, step: Callable[..., Any], *args: Any) -> Any:
    result = step(*args)
    if first_to_come(mark):
        die()
    return result


def die_once_then(mark: Path, step: Callable[..., Any], *args: Any) -> Any:
    if first_to_come(mark):
        die()
    return step(*args)


def assert_output_is_that_of_the_plain_computation(
    ctx: fray.JobContext, settings: steps.Settings, tmp_path: Path
) -> None:
    settings.out.mkdir()
    corpus.run_on_fray(ctx, settings, corpus.Stopwatch())
    assert files_of(settings.out) == plain(replace(settings, out=tmp_path / "plain"))


@pytest.mark.parametrize("step", ["read", "compare", "write"])
@pytest.mark.parametrize("moment", [die_once_then, then_die_once], ids=["before", "after"])
def test_worker_that_is_killed_before_or_after_its_report_changes_no_figure(
    native: fray.JobContext,
    settings: steps.Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    moment: Callable[..., Any],
) -> None:
    monkeypatch.setattr(corpus, step, partial(moment, tmp_path / "died", getattr(corpus, step)))
    assert_output_is_that_of_the_plain_computation(native, settings, tmp_path)
    assert (tmp_path / "died").exists()


def mortal(marks: Path, moment: Callable[..., Any]) -> type:
    """A `StatusActor` whose process is killed in the middle of each stage and at the end of the job, once each."""

    class Mortal(corpus_status.StatusActor):
        def report(self, journal: Path, stage: str, part: int, figures: dict[str, int]) -> None:
            known = super().report
            report = partial(moment, marks / stage, known) if part == 2 else known
            report(journal, stage, part, figures)

        def end(self, journal: Path) -> None:
            moment(marks / "end", super().end, journal)

    return Mortal


@pytest.mark.parametrize("moment", [die_once_then, then_die_once], ids=["before", "after"])
def test_status_actor_that_is_killed_before_or_after_it_wrote_changes_no_figure(
    native: fray.JobContext,
    settings: steps.Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    moment: Callable[..., Any],
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    monkeypatch.setattr(corpus_status, "StatusActor", mortal(marks, moment))
    assert_output_is_that_of_the_plain_computation(native, settings, tmp_path)
    assert sorted(mark.name for mark in marks.iterdir()) == ["compare", "end", "read", "write"]


# ---- the right documents


def test_smallest_path_of_each_component_stays(settings: steps.Settings) -> None:
    kept = set(paths_of(plain(settings)))
    assert {"exact/a.txt", "chain/a.txt", "different/half.txt", "short/one.txt", "short/three.txt"} <= kept
    assert kept.isdisjoint({"exact/b.txt", "zz/a.txt", "chain/b.txt", "chain/c.txt", "short/two.txt"})
    assert len([path for path in kept if str(path).startswith("unique/")]) == 60


def test_ends_of_the_planted_chain_are_not_similar_themselves(settings: steps.Settings) -> None:
    a, b, c = (shingles_of(settings.root / f"chain/{name}.txt") for name in "abc")
    assert steps.similar(a, b)
    assert steps.similar(b, c)
    assert not steps.similar(a, c)


def shingles_of(path: Path) -> steps.Hashes:
    return steps.shingles(steps.split_words(path.read_text()))


def test_summary_counts_every_file_once(settings: steps.Settings) -> None:
    summary = json.loads(plain(settings)["summary.json"])
    assert {reason: count for reason, count in summary["skipped"].items() if count} == SKIPPED
    assert summary["exact_duplicates"] == 2
    assert summary["near_duplicates"] == 3
    assert summary["documents_kept"] == summary["documents"] - 5 == 65
    assert summary["files"] == summary["documents"] + sum(SKIPPED.values())


def test_shards_are_one_sequence_in_the_order_of_the_stable_hash(settings: steps.Settings) -> None:
    orders = [steps.shuffle_order(str(path), settings.seed) for path in paths_of(plain(settings))]
    assert orders == sorted(orders)


def test_similar_means_jaccard_of_at_least_four_fifths() -> None:
    ten = steps.shingles([f"w{n}" for n in range(14)])
    assert len(ten) == 10
    assert steps.similar(ten, ten[:8])
    assert not steps.similar(ten, ten[:7])


def test_tokens_are_words_and_visible_characters() -> None:
    for sample in ("", "x", "a+b == c_d;\n\u00e9t\u00e9 \u2014 ok\u3000\x0cend...", "  (\tfoo[1:-2]) "):
        assert steps.count_tokens(sample, steps.split_words(sample)) == len(re.findall(r"\w+|[^\w\s]", sample))


def test_normalised_text_has_one_form() -> None:
    assert steps.normalise("\r\n\ncafe\u0301 \r\n  x\t\r\r") == "caf\u00e9\n  x"


def test_signature_of_a_union_is_the_minimum_of_the_signatures() -> None:
    permutations = steps.Permutations.from_seed(0)
    members = steps.shingles(words(7, 10_000))
    parts = [steps.signature(part, permutations) for part in (members[:1], members[1:5000], members[5000:])]
    assert (steps.signature(members, permutations) == np.min(parts, axis=0)).all()


# ---- bad input


def test_file_that_vanishes_after_it_was_found_is_counted(settings: steps.Settings) -> None:
    (settings.root / "short/one.txt").unlink()
    read = steps.read_text(settings.root / "short/one.txt", 100)
    assert read is steps.Skip.VANISHED


def test_file_that_cannot_be_read_is_counted(settings: steps.Settings) -> None:
    assert steps.read_text(settings.root / "short", 100) is steps.Skip.UNREADABLE


def test_file_name_that_is_not_utf8_is_written_with_escapes(tmp_path: Path) -> None:
    root = tmp_path / "input"
    root.mkdir()
    with open(os.fsencode(root) + b"/caf\xe9", "w") as stream:
        stream.write("coffee")
    assert paths_of(plain(steps.Settings(root, tmp_path / "out"))) == ["caf\\xe9"]


def test_folder_without_documents_gives_empty_shards(tmp_path: Path) -> None:
    settings = steps.Settings(tmp_path / "input", tmp_path / "out", shards=2)
    write(settings.root / "binary", b"\0")
    settings.out.mkdir()
    with fray.LocalJobContext() as ctx:
        summary = corpus.run_on_fray(ctx, settings, corpus.Stopwatch())
    assert (summary.files, summary.kept) == (1, 0)
    assert files_of(settings.out) == plain(replace(settings, out=tmp_path / "plain"))


@pytest.mark.parametrize(
    ("source", "out", "message"),
    [
        ("missing", "out", "there is no folder"),
        ("file", "out", "is not a folder"),
        ("empty", "out", "holds no files"),
        ("input", "input/out", "lies inside the input folder"),
        ("input", "input", "lies inside the input folder"),
        ("input", "full", "is not empty"),
        ("input", "file", "is not a folder"),
    ],
)
def test_unusable_folders_are_told_in_one_line(tmp_path: Path, source: str, out: str, message: str) -> None:
    write(tmp_path / "input/a.txt", "some text")
    write(tmp_path / "full/keep.txt", "mine")
    write(tmp_path / "file", "")
    (tmp_path / "empty").mkdir()
    finished = run_script(tmp_path / source, "--out", tmp_path / out)
    assert finished.returncode == 2
    assert message in finished.stderr
    assert "Traceback" not in finished.stderr
    assert (tmp_path / "full/keep.txt").read_text() == "mine"


def test_script_prints_table_and_compares(root: Path, tmp_path: Path) -> None:
    finished = run_script(root, "--out", tmp_path / "out", "--compare")
    assert finished.returncode == 0, finished.stderr
    rows = dict(re.split(r"  +", line, maxsplit=1) for line in finished.stdout.splitlines())
    assert rows["near duplicates"] == "3"
    assert rows["same output"] == "yes, byte for byte"
    assert float(rows["speed-up"].split()[0]) > 0


def test_sample_of_the_files_is_even_and_gives_the_same_output_everywhere(
    ctx: fray.JobContext, settings: steps.Settings, tmp_path: Path
) -> None:
    every = [file.path for file in steps.find_files(settings.root)[0]]
    most = len(every) // 3
    sample = [file.path for file in steps.find_files(settings.root, most)[0]]
    assert len(sample) == most
    assert sample == sorted(set(sample) & set(every))
    assert max(every.index(after) - every.index(before) for before, after in itertools.pairwise(sample)) <= 4
    sampled = replace(settings, most_files=most)
    sampled.out.mkdir()
    corpus.run_on_fray(ctx, sampled, corpus.Stopwatch())
    assert files_of(sampled.out) == plain(replace(sampled, out=tmp_path / "plain"))
