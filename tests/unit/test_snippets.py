"""The code blocks of the documents that Fray was written to, without Ray: each runs, is compared or has a reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import fray
import pytest
from fray import LocalJobContext, ThreadContext

from tests.snippets.blocks import COPIES, at_hand, blocks, copied
from tests.snippets.books import BOOKS, programs
from tests.snippets.copy_blocks import text_of
from tests.snippets.programs import PLACES, RAY_PLACES, Around, Book, Program, Refusal, run
from tests.snippets.reading import Block, read
from tests.snippets.write_page import PAGE, page

PRETENDED = {"GPU": 1, "TPU": 8, "TPU-v4-32-head": 1}
HERE = tuple(place for place in PLACES if place not in RAY_PLACES)


@pytest.fixture
def sync_context() -> Iterator[fray.JobContext]:
    with LocalJobContext() as context, fray.fray_default_job_ctx(context):
        yield context


@pytest.fixture
def thread_context() -> Iterator[fray.JobContext]:
    with ThreadContext(max_workers=2) as context, fray.fray_default_job_ctx(context):
        yield context


@pytest.fixture
def native_context() -> Iterator[fray.JobContext]:
    with (
        fray.create_job_ctx("native", cpus=4, memory=9 << 30, resources=PRETENDED) as context,
        fray.fray_default_job_ctx(context),
    ):
        yield context


@pytest.fixture
def local_cluster(sync_context: fray.JobContext) -> Iterator[fray.LocalCluster]:
    with fray.LocalCluster(cpus=2) as cluster, fray.set_current_cluster(cluster):
        yield cluster


@pytest.fixture
def around(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Program, str], Around]:
    """Make what is around a program: an empty folder, and its place."""
    monkeypatch.chdir(tmp_path)
    return lambda program, place: Around(blocks()[program.id], place, tmp_path, monkeypatch, request.getfixturevalue)


@pytest.mark.filterwarnings("ignore:tasks of this context run inside the program's own process:UserWarning")
@pytest.mark.parametrize(
    ("program", "place"), [pytest.param(program, place, id=name) for name, program, place in programs(HERE)]
)
def test_block_runs(program: Program, place: str, around: Callable[[Program, str], Around]):
    run(program, around(program, place))


@pytest.mark.parametrize("block_id", [block_id for book in BOOKS for block_id in book.declarations])
def test_fray_has_what_a_block_declares(block_id: str):
    book = next(book for book in BOOKS if block_id in book.declarations)
    book.declarations[block_id].check(blocks()[block_id])


# ---- the lists are whole and true


def test_every_block_is_run_or_compared_or_left_out_with_a_reason():
    known: list[str] = []
    for book in BOOKS:
        known += [*{program.id for program in book.programs.values()}, *book.declarations, *book.left_out]
        assert all(book.left_out.values())
    assert sorted(known) == sorted(blocks())


def test_the_copy_is_what_the_documents_say():
    documents = at_hand()
    if not documents:
        pytest.skip("the documents are not at hand (../shared/seeds, or FRAY_SEEDS): their copy is used")
    assert {path.name.split("_")[0] for path in documents} == {path.stem for path in COPIES.glob("*.toml")}
    for path in documents:
        copy = (COPIES / f"{path.name.split('_')[0]}.toml").read_text()
        assert copy == text_of(read(path)), f"run `python -m tests.snippets.copy_blocks`: {path.name} has changed"


def test_the_copy_has_the_same_blocks():
    wanted = [block if block.is_program else replace(block, code="") for block in blocks().values()]
    assert copied() == wanted


def test_the_page_is_what_the_lists_say():
    assert PAGE.read_text() == page(), "run `python -m tests.snippets.write_page`"


def test_no_block_that_imports_from_fray_is_left_out():
    """Such a block runs, so that a name which Fray lacks fails."""
    left_out = {block_id for book in BOOKS for block_id in book.left_out}
    importing = {block.id for block in blocks().values() if re.search(r"^\s*(from|import) fray\b", block.code, re.M)}
    assert importing
    assert not importing & left_out


# ---- the harness lets nothing through


def block_of(code: str) -> Block:
    return Block("900.1", "", "fenced", "python", "", code)


def harness_program(code: str, given: dict[str, object], monkeypatch: pytest.MonkeyPatch, **more: object) -> Program:
    """Return a program of a document that consists of `code`."""
    block = block_of(code)
    monkeypatch.setattr("tests.snippets.programs.blocks", lambda: {"900.1": block})
    book = Book("900")
    book.runs("900.1", "plain Python", lambda around: given, **more)(lambda around, names: None)
    return book.programs["900.1"]


@pytest.mark.parametrize(
    ("code", "given", "message"),
    [
        ("x = absent_name\n", {}, "takes \\['absent_name'\\]"),
        ("def f():\n    return absent_name\n", {}, "takes \\['absent_name'\\]"),
        ("x = 1\n", {"y": 2}, "makes no use of \\['y'\\]"),
        ("x = get_job_context()\n", {"get_job_context": lambda: None}, "its get_job_context is not Fray's"),
        ("x = RayCluster\n", {"RayCluster": object}, "its RayCluster is not Fray's"),
        ("x = ray.get(1)\n", {"ray": fray}, "its ray is not Ray"),
        ("x = dict(a=...)\n", {}, "nothing is given for its ..."),
    ],
)
def test_what_a_block_takes_from_around_is_given_and_hides_nothing(
    code: str, given: dict[str, object], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    program = harness_program(code, given, monkeypatch)
    with pytest.raises(AssertionError, match=message):
        run(program, Around(block_of(code), "plain Python", tmp_path, monkeypatch))


def test_a_name_that_fray_lacks_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    code = "from fray import nonsense\n"
    program = harness_program(code, {}, monkeypatch)
    with pytest.raises(ImportError, match="nonsense"):
        run(program, Around(block_of(code), "plain Python", tmp_path, monkeypatch))


def test_a_statement_that_is_to_be_refused_must_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    around = Around(block_of(""), "plain Python", tmp_path, monkeypatch)
    allowed = harness_program("int(1)\n", {}, monkeypatch, refusals=(Refusal("int(1)", TypeError, "no"),))
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        run(allowed, around)
    absent = harness_program("int(1)\n", {}, monkeypatch, refusals=(Refusal("float(1)", TypeError, "no"),))
    with pytest.raises(AssertionError, match="no statement that begins with 'float"):
        run(absent, around)
    filled = harness_program("int(1)\n", {}, monkeypatch, fills=("1",))
    with pytest.raises(AssertionError, match="fewer"):
        run(filled, around)


# ---- the reader


def test_reader_finds_fences_and_programs_in_sentences(tmp_path: Path):
    path = tmp_path / "100_x.txt"
    path.write_text(
        "# Title\nSay `f(1)`, not `f()` nor `ray`,\nor `NAME=x`.\n\n## Part\n```python\nx = `1`\n```\n"
        "Then `from a\nimport b`.\n\n```\n  indented\n    more\n```\n- item\n  ~~~ bash\n  ls ```\n  ~~~\n"
    )
    found = [(block.id, block.heading, block.kind, block.language, block.code) for block in read(path)]
    assert found == [
        ("100.1", "Title", "inline", "python", "f(1)\n"),
        ("100.2", "Title", "inline", "shell", "NAME=x\n"),
        ("100.3", "Part", "fenced", "python", "x = `1`\n"),
        ("100.4", "Part", "inline", "python", "from a import b\n"),
        ("100.5", "Part", "fenced", "text", "indented\n  more\n"),
        ("100.6", "Part", "fenced", "bash", "ls ```\n"),
    ]


def test_reader_finds_code_in_plain_text(tmp_path: Path):
    path = tmp_path / "100_x.txt"
    lines = (
        "Title",
        "",
        "Impact: Minimal",
        "# a comment",
        "def f(x):",
        '    """Why: words"""',
        "",
        "    return x",
        "- lib/fray.py",
        "Then:",
        "f(",
        "  1,",
        ")",
        "",
        "Timeline",
        "",
        "with open(p) as g:",
        '    g.write("""',
        "Some words.",
        '""")',
        "This is prose.",
        "old(x: int)",
    )
    path.write_text("\n" + "\n".join(f"     {line}" if line else "" for line in lines) + "\n  end\n")
    found = [(block.heading, block.code) for block in read(path)]
    assert found == [
        ("Title", '# a comment\ndef f(x):\n    """Why: words"""\n\n    return x\n'),
        ("Title", "f(\n  1,\n)\n"),
        ("Timeline", 'with open(p) as g:\n    g.write("""\nSome words.\n""")\n'),
        ("Timeline", "old(x: int)\n"),
    ]
