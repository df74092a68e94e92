"""What somebody has who installs the wheel and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT, Installed
from tests.waiting import LONG_PATIENCE

IMPORT_SECONDS = 0.15
"""The best of several. It is 0.035 where nobody else uses the machine; the row import_time of the benchmarks tells."""


def code_blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)


def test_the_program_says_its_version(installed: Installed) -> None:
    version = installed.python("import fray; print(fray.__version__)").strip()
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    assert version in installed.run("fray", "version").stdout


def test_the_program_explains_itself(installed: Installed) -> None:
    said = installed.run("fray", "--help").stdout
    for verb in ("run", "doctor", "stack", "debug", "status", "version"):
        assert verb in said


def test_an_unknown_verb_is_refused(installed: Installed) -> None:
    import subprocess

    command = [str(installed.folder / "bin" / "fray"), "fly"]
    done = subprocess.run(command, env=installed.environment(), capture_output=True, text=True, timeout=LONG_PATIENCE)
    assert done.returncode not in (0, -6, -11)
    assert done.stdout == ""
    assert "fly" in done.stderr


def test_status_without_a_node_says_that_there_is_none(installed: Installed) -> None:
    import subprocess

    command = [str(installed.folder / "bin" / "fray"), "status"]
    environment = {**installed.environment(), "FRAY_HOME": str(installed.home / "empty")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LONG_PATIENCE)
    assert 0 < done.returncode < 128, done
    assert done.stdout == ""
    assert "no node" in done.stderr


def test_import_is_quick(installed: Installed) -> None:
    timed = "import time; start = time.perf_counter(); import fray; print(time.perf_counter() - start)"
    installed.python(timed)  # writes the bytecode
    assert min(float(installed.python(timed)) for _ in range(9)) <= IMPORT_SECONDS


@pytest.mark.parametrize("name", ["numpy", "ray", "cloudpickle", "asyncio", "rich", "multiprocessing"])
def test_import_does_not_load_what_may_not_be_needed(installed: Installed, name: str) -> None:
    assert installed.python(f"import sys, fray; print({name!r} in sys.modules)") == "False\n"


def test_the_first_task_runs_in_an_empty_home_and_leaves_it_empty(installed: Installed) -> None:
    source = (
        "import fray\n"
        "with fray.init(cpus=2) as ctx:\n"
        "    print(ctx.get([ctx.run(pow, n, 2) for n in range(5)]))\n"
        "    print(ctx.get(ctx.run(lambda: 'by value')))\n"
    )
    assert installed.python(source) == "[0, 1, 4, 9, 16]\nby value\n"
    assert [path.name for path in installed.home.iterdir()] == []


def test_every_public_name_can_be_reached(installed: Installed) -> None:
    source = "import fray, json; print(json.dumps({n: type(getattr(fray, n)).__name__ for n in fray.__all__}))"
    assert len(json.loads(installed.python(source))) > 30


def test_the_readme_has_code_and_all_of_it_runs(installed: Installed, tmp_path: Path) -> None:
    blocks = code_blocks(ROOT / "README.md", "python")
    assert blocks, "README.md shows no Python code"
    for number, block in enumerate(blocks):
        script = tmp_path / f"block{number}.py"
        script.write_text(block)
        done = installed.run("python", str(script))
        assert done.stderr == ""


def test_the_installed_package_has_no_tests_and_no_sources_of_the_engine(installed: Installed) -> None:
    where = Path(installed.python("import fray, os; print(os.path.dirname(fray.__file__))").strip())
    assert where.is_relative_to(installed.folder)
    assert not list(where.rglob("*_test*"))
    assert not list(where.rglob("*.cc"))
