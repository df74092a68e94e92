from pathlib import Path

import pytest

from tools import check_circles


def write(root: Path, **files: str) -> None:
    """Write modules of a package of the name fray."""
    folder = root / "python" / "fray"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {"__init__": "", **files}.items():
        (folder / f"{name}.py").write_text(text)


TYPE_ONLY = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from fray.low import Low\n"
DEFERRED = "def use():\n    from fray.low import Low\n    return Low\n"
RELATIVE = "from . import low\n"
PLAIN = "import fray.low\n"


@pytest.mark.parametrize("back", [PLAIN, RELATIVE, DEFERRED, TYPE_ONLY])
def test_circle_is_reported_whatever_kind_of_import_closes_it(tmp_path: Path, back: str) -> None:
    write(tmp_path, low="from fray.middle import Middle\n", middle="from fray.top import Top\n", top=back)
    (problem,) = check_circles.check_circles(tmp_path)
    assert sorted(set(problem.split()) & {f"python/fray/{name}.py" for name in ("low", "middle", "top")}) == [
        "python/fray/low.py",
        "python/fray/middle.py",
        "python/fray/top.py",
    ]
    assert "python/fray/low.py imports python/fray/middle.py" in problem
    assert "python/fray/top.py imports python/fray/low.py" in problem or problem.endswith("python/fray/top.py")


def test_every_circle_is_reported_once(tmp_path: Path) -> None:
    write(
        tmp_path,
        one="import fray.two\n",
        two="import fray.one\n",
        three="import fray.four\nimport fray.one\n",
        four="import fray.three\n",
    )
    problems = check_circles.check_circles(tmp_path)
    assert len(problems) == 2
    assert sum("one.py" in problem for problem in problems) == 1
    assert sum("four.py" in problem for problem in problems) == 1


def test_module_that_imports_itself_is_a_circle(tmp_path: Path) -> None:
    write(tmp_path, low="def again():\n    import fray.low\n")
    (problem,) = check_circles.check_circles(tmp_path)
    assert problem == "a circle of imports: python/fray/low.py imports python/fray/low.py"


def test_imports_of_one_direction_are_no_circle(tmp_path: Path) -> None:
    write(tmp_path, low="import os\n", middle="from fray.low import Low\n", top="import fray.low, fray.middle\n")
    assert check_circles.check_circles(tmp_path) == []


def test_extension_with_a_stub_is_a_module_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, __init__="from fray.low import Low\n", low="from fray import _native\n")
    (tmp_path / "python" / "fray" / "_native.pyi").write_text("")
    assert check_circles.check_circles(tmp_path) == []


def test_names_of_modules_in_texts_are_no_imports(tmp_path: Path) -> None:
    write(tmp_path, low="LATER = {'Top': ('fray.top', 'Top')}\n", top="from fray.low import LATER\n")
    assert check_circles.check_circles(tmp_path) == []


def test_this_package_has_none() -> None:
    assert check_circles.check_circles(check_circles.ROOT) == []
