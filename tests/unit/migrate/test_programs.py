"""Programs in Ray's idioms: moved they print the same on Fray, and moved back the same on Ray."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.on_ray.head import RayHead
from tests.unit.migrate.moving import FRAY_PROGRAMS, MAINS, PROGRAMS, expected, migrate, run_all


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs after they were moved."""
    folder = tmp_path_factory.mktemp("moved") / "programs"
    shutil.copytree(PROGRAMS, folder)
    done = migrate("--json", folder)
    assert done.returncode == 0, done.stderr
    states = {item["state"] for item in json.loads(done.stdout)["files"]}
    assert states == {"moved", "untouched"}, done.stdout
    return folder


@pytest.fixture(scope="module")
def on_fray(moved: Path) -> dict[str, str]:
    return run_all("fray", moved)


@pytest.mark.parametrize("program", MAINS)
def test_a_moved_program_prints_what_it_printed_before(program: str, on_fray: dict[str, str]) -> None:
    assert expected(PROGRAMS / program)
    assert on_fray[program] == expected(PROGRAMS / program)


def test_nothing_of_ray_is_left(moved: Path) -> None:
    for path in moved.rglob("*.py"):
        lines = [line for line in path.read_text().splitlines() if not line.startswith(("# >", '"""'))]
        assert not [line for line in lines if "import ray" in line or "ray." in line.replace("fray.", "")], path
        assert not [line for line in lines if ".remote" in line], path


def test_moving_again_changes_nothing(moved: Path) -> None:
    before = {path: path.read_bytes() for path in moved.rglob("*.py")}
    done = migrate("--check", moved)
    assert done.returncode == 0, done.stdout
    assert migrate(moved).returncode == 0
    assert {path: path.read_bytes() for path in moved.rglob("*.py")} == before


def test_comments_are_kept(moved: Path) -> None:
    for program in MAINS:
        before = [line.partition("#")[2] for line in (PROGRAMS / program).read_text().splitlines() if "#" in line]
        after = [line.partition("#")[2] for line in (moved / program).read_text().splitlines() if "#" in line]
        assert sorted(after) == sorted(before), program


def test_the_type_checker_finds_no_more_than_before(moved: Path) -> None:
    chosen = ["squares.py", "counter.py", "typed.py", "tree_of_actors.py", "several_returns.py"]
    folder = Path(__file__).resolve().parents[3]
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    try:
        import pyright  # noqa: F401
    except ImportError:
        pytest.skip("pyright comes with the packages of `make check`")
    before, after = (
        subprocess.run([*command, *(str(place / name) for name in chosen)], capture_output=True, text=True, cwd=folder)
        for place in (PROGRAMS, moved)
    )
    counts = [json.loads(done.stdout)["summary"]["errorCount"] for done in (before, after)]
    assert counts[1] <= counts[0], after.stdout


def move_back(moved: Path, folder: Path) -> None:
    shutil.copytree(moved, folder)
    done = migrate("--to-ray", "--json", folder)
    assert done.returncode == 0, done.stderr
    assert {item["state"] for item in json.loads(done.stdout)["files"]} <= {"moved", "untouched"}, done.stdout


def test_nothing_of_fray_is_left_in_what_was_moved_back(moved: Path, tmp_path: Path) -> None:
    move_back(moved, tmp_path / "back")
    for path in (tmp_path / "back").rglob("*.py"):
        assert "fray" not in path.read_text(), path
    assert migrate("--to-ray", "--check", tmp_path / "back").returncode == 0


def test_what_was_moved_back_can_be_moved_again(moved: Path, tmp_path: Path) -> None:
    move_back(moved, tmp_path / "back")
    done = migrate("--json", tmp_path / "back")
    states = {Path(item["path"]).name: item["state"] for item in json.loads(done.stdout)["files"]}
    assert set(states.values()) <= {"moved", "untouched", "left", "moved in part"}
    assert states["counter.py"] == states["squares.py"] == "moved"


def test_what_was_moved_back_prints_the_same_as_a_program_for_ray(moved: Path, tmp_path: Path) -> None:
    move_back(moved, tmp_path / "back")
    printed = run_all("ray", tmp_path / "back", {"FRAY_AS_RAY": "1"})
    assert printed == {program: expected(PROGRAMS / program) for program in MAINS}


def test_programs_written_for_fray_print_the_same_as_programs_for_ray(tmp_path: Path) -> None:
    shutil.copytree(FRAY_PROGRAMS, tmp_path / "there")
    move_back(FRAY_PROGRAMS, tmp_path / "back")
    mains = sorted(path.name for path in FRAY_PROGRAMS.glob("*.py"))
    right = {program: expected(FRAY_PROGRAMS / program) for program in mains}
    assert run_all("fray", tmp_path / "there", mains=mains) == right
    assert run_all("ray", tmp_path / "back", {"FRAY_AS_RAY": "1"}, mains) == right


@pytest.mark.long
@pytest.mark.ray
@pytest.mark.timeout(300)
def test_the_programs_print_the_same_on_ray_also_when_moved_there_and_back(
    moved: Path, tmp_path: Path, initialised_ray: RayHead
) -> None:
    shutil.copytree(PROGRAMS, tmp_path / "as they are")
    move_back(moved, tmp_path / "back")
    move_back(FRAY_PROGRAMS, tmp_path / "written for fray")
    environment = {**initialised_ray.environment, "RAY_ADDRESS": initialised_ray.address}
    # Of one package there can be one form among the modules of Ray's workers.
    mains = [f"as they are/{name}" for name in MAINS if "/" not in name] + [f"back/{name}" for name in MAINS]
    right = {main: expected(PROGRAMS / main.partition("/")[2]) for main in mains}
    right.update({f"written for fray/{path.name}": expected(path) for path in FRAY_PROGRAMS.glob("*.py")})
    assert run_all("ray", tmp_path, environment, list(right)) == right
