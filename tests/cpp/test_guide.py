"""The code blocks of docs/guides/cpp.md are compiled and run, and the examples too."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.cpp.conftest import shell

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "guides" / "cpp.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
PROGRAMS = {match[1]: text for kind, text in BLOCKS if kind == "cpp" and (match := re.match(r"// (\w+)\.cc", text))}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("hello", "7\n"),
        ("tasks", None),
        ("values", "4\n21\n0.5\n1000 0.5\n"),
        ("actors", "6 16 16\n"),
        ("coroutines", "0 1 16 81 \n"),
        ("python", "3\n1 ValueError\n3\n"),
    ],
)
def test_program_of_the_guide_says_what_it_should(tmp_path: Path, name: str, said: str | None) -> None:
    (tmp_path / f"{name}.cc").write_text(PROGRAMS[name])
    command = next(text for kind, text in BLOCKS if kind == "sh" and "hello.cc" in text)
    shell(command.replace("hello", name), tmp_path)
    output = shell(f"./{name}", tmp_path)
    if said is not None:
        assert output == said
    else:
        numbers, *others = output.splitlines()
        assert sorted(numbers.split()[:3]) == ["1", "2", "3"]
        assert numbers.split()[3:] == ["2", "1"]
        assert others == ["std::invalid_argument", "11"]


def test_library_of_the_guide_is_called_by_its_python(tmp_path: Path) -> None:
    (tmp_path / "jobs.cc").write_text(PROGRAMS["jobs"])
    (tmp_path / "main.py").write_text(next(text for kind, text in BLOCKS if kind == "python"))
    shell(next(text for kind, text in BLOCKS if kind == "sh" and "jobs.cc" in text), tmp_path)
    shell(f"{sys.executable} main.py", tmp_path)


def test_no_program_of_the_guide_is_left_out() -> None:
    assert set(PROGRAMS) == {"hello", "tasks", "values", "actors", "coroutines", "python", "jobs"}
    assert len([kind for kind, _ in BLOCKS if kind == "cpp"]) == len(PROGRAMS)


def test_examples_run(examples: Path) -> None:
    assert shell("./hello", examples) == "Hello, world 42\n"
    assert shell("./pi 2000000 2>/dev/null", examples).startswith("3.14")
    assert shell("./parameter_server", examples).startswith("y = ")


TEXTS = {
    "plain.txt": "The quick brown fox jumps over the lazy dog, again and again.\r\n\r\n  Twice.  \n",
    "latin.txt": "Straße ÀÉÎÕÜ ŉ ǰ µ İ — no",
    "latin-only.txt": "Straße\u00a0ÀÉÎÕÜ\x85ŉ ǰ µ İstanbul one two three four five\x1c\n",
    "bom.txt": "\ufeffwords behind a mark, enough of them for a shingle or two",
    "decomposed.txt": "Cafe\u0301 Ångström words that have to be composed first",
    "greek.txt": "Ὀδυσσεύς λέγει ταῦτα καὶ ἄλλα πολλά",
    "empty.txt": "\n \t\n",
    "signs.txt": "!!! ??? ...",
    "old-mac.txt": "one\rtwo\rthree\r\rfour five six seven\r",
    "copy of plain.txt": "The quick brown fox jumps over the lazy dog, again and again.\n\n  Twice.",
    "ünï cödé.txt": "a name with letters beyond ASCII",
}


def test_corpus_is_the_same_byte_for_byte_with_the_map_step_in_cpp(examples: Path, tmp_path: Path) -> None:
    source = tmp_path / "input"
    (source / "deep").mkdir(parents=True)
    for name, text in TEXTS.items():
        (source / name).write_bytes(text.encode())
    (source / "binary.bin").write_bytes(b"text\0with a zero")
    (source / "broken.txt").write_bytes(b"caf\xe9 is not UTF-8")
    (source / "huge.txt").write_bytes(b"word " * (4 << 20))
    (source / os.fsdecode(b"bad\xff name.txt")).write_text("a name that is no UTF-8 and some words")
    (source / "link.txt").symlink_to("plain.txt")
    for index, path in enumerate(sorted((ROOT / "docs").rglob("*.md"))):
        shutil.copy(path, source / "deep" / f"{index:03}.md")
    library = examples / "libcorpus_map.so"
    for out, flags in (("python", ""), ("cpp", f"--native-map {library}")):
        shell(f"{sys.executable} {ROOT}/examples/corpus.py {source} --out {out} --seed 7 {flags}", tmp_path)
    written = sorted(path.name for path in (tmp_path / "python").iterdir())
    assert len(written) == 17
    assert written == sorted(path.name for path in (tmp_path / "cpp").iterdir())
    for name in written:
        assert (tmp_path / "python" / name).read_bytes() == (tmp_path / "cpp" / name).read_bytes(), name
