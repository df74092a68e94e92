"""Programs in odd surroundings: their context works, or the error says what is wrong with them."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fray
import pytest
from fray.backend.native import NativeJobContext

from tests.chaos.harness import PATIENCE, eventually, nodes, run_driver
from tests.chaos.tasks import add

WORKS = """
ctx = NativeJobContext(cpus=1)
print(ctx.get(ctx.run(pow, 2, 3)))
"""


def test_a_program_that_ignores_the_ends_of_its_children_can_use_fray() -> None:
    source = "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n" + WORKS
    assert run_driver(source).ok() == "8\n"


@pytest.mark.parametrize(
    "entries", ["pathlib.Path('/nowhere')", "None", "b'/bytes'", "3", "'a\\0b'", "'\\ud800'", "object()"]
)
def test_what_python_passes_over_in_its_path_does_not_matter(entries: str) -> None:
    # Python itself imports nothing new beside some of these, so all that the driver needs is there before.
    source = f"import json, pathlib, fray.backend.native.engine\nsys.path[1:1] = [{entries}]\n" + WORKS
    assert run_driver(source).ok() == "8\n"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"max_workers": 0.5}, "max_workers must be a whole number from 1 to 100000, not 0.5"),
        ({"max_workers": 1.5}, "max_workers must be a whole number"),
        ({"max_workers": 1e9}, "max_workers must be a whole number from 1 to 100000, not 1"),
        ({"cpus": 1e300}, "cpus must be from 0 to 100000, not 1e+300"),
        ({"cpus": 200_000}, "cpus must be from 0 to 100000, not 200000"),
        ({"cpus": float("nan")}, "cpus must be a finite number above 0, got nan"),
        ({"cpus": float("inf")}, "cpus must be a finite number above 0, got inf"),
        ({"cpus": 10**400}, "cpus must be a finite number above 0, got 1000"),
        ({"cpus": -1}, "cpus must be a finite number above 0, got -1"),
        ({"memory": 1e300}, "memory_bytes must be from 0 to 90.9 TiB, not 8.674e+281 EiB"),
        ({"store_memory": -5}, "store_memory must be a finite number above 0, got -5"),
        ({"resources": {"GPU": 1e9}}, "GPU must be a whole number of devices, at most 4096"),
        ({"resources": {"widget": 1e300}}, "widget"),
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_named(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(fray.SettingsError, match=re.escape(says)):
        NativeJobContext(**({"cpus": 1} | settings))


def in_the_way(home: Path) -> str:
    (home / "file").write_text("in the way")
    return str(home / "file")


def foreign_run_folder(home: Path) -> str:
    (home / "other" / "run").mkdir(parents=True)
    (home / "other" / "run").chmod(0o755)
    return str(home / "other")


@pytest.mark.parametrize(
    ("home_of", "says"),
    [
        (lambda home: "relative", "FRAY_HOME must be an absolute path, got relative"),
        (lambda home: "/proc/nothing", "cannot create /proc/nothing"),
        (in_the_way, "set FRAY_HOME to a folder of yours"),
        (foreign_run_folder, "mode 0755"),
    ],
    ids=["relative", "proc", "file", "mode"],
)
def test_a_home_that_cannot_be_used_is_a_settings_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home_of: Callable[[Path], str], says: str
) -> None:
    monkeypatch.setenv("FRAY_HOME", home_of(tmp_path))
    with pytest.raises(fray.SettingsError, match=says):
        NativeJobContext(cpus=1)


def test_a_umask_that_takes_rights_from_the_user_does_no_harm(tmp_path: Path) -> None:
    source = "os.umask(0o177)\n" + WORKS
    assert run_driver(source, env={"FRAY_HOME": str(tmp_path / "new" / "home")}).ok() == "8\n"


@pytest.fixture
def deleted_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    return gone


def test_a_deleted_current_folder_is_named_and_nothing_stays(deleted_folder: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with pytest.raises(fray.SettingsError, match=f"the current folder of this process, {deleted_folder}, is gone"):
            NativeJobContext(cpus=1)
    assert len(os.listdir("/proc/self/fd")) == before
    assert nodes() == []


def test_a_start_that_fails_late_leaves_no_node(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise KeyboardInterrupt

    before = len(os.listdir("/proc/self/fd"))
    monkeypatch.setattr("fray.backend.native.context.offer_stacks", fail)
    with pytest.raises(KeyboardInterrupt):
        NativeJobContext(cpus=1)
    eventually(lambda: nodes() == [])
    eventually(lambda: len(os.listdir("/proc/self/fd")) == before)


def test_a_task_that_misses_a_module_says_where_its_worker_looked(tmp_path: Path) -> None:
    (tmp_path / "joined_late.py").write_text("def value(): return 5\n")
    source = """
        ctx = NativeJobContext(cpus=1)
        sys.path.append(sys.argv[1])
        import joined_late
        try:
            ctx.get(ctx.run(joined_late.value))
        except ModuleNotFoundError as error:
            print(*error.__notes__)
    """
    said = run_driver(source, tmp_path).ok()
    assert "looked for 'joined_late' in [" in said
    assert "set sys.path, PYTHONPATH and the current folder before fray.init()" in said


def test_a_second_context_starts_while_the_ends_of_children_are_ignored(ctx: NativeJobContext) -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        other = NativeJobContext(cpus=1)
        assert other.get(other.run(add, 2, 3), timeout=PATIENCE) == 5
        other.close()
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert ctx.get(ctx.run(add, 2, 3), timeout=PATIENCE) == 5
