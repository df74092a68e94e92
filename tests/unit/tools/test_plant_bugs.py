"""tools/plant_bugs.py: bugs listed beside a simulator come into copies of the sources, and nowhere else."""

from pathlib import Path

import pytest

from tools import plant_bugs

SOURCE = "int free = 2;\nvoid take() {\n  --free;\n}\n"
LIST = "# what this is\n\nbug free_stays: nothing is taken\nin ledger.cc\n-   --free;\n+   if (!BUG) --free;\n"


@pytest.fixture
def module(tmp_path: Path) -> Path:
    (tmp_path / "books" / "sim").mkdir(parents=True)
    (tmp_path / "books" / "ledger.cc").write_text(SOURCE)
    return tmp_path / "books"


def write(module: Path, text: str) -> Path:
    path = module / "sim" / "planted_bugs.txt"
    path.write_text(text)
    return path


def test_bug_is_in_the_copy_and_the_source_stays_as_it_is(module: Path, tmp_path: Path) -> None:
    plant_bugs.write_copies(write(module, LIST), tmp_path / "out")
    copy = (tmp_path / "out" / "ledger.cc").read_text()
    assert copy.endswith(SOURCE.replace("  --free;", '  if (!FRAY_PLANTED("free_stays")) --free;'))
    assert copy.splitlines()[:2] == ['#include "base/sim/planted_bug.h"', '#line 1 "src/books/ledger.cc"']
    assert (module / "ledger.cc").read_text() == SOURCE


def test_several_bugs_and_places_come_into_one_copy(module: Path, tmp_path: Path) -> None:
    more = "in ledger.cc\n- int free = 2;\n+ int free = BUG ? 3 : 2;\n"
    more += "bug other: two\nin ledger.cc\n- }\n+   (void)BUG;\n+ }\n"
    plant_bugs.write_copies(write(module, LIST + more), tmp_path / "out")
    copy = (tmp_path / "out" / "ledger.cc").read_text()
    assert copy.count('FRAY_PLANTED("free_stays")') == 2
    assert copy.endswith('  (void)FRAY_PLANTED("other");\n}\n')


def test_bug_of_the_simulators_own_file_is_in_a_copy_in_its_folder(module: Path, tmp_path: Path) -> None:
    (module / "sim" / "world.cc").write_text(SOURCE)
    text = LIST + LIST.replace("free_stays", "world_is_free").replace("ledger", "sim/world")
    for _ in range(2):
        plant_bugs.write_copies(write(module, text), tmp_path / "out")
    assert 'FRAY_PLANTED("world_is_free")' in (tmp_path / "out" / "sim" / "world.cc").read_text()
    plant_bugs.write_copies(write(module, LIST), tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").rglob("*.cc")] == ["ledger.cc"]


def test_copy_that_no_list_names_any_more_goes(module: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "older.cc").write_text("int old;\n")
    plant_bugs.write_copies(write(module, LIST), tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["ledger.cc"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (LIST.replace("-   --free;", "-   ++free;"), "are 0 times in ledger.cc"),
        (LIST.replace("-   --free;", "-   --free"), "are 0 times in ledger.cc"),
        (LIST.replace("in ledger.cc", "in lodger.cc"), "books has no file lodger.cc"),
        (LIST.replace("!BUG", "true"), "with BUG in them"),
        (LIST.replace("-   --free;\n", ""), "needs lines after -"),
        (LIST + LIST, "listed twice"),
        (LIST + "bug empty: nothing\n", "no change is listed for empty"),
        (LIST + "bug no colon\n", "expected `bug NAME: what goes wrong`"),
        ("- a\n+ BUG\n" + LIST, "expected `bug NAME: what goes wrong`"),
    ],
)
def test_list_that_does_not_fit_is_refused_with_its_place(module: Path, tmp_path: Path, text: str, reason: str) -> None:
    path = write(module, text)
    with pytest.raises(plant_bugs.ListError, match=f"planted_bugs.txt.*{reason}"):
        plant_bugs.write_copies(path, tmp_path / "out")


def test_lines_that_are_there_twice_are_refused(module: Path, tmp_path: Path) -> None:
    (module / "ledger.cc").write_text(SOURCE * 2)
    with pytest.raises(plant_bugs.ListError, match="are 2 times"):
        plant_bugs.write_copies(write(module, LIST), tmp_path / "out")


@pytest.mark.parametrize(
    "path", sorted(Path(plant_bugs.__file__).parents[1].glob("src/*/sim/planted_bugs.txt")), ids=str
)
def test_lists_of_the_tree_fit_their_sources(path: Path, tmp_path: Path) -> None:
    plant_bugs.write_copies(path, tmp_path / "out")
