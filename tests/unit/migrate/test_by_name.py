"""Programs that reach Ray by a string or by ``import *``: nothing of them is moved half."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from tests.unit.migrate.moving import migrate

TASK = "import ray\n\n@ray.remote\ndef f(x):\n    return x\n\ndef run():\n    return ray.get(f.remote(1))\n"


def states(folder: Path) -> dict[str, tuple[str, str]]:
    """Return what becomes of each file in `folder`, and all reasons why something of it stays."""
    done = migrate("--json", folder)
    files = json.loads(done.stdout)["files"]
    return {
        Path(item["path"]).name: (item["state"], "; ".join(left["why"] for left in item.get("left", ())))
        for item in files
    }


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ('import importlib\nother = importlib.import_module("ray")\n', "ray is imported by a string"),
        ('other = __import__("ray.util")\n', "ray.util is imported by a string"),
        ('import sys\nother = sys.modules["ray"]\n', "ray is imported by a string"),
        ('import pytest\nother = pytest.importorskip("ray")\n', "ray is imported by a string"),
        ("from ray import *\n", "which names `import *` brings is not known"),
        ("from ray.util import *\n", "which names `import *` brings is not known"),
        ('from unittest import mock\n\n@mock.patch("ray.get")\ndef test(get):\n    run()\n', "ray.get is patched"),
        ('import sys\n\ndef test(mocker):\n    mocker.patch.dict(sys.modules, {"ray": 1})\n', "in the library's place"),
        ('def test(monkeypatch):\n    monkeypatch.setattr("program.ray.get", 1)\n', "program.ray.get is patched"),
    ],
)
def test_a_program_that_reaches_ray_by_its_name_stays_whole(tmp_path: Path, lines: str, why: str) -> None:
    path = tmp_path / "program.py"
    path.write_text(TASK + lines)
    state, reasons = states(tmp_path)["program.py"]
    assert state == "left" and why in reasons
    kept = [line for line in path.read_text().splitlines(keepends=True) if not line.lstrip().startswith("# fray: ")]
    assert "".join(kept) == TASK + lines
    before = path.read_text()
    assert migrate(tmp_path).returncode == 0
    assert path.read_text() == before


def test_a_module_that_a_test_patches_by_name_stays_with_the_test(tmp_path: Path) -> None:
    (tmp_path / "work.py").write_text(TASK)
    (tmp_path / "other.py").write_text(TASK)
    (tmp_path / "test_work.py").write_text(
        'from unittest import mock\n\nimport work\n\n@mock.patch("work.ray.get")\ndef test(get):\n    work.run()\n'
    )
    found = states(tmp_path)
    assert found["work.py"][0] == found["test_work.py"][0] == "left"
    assert found["other.py"][0] == "moved"


@pytest.mark.parametrize("line", ['pytest.importorskip("ray")', 'HAS = importlib.util.find_spec("ray") is not None'])
def test_a_program_that_asks_whether_ray_is_there_is_moved_and_told(tmp_path: Path, line: str) -> None:
    path = tmp_path / "test_it.py"
    path.write_text(f"import importlib.util\nimport pytest\n{line}\n" + TASK)
    state, reasons = states(tmp_path)["test_it.py"]
    assert state == "moved in part" and "asks whether ray is installed" in reasons
    after = path.read_text()
    assert f"# fray: this asks whether ray is installed; ask for what the moved program needs\n{line}" in after
    assert "ctx.get(ctx.create_task(f, (1,)))" in after


def test_the_first_line_of_a_program_is_told_of_once(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text('ray = __import__("ray")\nray.init()\n')
    for _ in range(2):
        migrate(tmp_path)
        assert path.read_text().count("# fray:") == 1


def test_other_uses_of_the_word_do_not_hold_a_program(tmp_path: Path) -> None:
    lines = """
        import importlib, logging, sys
        logging.getLogger("ray")
        json = importlib.import_module("json")
        setattr(json, "ray", 1)
        print("ray", sys.modules["json"], sys.modules.get("x_ray"))
        """
    (tmp_path / "program.py").write_text(TASK + textwrap.dedent(lines))
    assert states(tmp_path)["program.py"] == ("moved", "")


def test_the_way_back_holds_programs_that_reach_fray_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("import fray\nctx = fray.init()\nother = __import__('fray')\nprint(ctx.get(ctx.run(len, [])))\n")
    done = migrate("--to-ray", "--json", path)
    assert json.loads(done.stdout)["files"][0]["state"] == "left"
    assert "import fray\n" in path.read_text() and "ray.init" not in path.read_text().replace("fray.init", "")
