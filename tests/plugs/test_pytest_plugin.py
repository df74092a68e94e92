"""The fixtures of the pytest plugin, seen from a test suite of somebody else."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import fray
import psutil
import pytest


@dataclass(frozen=True)
class Suite:
    """A folder with tests that a pytest of its own runs."""

    folder: Path

    def run(self, source: str, *options: str, conftest: str = "") -> str:
        """Return what pytest prints, with its exit code in the last line. No process of it may be left then."""
        (self.folder / "test_it.py").write_text("import os, pytest, fray\n" + source)
        (self.folder / "conftest.py").write_text(conftest)
        (self.folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers -p no:cacheprovider\n")
        command = [sys.executable, "-m", "pytest", "-q", "-rA", *options, str(self.folder)]
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "FRAY"))}
        environment["OUTER_MARK"] = marker = uuid.uuid4().hex
        done = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=100, check=False
        )
        for _ in range(500):
            if not (left := [process for process in psutil.process_iter() if _has(process, marker)]):
                break
            time.sleep(0.01)
        assert not left
        return f"{done.stdout}{done.stderr}\nexit code {done.returncode}"


def _has(process: psutil.Process, marker: str) -> bool:
    try:
        return process.environ().get("OUTER_MARK") == marker
    except psutil.Error:
        return False


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path)


def test_plugin_imports_no_engine_until_a_fixture_is_used(suite: Suite) -> None:
    source = """
import sys
def test_nothing():
    assert "fray._native" not in sys.modules and "numpy" not in sys.modules
"""
    assert suite.run(source).endswith("exit code 0")


def test_each_test_has_an_engine_of_its_own_as_the_current_context(suite: Suite) -> None:
    source = """
def nodes():
    ctx = fray.get_job_context()
    return ctx.get(ctx.run(os.environ.get, "FRAY_HOME")), ctx

seen = set()

@pytest.mark.fray(cpus=1)
@pytest.mark.parametrize("number", range(2))
def test_own(fray_context, number):
    home, current = nodes()
    assert current is fray_context
    assert home not in seen
    seen.add(home)
    assert fray_context._client.total_resources()["CPU"] == 1

def test_default_settings(fray_context):
    assert fray_context._client.total_resources()["CPU"] == 2
"""
    assert suite.run(source).endswith("exit code 0")


def test_mark_runs_a_test_on_several_contexts(suite: Suite) -> None:
    source = """
@pytest.mark.fray(contexts=("sync", "sync+serialize", "thread", "local"))
def test_it(fray_context):
    assert fray_context.get(fray_context.run(abs, -1)) == 1
"""
    assert "4 passed" in suite.run(source)


def test_session_context_is_one_for_all_and_settings_can_be_overridden(suite: Suite) -> None:
    conftest = """
import pytest
@pytest.fixture(scope="session")
def fray_settings():
    return {"cpus": 1, "resources": {"special": 3}}
"""
    source = """
seen = []

@pytest.mark.parametrize("number", range(2))
def test_shared(fray_session_context, number):
    seen.append(fray_session_context)
    assert seen[0] is seen[-1] is fray.get_job_context()
    assert fray_session_context._client.total_resources()["special"] == 3

def test_gone():
    assert "FRAY_TEST_MARKER" not in os.environ
"""
    assert suite.run(source, conftest=conftest).endswith("exit code 0")


LEFT_FILE = f"/dev/shm/fray-leak-of-{os.getpid()}"
"""Of this process: another one may run the same tests."""
LEAKS = {
    "process": 'subprocess.Popen(["sleep", "60"], start_new_session=True)',
    "process of nobody": 'subprocess.run(["sh", "-c", "sleep 60 >/dev/null 2>&1 &"])',
    "descriptor": 'held.append(open("/dev/null"))',
    "shared memory": f'open("{LEFT_FILE}", "w").close()',
    "maps of shared memory": "hold_an_array(fray_context)",
}


@pytest.fixture(scope="module")
def leaking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """What pytest says of a suite with a test for each leak and a clean one behind it."""
    source = """
import subprocess
held = []

def hold_an_array(ctx):
    import numpy
    held.append(ctx.get(ctx.put(numpy.ones(1 << 20))))

@pytest.fixture
def fray_leak_options():
    return {"within": 0.3}

def test_next(fray_no_leaks):
    pass
"""
    for name, leak in LEAKS.items():
        source += f"\ndef test_{name.replace(' ', '_')}(fray_context):\n    held.append({leak})\n"
        source += f"\ndef test_after_{name.replace(' ', '_')}(fray_no_leaks):\n    pass\n"
    yield Suite(tmp_path_factory.mktemp("leaking")).run(source)
    Path(LEFT_FILE).unlink(missing_ok=True)


@pytest.mark.parametrize("what", LEAKS)
def test_leak_fails_the_test_and_is_named(leaking: str, what: str) -> None:
    name = f"test_it.py::test_{what.replace(' ', '_')}"
    (line,) = (line for line in leaking.splitlines() if line.startswith(f"ERROR {name} "))
    report = leaking[leaking.index(f"ERROR at teardown of {name.partition('::')[2]} ") :]
    said = report[: report.index("\n___") if "\n___" in report else None]
    assert "left behind by the test:" in said, line
    assert what.split(" of nobody")[0] in said
    assert "sleep 60" in said or not what.startswith("process")


def test_test_after_a_leak_is_not_blamed(leaking: str) -> None:
    assert f"{2 * len(LEAKS) + 1} passed, {len(LEAKS)} errors" in leaking


def test_context_that_a_test_chose_itself_is_shut_down(suite: Suite) -> None:
    source = """
@pytest.mark.parametrize("cpus", [1, 2])
def test_chooses(fray_no_leaks, cpus):
    ctx = fray.init(cpus=cpus)
    assert ctx.get(ctx.run(abs, -1)) == 1
"""
    assert suite.run(source).endswith("exit code 0")


def test_failing_test_is_not_reported_twice(suite: Suite) -> None:
    source = """
def test_fails(fray_context):
    array = fray_context.get(fray_context.put(bytearray(1 << 20)))
    assert False, "its own reason"
"""
    said = suite.run(source)
    assert "1 failed" in said
    assert "1 error" not in said


def test_parallel_test_processes_do_not_see_one_another(suite: Suite) -> None:
    source = """
@pytest.mark.parametrize("number", range(6))
def test_own(fray_context, number):
    assert fray_context.get(fray_context.run(abs, -number)) == number

@pytest.mark.parametrize("number", range(6))
def test_shared(fray_session_context, number):
    assert fray_session_context.get(fray_session_context.run(abs, -number)) == number
"""
    assert "12 passed" in suite.run(source, "-n", "2")


def test_fixtures_work_here_too(fray_context: fray.JobContext) -> None:
    assert fray_context.get(fray_context.run(abs, -1)) == 1
    assert fray.get_job_context() is fray_context
